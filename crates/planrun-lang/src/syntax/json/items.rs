//! The items of a file in JSON, as trees.

use jsonc_parser::ast::Value;

use super::document::span;
use super::reader::{Fields, Reader, nameless, opening};
use super::shapes::{Choice, NAMESPACE, PARAMETER, Word};
use crate::diag::Diagnostic;
use crate::diag::codes::text as codes;
use crate::source::Span;
use crate::syntax::ast::{
    Item, ItemKind, MockOutcome, MockOutcomeKind, MockTarget, Name, Parameter, Plan, Test,
    TestStatement, TestStatementKind, Text, Tool, TypeItem, Use, UseNamespace,
};
use crate::syntax::place::Place;

impl Reader<'_> {
    pub fn item(&mut self, value: &Value<'_>) -> Item {
        let place = span(value);
        let Some((kind, fields)) = self.choice(value, Choice::Item) else {
            return Item {
                span: place,
                doc: None,
                kind: ItemKind::Error,
            };
        };
        let doc = self.doc(&fields);
        let kind = match kind {
            "use" => ItemKind::Use(self.namespaces(&fields)),
            "use_file" => {
                let path = self.plain_text(&fields, "path");
                ItemKind::Use(Use::File {
                    path,
                    alias: self.name(&fields, "as"),
                })
            }
            "type" => {
                let name = self.name(&fields, "name");
                ItemKind::Type(TypeItem {
                    name,
                    definition: self.ty(&fields, "type"),
                })
            }
            "tool" => ItemKind::Tool(self.tool_item(&fields)),
            "plan" => ItemKind::Plan(self.plan(&fields)),
            "test" => ItemKind::Test(self.test(&fields)),
            _ => ItemKind::Error,
        };
        Item {
            span: place,
            doc,
            kind,
        }
    }

    fn namespaces(&mut self, fields: &Fields<'_>) -> Use {
        let mut namespaces = Vec::new();
        for element in self.elements(fields, "namespaces") {
            if let Some(fields) = self.fields(element, &NAMESPACE) {
                let name = self.name(&fields, "name");
                namespaces.push(UseNamespace {
                    name,
                    alias: self.optional_name(&fields, "as"),
                });
            }
        }
        if namespaces.is_empty() && fields.get("namespaces").is_some() {
            let place = fields.get("namespaces").map_or(fields.span, span);
            let finding = Diagnostic::new(
                &codes::JSON_SHAPE,
                opening(place),
                "a `use` names at least one namespace",
            );
            self.diagnostics
                .push(finding.help("name one, such as {\"name\": \"mail\"}, or remove the item"));
        }
        Use::Namespaces(namespaces)
    }

    fn tool_item(&mut self, fields: &Fields<'_>) -> Tool {
        let (namespace, name) = self.tool(fields, "tool");
        Tool {
            namespace,
            name,
            parameters: self.parameters(fields),
            returns: self.ty(fields, "returns"),
            effect: self.optional_word(fields, "effect", Word::Effect),
            fails: self.names(fields, "fails", Word::Class),
            key: self.optional_name(fields, "key"),
        }
    }

    fn plan(&mut self, fields: &Fields<'_>) -> Plan {
        let name = self.name(fields, "name");
        let parameters = self.parameters(fields);
        let returns = self.optional_type(fields, "returns");
        let body = self.block(fields, "body", Place::Plan);
        if body.statements.is_empty() && fields.get("body").is_some() {
            self.diagnostics.push(
                Diagnostic::new(
                    &codes::EMPTY_PLAN,
                    name.span,
                    format!("plan `{}` does nothing", name.text),
                )
                .label(opening(body.span), "its body holds no statement")
                .help("write its steps into `body`, or remove the plan"),
            );
        }
        Plan {
            name,
            parameters,
            returns,
            body,
        }
    }

    fn parameters(&mut self, fields: &Fields<'_>) -> Vec<Parameter> {
        let mut parameters = Vec::new();
        for element in self.elements(fields, "parameters") {
            let Some(fields) = self.fields(element, &PARAMETER) else {
                continue;
            };
            parameters.push(Parameter {
                span: fields.span,
                name: self.name(&fields, "name"),
                optional: self.flag(&fields, "optional"),
                ty: self.ty(&fields, "type"),
                default: self.optional_value(&fields, "default"),
            });
        }
        parameters
    }

    fn test(&mut self, fields: &Fields<'_>) -> Test {
        let name = self.plain_text(fields, "name");
        let namespace = fields
            .get("namespace")
            .is_some()
            .then(|| self.name(fields, "namespace"));
        let plan = self.name(fields, "plan");
        let lines = self.elements(fields, "body").iter();
        let body = lines.map(|line| TestStatement {
            span: span(line),
            kind: self.test_statement(line),
        });
        Test {
            name,
            namespace,
            plan,
            body: body.collect(),
        }
    }

    fn test_statement(&mut self, value: &Value<'_>) -> TestStatementKind {
        let Some((kind, fields)) = self.choice(value, Choice::TestStatement) else {
            return TestStatementKind::Error;
        };
        match kind {
            "given" => TestStatementKind::Given(self.value(&fields, "value")),
            "mock" => {
                let target = match fields.get("tool").map(|_| self.tool(&fields, "tool")) {
                    Some((namespace, tool)) => MockTarget::Tool { namespace, tool },
                    None => MockTarget::Every,
                };
                let arguments = self.arguments(&fields, "arguments");
                let outcomes = self
                    .elements(&fields, "outcomes")
                    .iter()
                    .map(|outcome| self.outcome(outcome));
                TestStatementKind::Mock {
                    target,
                    arguments,
                    outcomes: outcomes.collect(),
                }
            }
            "answer" => {
                let path = self.value(&fields, "path");
                match fields.get("outcome") {
                    Some(outcome) => TestStatementKind::Answer {
                        path,
                        outcome: self.outcome(outcome),
                    },
                    None => TestStatementKind::Error,
                }
            }
            "signal" => {
                let name = self.plain_text(&fields, "name");
                let payload = self.optional_value(&fields, "payload");
                TestStatementKind::Signal {
                    name,
                    payload,
                    at: self.value(&fields, "at"),
                }
            }
            "expect" => TestStatementKind::Expect(self.value(&fields, "condition")),
            "expect_diagnostics" => {
                TestStatementKind::ExpectDiagnostics(self.names(&fields, "codes", Word::Code))
            }
            "snapshot" => TestStatementKind::Snapshot(self.name(&fields, "of")),
            _ => TestStatementKind::Error,
        }
    }

    fn outcome(&mut self, value: &Value<'_>) -> MockOutcome {
        let place = span(value);
        let Some((kind, fields)) = self.choice(value, Choice::Outcome) else {
            return MockOutcome {
                span: place,
                kind: MockOutcomeKind::Generated,
                times: None,
                delay: None,
            };
        };
        let outcome = match kind {
            "value" => MockOutcomeKind::Value(self.value(&fields, "value")),
            "fail" => {
                let class = self.class(&fields);
                MockOutcomeKind::Fail {
                    class,
                    message: self.message(&fields, "message"),
                }
            }
            "crash" => {
                let moment = self.optional_word(&fields, "moment", Word::Moment);
                MockOutcomeKind::Crash {
                    after: moment.is_some_and(|moment| &*moment.text == "after"),
                }
            }
            _ => MockOutcomeKind::Generated,
        };
        let times = self.optional_value(&fields, "times");
        MockOutcome {
            span: place,
            kind: outcome,
            times,
            delay: self.optional_value(&fields, "delay"),
        }
    }

    pub fn class(&mut self, fields: &Fields<'_>) -> Name {
        self.optional_word(fields, "class", Word::Class)
            .unwrap_or_else(|| nameless(fields.span))
    }

    pub fn plain_text(&mut self, fields: &Fields<'_>, key: &str) -> Text {
        match self.text(fields, key) {
            Some((text, span)) => Text { text, span },
            None => empty_text(opening(fields.span)),
        }
    }
}

fn empty_text(span: Span) -> Text {
    let Name { text, span } = nameless(span);
    Text { text, span }
}
