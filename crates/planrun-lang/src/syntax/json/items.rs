//! The items of a file in JSON, as trees.

use jsonc_parser::ast::Value;

use super::document::span;
use super::reader::{Fields, Reader, nameless, opening};
use super::shapes::{Choice, NAMESPACE, PARAMETER, Word};
use super::statements::read_block;
use crate::diag::Diagnostic;
use crate::diag::codes::text as codes;
use crate::source::Span;
use crate::syntax::ast::{
    Item, ItemKind, MockOutcome, MockOutcomeKind, MockTarget, Name, Parameter, Plan, Test,
    TestStatement, TestStatementKind, Text, Tool, TypeItem, Use, UseNamespace,
};
use crate::syntax::place::Place;

impl Reader<'_> {
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

pub(super) fn read_item(reader: &mut Reader<'_>, value: &Value<'_>) -> Item {
    let place = span(value);
    let Some((kind, fields)) = reader.choice(value, Choice::Item) else {
        return Item {
            span: place,
            doc: None,
            kind: ItemKind::Error,
        };
    };
    let doc = reader.doc(&fields);
    let kind = match kind {
        "use" => ItemKind::Use(read_namespaces(reader, &fields)),
        "use_file" => {
            let path = reader.plain_text(&fields, "path");
            ItemKind::Use(Use::File {
                path,
                alias: reader.name(&fields, "as"),
            })
        }
        "type" => {
            let name = reader.name(&fields, "name");
            ItemKind::Type(TypeItem {
                name,
                definition: reader.ty(&fields, "type"),
            })
        }
        "tool" => ItemKind::Tool(read_tool_item(reader, &fields)),
        "plan" => ItemKind::Plan(read_plan(reader, &fields)),
        "test" => ItemKind::Test(read_test(reader, &fields)),
        _ => ItemKind::Error,
    };
    Item {
        span: place,
        doc,
        kind,
    }
}

fn read_namespaces(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Use {
    let mut namespaces = Vec::new();
    for element in reader.elements(fields, "namespaces") {
        if let Some(fields) = reader.fields(element, &NAMESPACE) {
            let name = reader.name(&fields, "name");
            namespaces.push(UseNamespace {
                name,
                alias: reader.optional_name(&fields, "as"),
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
        reader.report(finding.help("name one, such as {\"name\": \"mail\"}, or remove the item"));
    }
    Use::Namespaces(namespaces)
}

fn read_tool_item(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Tool {
    let (namespace, name) = reader.tool(fields, "tool");
    Tool {
        namespace,
        name,
        parameters: read_parameters(reader, fields),
        returns: reader.ty(fields, "returns"),
        effect: reader.optional_word(fields, "effect", Word::Effect),
        fails: reader.names(fields, "fails", Word::Class),
        key: reader.optional_name(fields, "key"),
    }
}

fn read_plan(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Plan {
    let name = reader.name(fields, "name");
    let parameters = read_parameters(reader, fields);
    let returns = reader.optional_type(fields, "returns");
    let body = read_block(reader, fields, "body", Place::Plan);
    if body.statements.is_empty() && fields.get("body").is_some() {
        reader.report(
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

fn read_parameters(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    for element in reader.elements(fields, "parameters") {
        let Some(fields) = reader.fields(element, &PARAMETER) else {
            continue;
        };
        parameters.push(Parameter {
            span: fields.span,
            name: reader.name(&fields, "name"),
            optional: reader.flag(&fields, "optional"),
            ty: reader.ty(&fields, "type"),
            default: reader.optional_value(&fields, "default"),
        });
    }
    parameters
}

fn read_test(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Test {
    let name = reader.plain_text(fields, "name");
    let namespace = fields
        .get("namespace")
        .is_some()
        .then(|| reader.name(fields, "namespace"));
    let plan = reader.name(fields, "plan");
    let lines = reader.elements(fields, "body").iter();
    let body = lines.map(|line| TestStatement {
        span: span(line),
        kind: read_test_statement(reader, line),
    });
    Test {
        name,
        namespace,
        plan,
        body: body.collect(),
    }
}

fn read_test_statement(reader: &mut Reader<'_>, value: &Value<'_>) -> TestStatementKind {
    let Some((kind, fields)) = reader.choice(value, Choice::TestStatement) else {
        return TestStatementKind::Error;
    };
    match kind {
        "given" => TestStatementKind::Given(reader.value(&fields, "value")),
        "mock" => {
            let target = match fields.get("tool").map(|_| reader.tool(&fields, "tool")) {
                Some((namespace, tool)) => MockTarget::Tool { namespace, tool },
                None => MockTarget::Every,
            };
            let arguments = reader.arguments(&fields, "arguments");
            let outcomes = reader
                .elements(&fields, "outcomes")
                .iter()
                .map(|outcome| read_outcome(reader, outcome));
            TestStatementKind::Mock {
                target,
                arguments,
                outcomes: outcomes.collect(),
            }
        }
        "answer" => {
            let path = reader.value(&fields, "path");
            match fields.get("outcome") {
                Some(outcome) => TestStatementKind::Answer {
                    path,
                    outcome: read_outcome(reader, outcome),
                },
                None => TestStatementKind::Error,
            }
        }
        "signal" => {
            let name = reader.plain_text(&fields, "name");
            let payload = reader.optional_value(&fields, "payload");
            TestStatementKind::Signal {
                name,
                payload,
                at: reader.value(&fields, "at"),
            }
        }
        "expect" => TestStatementKind::Expect(reader.value(&fields, "condition")),
        "expect_diagnostics" => {
            TestStatementKind::ExpectDiagnostics(reader.names(&fields, "codes", Word::Code))
        }
        "snapshot" => TestStatementKind::Snapshot(reader.name(&fields, "of")),
        _ => TestStatementKind::Error,
    }
}

fn read_outcome(reader: &mut Reader<'_>, value: &Value<'_>) -> MockOutcome {
    let place = span(value);
    let Some((kind, fields)) = reader.choice(value, Choice::Outcome) else {
        return MockOutcome {
            span: place,
            kind: MockOutcomeKind::Generated,
            times: None,
            delay: None,
        };
    };
    let outcome = match kind {
        "value" => MockOutcomeKind::Value(reader.value(&fields, "value")),
        "fail" => {
            let class = reader.class(&fields);
            MockOutcomeKind::Fail {
                class,
                message: reader.message(&fields, "message"),
            }
        }
        "crash" => {
            let moment = reader.optional_word(&fields, "moment", Word::Moment);
            MockOutcomeKind::Crash {
                after: moment.is_some_and(|moment| &*moment.text == "after"),
            }
        }
        _ => MockOutcomeKind::Generated,
    };
    let times = reader.optional_value(&fields, "times");
    MockOutcome {
        span: place,
        kind: outcome,
        times,
        delay: reader.optional_value(&fields, "delay"),
    }
}

fn empty_text(span: Span) -> Text {
    let Name { text, span } = nameless(span);
    Text { text, span }
}
