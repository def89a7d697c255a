//! Checks `mock`: the results of a tool, against its contract.

use std::sync::Arc;
use std::time::Duration;

use super::TestChecker;
use super::item::{Mock, MockReaction, Reaction};
use super::scope::Slots;
use crate::diag::codes;
use crate::sema::expr::{CheckedExpr, Checker, Expectation};
use crate::sema::finding::{unknown, unknown_meant};
use crate::sema::plan::Plan;
use crate::sema::shared::Namespace;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{Auth, Denied, ErrorClass, Signature, Transient, Type, Validation, encode};

impl TestChecker<'_> {
    pub(super) fn mock(
        &mut self,
        span: Span,
        target: &ast::MockTarget,
        arguments: Option<&[ast::Argument]>,
        outcomes: &[ast::MockOutcome],
    ) -> Option<Mock> {
        // `None` is every tool.
        let signature = match target {
            ast::MockTarget::Tool { namespace, tool } => {
                let signature = self.tool(namespace, tool)?;
                self.check_called(&signature, tool.span);
                Some(signature)
            }
            ast::MockTarget::Every => None,
        };
        let arguments = arguments.unwrap_or_default();
        let arguments = signature
            .as_ref()
            .map(|signature| self.mock_arguments(signature, arguments));
        let last = outcomes.len().saturating_sub(1);
        let reactions = outcomes.iter().enumerate().map(|(index, outcome)| {
            let reaction = self.reaction(signature.as_deref(), outcome)?;
            // An outcome that is followed by another one answers once unless it has `times`.
            let once = (index < last).then_some(1);
            let times = outcome
                .times
                .as_ref()
                .map(|times| self.times(times))
                .or(once);
            let delay = self.delay(outcome);
            Some(MockReaction {
                span: outcome.span,
                reaction,
                times,
                delay,
            })
        });
        let reactions = reactions
            .collect::<Vec<_>>()
            .into_iter()
            .flatten()
            .collect();
        Some(Mock {
            span,
            signature,
            arguments: arguments.unwrap_or_default(),
            reactions,
        })
    }

    pub(super) fn delay(&mut self, outcome: &ast::MockOutcome) -> Duration {
        outcome
            .delay
            .as_ref()
            .map(|delay| self.duration(delay, "`delay`"))
            .unwrap_or_default()
    }

    fn check_called(&mut self, signature: &Signature, tool: Span) {
        if !calls(self.plan, signature) {
            let message = format!("`{}` never calls `{}`", self.plan.name, signature.path());
            let finding = codes::tests::UNUSED_MOCK.at(tool, message);
            self.diagnostics
                .push(finding.help("remove it, or mock the tool that the plan calls"));
        }
    }

    pub(super) fn tool(
        &mut self,
        namespace: &ast::Name,
        tool: &ast::Name,
    ) -> Option<Arc<Signature>> {
        self.used.insert(namespace.text.clone());
        if let Some(prompted) = self.prompted(namespace, tool) {
            return Some(prompted);
        }
        match self.shared.namespaces.get(&namespace.text) {
            None => self.tool_elsewhere(namespace, tool),
            Some(Namespace::Tools(catalog)) => {
                let tools = self.shared.tools;
                tools.find(catalog, &tool.text).cloned().or_else(|| {
                    let what = format!("tool in `{}` named", namespace.text);
                    let code = &codes::names::UNKNOWN_TOOL;
                    let (finding, meant) = unknown_meant(code, &what, tool, tools.names(catalog));
                    self.diagnostics.push(finding);
                    tools.find(catalog, meant?).cloned()
                })
            }
            Some(Namespace::Plans(_)) => {
                let message = "a plan is not a tool: it runs in the test, and the tools that it calls are mocked";
                let finding = codes::names::UNKNOWN_TOOL.at(namespace.span.to(tool.span), message);
                self.diagnostics
                    .push(finding.help("mock the tools that this plan calls"));
                None
            }
            Some(Namespace::Unresolved) => None,
        }
    }

    /// Returns the model or agent of this name that the plan asks: `model.infer`, `hr.ask`. Its result is the union of
    /// what the steps expect.
    fn prompted(&self, namespace: &ast::Name, tool: &ast::Name) -> Option<Arc<Signature>> {
        let catalog = match self.shared.namespaces.get(&namespace.text) {
            Some(Namespace::Tools(catalog)) => catalog,
            Some(_) => return None,
            None => &namespace.text,
        };
        let named = |signature: &Arc<Signature>| {
            let is_prompted = signature.kind.word().is_some();
            is_prompted && signature.namespace == *catalog && signature.name == tool.text
        };
        let plans = self.plan.with_called();
        let calls = plans.iter().flat_map(|plan| plan.tool_calls());
        let asked: Vec<_> = calls.filter(|signature| named(signature)).collect();
        let first = *asked.first()?;
        if asked.iter().all(|other| other.returns == first.returns) {
            return Some(first.clone());
        }
        Some(Arc::new(Signature {
            returns: Type::union(asked.iter().map(|asked| asked.returns.clone())),
            output_schema: None,
            ..(**first).clone()
        }))
    }

    /// Returns a tool that the file does not use, but that the plan, which is in another file, calls.
    fn tool_elsewhere(
        &mut self,
        namespace: &ast::Name,
        tool: &ast::Name,
    ) -> Option<Arc<Signature>> {
        let named = |signature: &Arc<Signature>| {
            signature.namespace == namespace.text && signature.name == tool.text
        };
        let called = called(self.plan);
        let found = called.iter().find(|signature| named(signature)).cloned();
        let inside = called
            .iter()
            .filter(|signature| signature.namespace == namespace.text);
        let inside: Vec<&str> = inside.map(|signature| &*signature.name).collect();
        if found.is_none() && !inside.is_empty() {
            let what = format!(
                "tool in `{}` that `{}` calls named",
                namespace.text, self.plan.name
            );
            let code = &codes::names::UNKNOWN_TOOL;
            let finding = unknown(code, &what, &tool.text, tool.span, inside.into_iter());
            self.diagnostics.push(finding);
        } else if found.is_none() {
            let own = self
                .shared
                .namespaces
                .iter()
                .filter(|(_, of)| matches!(of, Namespace::Tools(_)));
            let mut known: Vec<Arc<str>> = own.map(|(name, _)| name.clone()).collect();
            known.extend(called.iter().map(|signature| signature.namespace.clone()));
            known.sort();
            let (code, known) = (
                &codes::names::UNKNOWN_NAMESPACE,
                known.iter().map(|name| &**name),
            );
            self.diagnostics.push(unknown(
                code,
                "namespace of tools",
                &namespace.text,
                namespace.span,
                known,
            ));
        }
        found
    }

    /// Checks the arguments that a call must have against the parameters of the tool.
    fn mock_arguments(
        &mut self,
        signature: &Signature,
        arguments: &[ast::Argument],
    ) -> Vec<(Arc<str>, CheckedExpr)> {
        let mut checked = Vec::new();
        for argument in arguments {
            let Some(name) = &argument.name else {
                let message = format!("`{}` takes its arguments by name", signature.path());
                let finding = codes::text::POSITIONAL_ARGUMENT.at(argument.span, message);
                self.diagnostics.push(finding.help("write `name: value`"));
                continue;
            };
            let ty = match signature.parameter(&name.text) {
                Some(parameter) if parameter.required => parameter.ty.clone(),
                Some(parameter) => Type::union([parameter.ty.clone(), Type::Null]),
                None if signature.extra_arguments => Type::Any,
                None => {
                    let names = signature
                        .parameters
                        .iter()
                        .map(|parameter| &*parameter.name);
                    let what = format!("argument of `{}` named", signature.path());
                    let code = &codes::names::UNKNOWN_ARGUMENT;
                    self.diagnostics
                        .push(unknown(code, &what, &name.text, name.span, names));
                    continue;
                }
            };
            let what = format_args!("the argument `{}` of `{}`", name.text, signature.path());
            checked.push((
                name.text.clone(),
                self.constant_of(&argument.value, &ty, &what),
            ));
        }
        checked
    }

    fn reaction(
        &mut self,
        signature: Option<&Signature>,
        outcome: &ast::MockOutcome,
    ) -> Option<Reaction> {
        match &outcome.kind {
            ast::MockOutcomeKind::Value(value) => {
                let Some(signature) = signature else {
                    let message = "one value cannot be the result of every tool";
                    let finding = codes::tests::TEST_OUTCOME.at(value.span, message);
                    self.diagnostics
                        .push(finding.help("write `mock _ => generated`"));
                    return None;
                };
                Some(Reaction::Value(self.result(signature, value)))
            }
            ast::MockOutcomeKind::Generated => Some(Reaction::Generated),
            ast::MockOutcomeKind::Fail {
                class,
                message,
                details,
            } => {
                let class = self.raised(signature, class)?;
                let message = message
                    .as_ref()
                    .map(|message| self.constant_of(message, &Type::String, &"the message"));
                let details = details
                    .as_ref()
                    .map(|details| self.constant_of(details, &Type::Any, &"the details"));
                Some(Reaction::Fail {
                    class,
                    message,
                    details,
                })
            }
            ast::MockOutcomeKind::Crash { after } => Some(Reaction::Crash { after: *after }),
        }
    }

    /// Checks a result against the declared type, and against the rest of the contract if it is constant.
    fn result(&mut self, signature: &Signature, value: &ast::Expr) -> CheckedExpr {
        let names = signature.parameters.iter().map(|parameter| {
            let ty = if parameter.required {
                parameter.ty.clone()
            } else {
                parameter.ty.clone().optional()
            };
            (parameter.name.clone(), ty)
        });
        let scope = Slots(names.collect());
        let before = self.diagnostics.len();
        let what = format_args!("the result of `{}`", signature.path());
        let code = Checker::new(&scope, self.diagnostics).check_against(
            value,
            &signature.returns,
            Expectation::of(&what),
        );
        let constant = code.constant().filter(|_| self.diagnostics.len() == before);
        let violation =
            constant
                .zip(signature.output_schema.as_ref())
                .and_then(|(value, contract)| {
                    contract
                        .violations(&encode(value, &signature.returns))
                        .into_iter()
                        .next()
                });
        if let Some(violation) = violation {
            let message = format!(
                "the result of `{}` breaks the tool's contract: {violation}",
                signature.path()
            );
            let finding = codes::types::SCHEMA_VIOLATION.at(value.span, message);
            self.diagnostics.push(finding.help(
                "change it to a value that the contract allows; the tool can never return this",
            ));
        }
        code
    }

    /// Checks an error class with which a call of the tool can fail.
    fn raised(&mut self, signature: Option<&Signature>, name: &ast::Name) -> Option<ErrorClass> {
        let Some(class) = ErrorClass::find(&name.text) else {
            let code = &codes::names::UNKNOWN_ERROR_CLASS;
            let declared = signature
                .map(|signature| signature.raises.as_slice())
                .unwrap_or_default();
            let fixed = ErrorClass::names()
                .filter(|name| name.contains('.'))
                .map(str::to_owned);
            let names = declared
                .iter()
                .map(|reason| format!("tool.{reason}"))
                .chain(fixed)
                .collect::<Vec<_>>();
            let names = names.iter().map(String::as_str);
            self.diagnostics
                .push(unknown(code, "error class", &name.text, name.span, names));
            return None;
        };
        let can = match &class {
            ErrorClass::Tool(reason) => {
                **reason == *"failed"
                    || signature.is_none_or(|signature| signature.raises.contains(reason))
            }
            ErrorClass::Transient(_)
            | ErrorClass::Auth(_)
            | ErrorClass::Validation(Validation::Result)
            | ErrorClass::Denied(Denied::Policy) => true,
            ErrorClass::UnknownOutcome => {
                signature.is_none_or(|signature| !signature.effect.repeatable())
            }
            ErrorClass::Validation(_)
            | ErrorClass::Denied(_)
            | ErrorClass::Expired
            | ErrorClass::Cancelled
            | ErrorClass::Budget(_)
            | ErrorClass::Internal => false,
        };
        if !can {
            self.never_raised(signature, name);
        }
        can.then_some(class)
    }

    fn never_raised(&mut self, signature: Option<&Signature>, name: &ast::Name) {
        let of = signature.map_or_else(
            || "a tool".to_owned(),
            |signature| format!("`{}`", signature.path()),
        );
        let message = format!("{of} never fails with `{}`", name.text);
        let can = raisable(signature);
        let can = can.iter().map(ToString::to_string).collect::<Vec<_>>();
        let names = can.iter().map(String::as_str).collect::<Vec<_>>();
        let finding = codes::tests::TEST_OUTCOME.at(name.span, message);
        let otherwise = "write a class with which it can fail";
        let finding = finding.suggest(&name.text, names.iter().copied(), otherwise);
        self.diagnostics.push(finding.available(names));
    }
}

