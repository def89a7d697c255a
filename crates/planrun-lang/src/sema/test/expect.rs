//! Checks `expect`: conditions on the outcome of a run.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::TestChecker;
use super::answer::without_indices;
use super::item::{CallQuery, Caller, Comparison, Expect};
use super::mock::called;
use super::scope::binding;
use crate::diag::{Diagnostic, codes};
use crate::protocol::{RunState, StepState};
use crate::sema::expr::{CheckedExpr, Checker};
use crate::sema::finding::{quoted_path, unknown, unknown_as};
use crate::sema::plan::Plan;
use crate::sema::shared::Namespace;
use crate::sema::{Atom, Binding, Lookup, Scope};
use crate::source::Span;
use crate::syntax::ast;
use crate::syntax::precedence::{Level, operator_level};
use crate::types::{Field, Literal, MapType, ObjectType, Rest, Type};
use crate::words;

words! {
    /// The names that `expect` reads, in the order of their slots. The plan's parameters follow, then the results of call
    /// queries.
    Place {
        Reply = "reply",
        Status = "status",
        Error = "error",
        Usage = "usage",
        Steps = "steps",
        Tasks = "tasks",
    }
}

/// The functions that query calls.
const FUNCTIONS: [&str; 3] = ["calls", "ran", "before"];

impl TestChecker<'_> {
    pub(super) fn expect(&mut self, condition: &ast::Expr, queries: &mut Vec<CallQuery>) -> Expect {
        let names = self.names(condition);
        let scope = OutcomeScope {
            names,
            known: self.callers(),
            queries: RefCell::new(std::mem::take(queries)),
        };
        let mut found = Vec::new();
        let code = Checker::new(&scope, &mut found).check_condition(condition);
        let parts = conjuncts(condition)
            .into_iter()
            .map(|part| comparison(part, &scope))
            .collect();
        let reads_end = code
            .reads
            .iter()
            .any(|read| matches!(&*read.name, "status" | "error"));
        *queries = scope.queries.into_inner();
        let unknown = self.unknown_steps(condition);
        // Whether the value of an unknown step may be absent, or has the wrong type, does not matter.
        // A condition that never holds fails the test, and one that always holds does no harm.
        let matters = |finding: &Diagnostic| {
            *finding.code != codes::order::CONSTANT_CONDITION
                && !unknown.iter().any(|step| step.read.contains(finding.span))
        };
        self.diagnostics.extend(found.into_iter().filter(matters));
        self.diagnostics
            .extend(unknown.into_iter().map(|step| step.finding));
        Expect {
            span: condition.span,
            condition: code,
            parts,
            reads_end,
        }
    }

    fn names(&self, condition: &ast::Expr) -> Vec<(Arc<str>, Type)> {
        // A plan may have many steps, so their types are only created if they are read.
        let text = self.shared.source.slice(condition.span);
        let outcome = Place::ALL.iter().map(|place| {
            let ty = match place {
                Place::Reply => self.plan.returns.clone(),
                // After a test its run is not running any more.
                Place::Status => {
                    let states = RunState::ALL.iter();
                    let states = states.filter(|state| **state != RunState::Running);
                    union(states.map(|state| state.name()))
                }
                Place::Error => Type::Error,
                Place::Usage => usage(),
                Place::Steps if text.contains("steps") => steps(self.plan),
                Place::Tasks if text.contains("tasks") => tasks(self.plan),
                Place::Steps | Place::Tasks => Type::Any,
            };
            (Arc::from(place.name()), ty)
        });
        let inputs = self.plan.parameters.iter().map(|parameter| {
            let always = parameter.required || parameter.default.is_some();
            let ty = if always {
                parameter.ty.clone()
            } else {
                parameter.ty.clone().optional()
            };
            (parameter.name.clone(), ty)
        });
        outcome.chain(inputs).collect()
    }

    /// Returns the paths in `steps.NAME` and `steps["…"]` that no step can have.
    fn unknown_steps(&self, condition: &ast::Expr) -> Vec<UnknownStep> {
        let mut written = Vec::new();
        step_paths(condition, &mut written);
        if written.is_empty() {
            return Vec::new();
        }
        let names = node_names(self.plan);
        let unknown = written.into_iter().filter_map(|step| {
            let parts = without_indices(&step.path);
            let wrong = parts
                .split('.')
                .find(|part| !names.iter().any(|name| **name == **part) && !WORDS.contains(part))?;
            let known = names.iter().map(|name| &**name);
            let finding = unknown(&codes::tests::TEST_PATH, "step", wrong, step.span, known);
            Some(UnknownStep {
                read: step.read,
                finding: Diagnostic {
                    fix: None,
                    ..finding
                },
            })
        });
        unknown.collect()
    }

    /// Returns every tool and step that a call query may name, as the file writes them.
    fn callers(&self) -> Callers {
        let mut tools = Vec::new();
        for signature in called(self.plan) {
            let alias =
                self.shared
                    .namespaces
                    .iter()
                    .find_map(|(alias, namespace)| match namespace {
                        Namespace::Tools(catalog) if *catalog == signature.namespace => Some(alias),
                        Namespace::Tools(_) | Namespace::Plans(_) | Namespace::Unresolved => None,
                    });
            let written = format!(
                "{}.{}",
                alias.unwrap_or(&signature.namespace),
                signature.name
            );
            tools.push((written, signature.path()));
        }
        let nodes = self.plan.nodes().filter(|node| node.step().is_some());
        Callers {
            tools,
            steps: nodes.filter_map(|node| node.name.clone()).collect(),
        }
    }
}