/// Returns every class with which a call of a tool can fail; declared ones first.
#[must_use]
pub fn raisable(signature: Option<&Signature>) -> Vec<ErrorClass> {
    let declared = signature
        .map(|signature| signature.raises.as_slice())
        .unwrap_or_default();
    let declared = declared
        .iter()
        .map(|reason| ErrorClass::Tool(reason.clone()));
    let transient = [
        Transient::Timeout,
        Transient::Unavailable,
        Transient::RateLimited,
        Transient::Network,
    ];
    let auth = [Auth::Authentication, Auth::Authorization];
    let others = transient
        .into_iter()
        .map(ErrorClass::Transient)
        .chain(auth.into_iter().map(ErrorClass::Auth));
    let failed = ErrorClass::Tool("failed".into());
    let mut classes: Vec<ErrorClass> = declared.collect();
    if !classes.contains(&failed) {
        classes.push(failed);
    }
    classes.extend(others);
    if signature.is_some_and(|signature| !signature.effect.repeatable()) {
        classes.push(ErrorClass::UnknownOutcome);
    }
    classes.push(ErrorClass::Validation(Validation::Result));
    classes
}

/// Returns the tools that a plan and its called plans call, each once, in source order.
#[must_use]
pub fn called(plan: &Plan) -> Vec<Arc<Signature>> {
    let mut found: Vec<Arc<Signature>> = Vec::new();
    let plans = plan.with_called().into_iter();
    for signature in plans.flat_map(Plan::tool_calls) {
        let known = |other: &Arc<Signature>| {
            other.namespace == signature.namespace && other.name == signature.name
        };
        if !found.iter().any(known) {
            found.push(signature.clone());
        }
    }
    found
}

fn calls(plan: &Plan, signature: &Signature) -> bool {
    called(plan)
        .iter()
        .any(|called| called.namespace == signature.namespace && called.name == signature.name)
}