/// Path segments that are not names of steps.
const WORDS: [&str; 4] = ["recover", "undo", "verify", "match"];

/// Returns the names of statements, including those of called plans.
fn node_names(plan: &Plan) -> BTreeSet<Arc<str>> {
    let plans = plan.with_called().into_iter();
    let blocks = plans.flat_map(|plan| &plan.blocks);
    let names = blocks.flat_map(|block| {
        let label = block.label.iter().flat_map(|label| label.split('.'));
        let names = block.nodes.iter().filter_map(|node| node.name.clone());
        label.map(Arc::from).chain(names)
    });
    names.collect()
}

/// A path of a step in an expression.
struct StepPath {
    path: Arc<str>,
    span: Span,
    /// The whole expression that reads from the step.
    read: Span,
}

/// A path that no step can have.
struct UnknownStep {
    read: Span,
    finding: Diagnostic,
}

/// Collects every `steps.NAME` and `steps["…"]` of an expression.
fn step_paths(expression: &ast::Expr, found: &mut Vec<StepPath>) {
    if let ast::ExprKind::Path { base, links } = &expression.kind
        && matches!(&base.kind, ast::ExprKind::Name(name) if **name == *Place::Steps.name())
        && let Some(link) = links.first()
        && let Some((path, span)) = step_path(&link.kind)
    {
        let read = expression.span;
        found.push(StepPath { path, span, read });
    }
    expression.parts(&mut |part| step_paths(part, found));
}

fn step_path(link: &ast::LinkKind) -> Option<(Arc<str>, Span)> {
    match link {
        ast::LinkKind::Field { name, .. } => Some((name.text.clone(), name.span)),
        ast::LinkKind::Index { index, .. } => match &index.kind {
            ast::ExprKind::Literal(ast::Literal::String(path)) => Some((path.clone(), index.span)),
            _ => None,
        },
        ast::LinkKind::Call { .. } => None,
    }
}

/// The names that are allowed in a call query.
struct Callers {
    /// As written in the file, and as named in the catalog.
    tools: Vec<(String, String)>,
    steps: Vec<Arc<str>>,
}

/// The names of an outcome, and its call queries.
struct OutcomeScope {
    names: Vec<(Arc<str>, Type)>,
    known: Callers,
    queries: RefCell<Vec<CallQuery>>,
}

impl Scope for OutcomeScope {
    fn lookup(&self, name: &str) -> Lookup {
        let found = self.names.iter().position(|(known, _)| **known == *name);
        found.map_or(Lookup::Missing, |slot| {
            Lookup::Found(binding(slot, self.names[slot].1.clone()))
        })
    }

    fn visible(&self) -> Vec<Arc<str>> {
        self.names.iter().map(|(name, _)| name.clone()).collect()
    }

    fn facts(&self) -> &[Atom] {
        &[]
    }

    fn query(
        &self,
        function: &ast::Name,
        arguments: &[ast::Argument],
        span: Span,
    ) -> Option<Result<Binding, Box<Diagnostic>>> {
        if !FUNCTIONS.contains(&&*function.text) {
            return None;
        }
        Some(self.question(function, arguments, span).map(|query| {
            let ty = if matches!(query, CallQuery::Calls(_)) {
                Type::Int
            } else {
                Type::Bool
            };
            let mut known = self.queries.borrow_mut();
            let index = known
                .iter()
                .position(|other| *other == query)
                .unwrap_or_else(|| {
                    known.push(query);
                    known.len() - 1
                });
            binding(self.names.len() + index, ty)
        }))
    }
}

impl OutcomeScope {
    fn question(
        &self,
        function: &ast::Name,
        arguments: &[ast::Argument],
        span: Span,
    ) -> Result<CallQuery, Box<Diagnostic>> {
        let values = arguments
            .iter()
            .map(|argument| &argument.value)
            .collect::<Vec<_>>();
        match (&*function.text, values.as_slice()) {
            ("calls", [caller]) => Ok(CallQuery::Calls(self.caller(caller)?)),
            ("ran", [caller]) => Ok(CallQuery::Ran(self.caller(caller)?)),
            ("before", [one, other]) => {
                Ok(CallQuery::Before(self.caller(one)?, self.caller(other)?))
            }
            (name, _) => {
                let count = if name == "before" {
                    "two tools or steps"
                } else {
                    "one tool or step"
                };
                let message = format!("`{name}` takes {count}");
                let form = if name == "before" {
                    "namespace.one, namespace.other"
                } else {
                    "namespace.tool"
                };
                let finding = codes::types::NO_OVERLOAD.at(span, message);
                Err(Box::new(
                    finding.help(format!("write `{name}({form})`, or names of steps")),
                ))
            }
        }
    }

    fn caller(&self, expression: &ast::Expr) -> Result<Caller, Box<Diagnostic>> {
        let written = match &expression.kind {
            ast::ExprKind::Name(name) => name.to_string(),
            ast::ExprKind::Path { base, links } => match (&base.kind, links.as_slice()) {
                (
                    ast::ExprKind::Name(name),
                    [
                        ast::Link {
                            kind: ast::LinkKind::Field { name: tool, .. },
                            ..
                        },
                    ],
                ) => {
                    format!("{name}.{}", tool.text)
                }
                _ => String::new(),
            },
            _ => String::new(),
        };
        let tool = self.known.tools.iter().find(|(known, _)| *known == written);
        if let Some((_, path)) = tool {
            return Ok(Caller::Tool(path.as_str().into()));
        }
        if let Some(step) = self.known.steps.iter().find(|step| ***step == *written) {
            return Ok(Caller::Step(step.clone()));
        }
        let tools = self.known.tools.iter().map(|(written, _)| written.as_str());
        let names = tools.chain(self.known.steps.iter().map(|step| &**step));
        let code = &codes::tests::TEST_PATH;
        if written.is_empty() {
            let message = "expected the name of a tool or a step";
            let finding = code.at(expression.span, message);
            return Err(Box::new(
                finding
                    .help("write `namespace.tool`, or the name of a step")
                    .available(names),
            ));
        }
        let what = "tool call or step in this plan named";
        Err(Box::new(unknown_as(
            code,
            what,
            &written,
            expression.span,
            names,
            quoted_path,
        )))
    }
}

/// Returns the operands of a top-level `&&`; otherwise the condition itself.
fn conjuncts(condition: &ast::Expr) -> Vec<&ast::Expr> {
    match &condition.kind {
        ast::ExprKind::Chain { first, rest }
            if rest.iter().all(|link| link.operator == ast::BinaryOp::And) =>
        {
            std::iter::once(&**first)
                .chain(rest.iter().map(|link| &link.operand))
                .flat_map(conjuncts)
                .collect()
        }
        _ => vec![condition],
    }
}

/// Checks a part of a condition. Its diagnostics are discarded, since the whole condition has been checked.
fn comparison(part: &ast::Expr, scope: &OutcomeScope) -> Comparison {
    let code = |expression: &ast::Expr| Checker::new(scope, &mut Vec::new()).check(expression);
    let sides = match &part.kind {
        ast::ExprKind::Chain { first, rest } => match rest.as_slice() {
            [only] if operator_level(only.operator) == Level::Comparison => {
                Some((code(first), code(&only.operand)))
            }
            _ => None,
        },
        _ => None,
    };
    let condition: CheckedExpr = code(part);
    Comparison {
        span: part.span,
        condition,
        sides,
        receiver: receiver(part).as_ref().map(code),
    }
}

/// Returns the value whose method a condition or its negation calls.
fn receiver(part: &ast::Expr) -> Option<ast::Expr> {
    match &part.kind {
        ast::ExprKind::Unary { operand, .. } => receiver(operand),
        ast::ExprKind::Path { base, links } => {
            let (last, before) = links.split_last()?;
            if !matches!(last.kind, ast::LinkKind::Call { .. }) {
                return None;
            }
            let Some(end) = before.last() else {
                return Some((**base).clone());
            };
            Some(ast::Expr {
                span: base.span.to(end.span),
                kind: ast::ExprKind::Path {
                    base: base.clone(),
                    links: before.to_vec(),
                },
            })
        }
        _ => None,
    }
}

fn union<'n>(words: impl Iterator<Item = &'n str>) -> Type {
    Type::union(words.map(|word| Type::Literal(Literal::String(word.into()))))
}

fn object(fields: Vec<(&str, Type)>, rest: Rest) -> Type {
    let fields = fields.into_iter().map(|(name, ty)| Field {
        name: name.into(),
        ty,
        required: true,
    });
    Type::Object(Arc::new(ObjectType {
        fields: fields.collect(),
        rest,
    }))
}

fn usage() -> Type {
    let fields = vec![
        ("calls", Type::Int),
        ("tokens", Type::Int),
        ("cost", Type::Double),
    ];
    object(fields, Rest::Closed)
}

/// Returns the type of `steps`: every step by its path. The types of the plan's own steps are known.
fn steps(plan: &Plan) -> Type {
    let mut own: Vec<(&str, Type)> = Vec::new();
    for node in &plan.body().nodes {
        let (Some(name), Some(step)) = (&node.name, node.step()) else {
            continue;
        };
        match own.iter_mut().find(|(known, _)| *known == &**name) {
            // Branches of one `if` may define it.
            Some((_, output)) => *output = Type::union([output.clone(), step.ty.clone()]),
            None => own.push((name, step.ty.clone())),
        }
    }
    let own = own.into_iter().map(|(name, output)| (name, step(&output)));
    object(own.collect(), Rest::Typed(step(&Type::Any)))
}

fn step(output: &Type) -> Type {
    let any = || {
        Type::Map(Arc::new(MapType {
            key: Type::String,
            value: Type::Any,
        }))
    };
    let fields = vec![
        (
            "status",
            union(StepState::ALL.iter().map(|state| state.name())),
        ),
        ("attempts", Type::Int),
        ("tool", Type::String.optional()),
        ("arguments", any()),
        ("output", output.clone()),
        ("error", Type::Error),
        ("recovered", Type::Error),
        ("attributes", Type::List(Arc::new(Type::String))),
        ("reason", Type::String.optional()),
    ];
    object(fields, Rest::Closed)
}

fn tasks(plan: &Plan) -> Type {
    let mut own: Vec<(&str, Type)> = Vec::new();
    for task in &plan.tasks {
        let status = union(task.statuses.iter().map(|status| &**status));
        let ty = object(
            vec![("status", status), ("context", task.context.clone())],
            Rest::Closed,
        );
        match own.iter_mut().find(|(known, _)| *known == &*task.name) {
            // Separate blocks may define it.
            Some((_, known)) => *known = Type::union([known.clone(), ty]),
            None => own.push((&task.name, ty)),
        }
    }
    object(own, Rest::Closed)
}
