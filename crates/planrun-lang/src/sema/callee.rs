//! Resolves the target of a call: a tool, a plan, or the one with the nearest name.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::callable::{Contract, Offer, has_argument, parameters_of};
use super::checker::PlanChecker;
use super::finding::unknown_near;
use super::own_plans::{OwnCall, own_call};
use super::plan::{Footprint, OrderClass, Plan, Target};
use crate::diag::{Code, Edit, codes};
use crate::source::Span;
use crate::syntax::{ast, canonical_name};
use crate::types::{Effect, Parameter, Signature, Type};

/// Words that authors write after `ask` for a model.
const MODEL_WORDS: [&str; 6] = ["agent", "ai", "assistant", "gpt", "llm", "model"];
/// How to name the agent of an `ask`.
const ASKED: &str = "an `ask` names a namespace, whose tools the model may call: `ask desk(\"…\") -> T`; a model without \
                     tools is asked with `infer(\"…\") -> T`";

/// A call as written: `namespace.tool(arguments)`, or `plan(arguments)` for a plan of the file.
pub(super) struct Written<'a> {
    pub namespace: Option<(&'a str, Span)>,
    pub tool: &'a ast::Name,
    pub arguments: &'a [ast::Argument],
    pub span: Span,
}

/// The target of a call.
pub(super) struct Callee<'a> {
    pub path: Path<'a>,
    pub parameters: Cow<'a, [Parameter]>,
    pub extra_arguments: bool,
    pub target: Target,
    pub returns: Type,
    pub does: Footprint,
}

/// `namespace.name`, or only the name.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    namespace: Option<&'a str>,
    name: &'a str,
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace {
            Some(namespace) => write!(f, "{namespace}.{}", self.name),
            None => f.write_str(self.name),
        }
    }
}

impl Written<'_> {
    /// Returns true if there is an argument with this name.
    pub(super) fn has_argument(&self, name: &str) -> bool {
        has_argument(self.arguments, name)
    }
}

/// Returns the parts of an expression that has the shape of a call.
pub(super) fn written_call<'w>(
    checker: &PlanChecker<'_>,
    expression: &'w ast::Expr,
) -> Option<Written<'w>> {
    let span = expression.span;
    if let Some(OwnCall {
        name, arguments, ..
    }) = own_call(expression, checker.own)
    {
        return Some(Written {
            namespace: None,
            tool: name,
            arguments,
            span,
        });
    }
    let ast::ExprKind::Path { base, links } = &expression.kind else {
        return None;
    };
    let (ast::ExprKind::Name(namespace), [link]) = (&base.kind, links.as_slice()) else {
        return None;
    };
    let ast::LinkKind::Call {
        name,
        safe: false,
        arguments,
    } = &link.kind
    else {
        return None;
    };
    Some(Written {
        namespace: Some((namespace, base.span)),
        tool: name,
        arguments,
        span,
    })
}

/// Finds the target of a call. An unknown name is reported; if the intended one is clear, the call is checked against
/// it so that all its errors are reported at once.
pub(super) fn find_callee<'s, 'w>(
    checker: &mut PlanChecker<'s>,
    written: &Written<'w>,
) -> Option<Callee<'w>>
where
    's: 'w,
{
    let Some((namespace, place)) = written.namespace else {
        return find_own_plan(checker, written);
    };
    let namespace = if checker.names.is_namespace(namespace) {
        namespace
    } else if checker.own.contains_key(&written.tool.text)
        && !checker.shared.tools.has_namespace(namespace)
    {
        return own_with_namespace(checker, written, namespace, place);
    } else {
        report_unknown_namespace(checker, namespace, place, &written.tool.text)?
    };
    checker.used.insert(namespace.into());
    let offer = checker.callees().offer(namespace)?;
    match offer {
        Offer::Unresolved => None,
        Offer::Tools(catalog) => find_tool(checker, written, namespace, catalog),
        Offer::Plans(plans) => find_plan(checker, written, namespace, plans),
    }
}

/// Returns the namespace of an agent in the catalog. An unknown agent is reported.
pub(super) fn find_agent<'s>(checker: &mut PlanChecker<'s>, agent: &ast::Name) -> Option<&'s str> {
    let name = if checker.names.is_namespace(&agent.text) {
        &*agent.text
    } else {
        let before = checker.diagnostics.len();
        let meant = report_unknown_namespace(checker, &agent.text, agent.span, "ask");
        if MODEL_WORDS.contains(&&*agent.text) {
            let found = checker.diagnostics.iter_mut().skip(before);
            found.for_each(|found| found.help = Some(ASKED.to_owned()));
        }
        meant?
    };
    checker.used.insert(name.into());
    match checker.callees().offer(name)? {
        Offer::Tools(catalog) => Some(catalog),
        Offer::Plans(_) => {
            let message = format!("`{name}` is a file of plans, not an agent");
            let diagnostic = codes::names::UNKNOWN_NAMESPACE
                .at(agent.span, message)
                .help(format!(
                    "call a plan of it: `{}.…(…)`",
                    canonical_name(name)
                ));
            checker.report(diagnostic);
            None
        }
        Offer::Unresolved => None,
    }
}

/// Reports `self.other(…)`: a plan of this file called with an unknown namespace.
fn own_with_namespace<'s, 'w>(
    checker: &mut PlanChecker<'s>,
    written: &Written<'w>,
    namespace: &str,
    place: Span,
) -> Option<Callee<'w>>
where
    's: 'w,
{
    let name = &written.tool.text;
    let message = format!("there is no namespace `{namespace}`");
    let help = format!(
        "`{name}` is a plan of this file; call it by its name alone: `{}(…)`",
        canonical_name(name)
    );
    let mut diagnostic = codes::names::UNKNOWN_NAMESPACE
        .at(place, message)
        .help(help);
    if checker.callees().find(None, name).is_some() {
        let edit = Edit::removal(Span::from(place.start..written.tool.span.start));
        diagnostic = diagnostic.fix_all(format!("remove `{namespace}.`"), vec![edit]);
    }
    checker.report(diagnostic);
    let Written {
        tool,
        arguments,
        span,
        ..
    } = *written;
    find_own_plan(
        checker,
        &Written {
            namespace: None,
            tool,
            arguments,
            span,
        },
    )
}

/// Reports a namespace that the file does not use or that does not exist. Returns the intended one: the nearest, if it
/// is certain or contains the callee.
fn report_unknown_namespace<'s, 'n>(
    checker: &mut PlanChecker<'s>,
    name: &'n str,
    place: Span,
    callee: &str,
) -> Option<&'n str>
where
    's: 'n,
{
    let (shared, code) = (checker.shared, &codes::names::UNKNOWN_NAMESPACE);
    let used = |name: &str| Edit::new(shared.first_use, format!("use {}\n", canonical_name(name)));
    if shared.tools.has_namespace(name) {
        let message = format!("this file does not use the namespace `{name}`");
        let diagnostic = code
            .at(place, message)
            .help(format!(
                "write `use {}` at the top of the file",
                canonical_name(name)
            ))
            .fix_all(format!("add `use {name}`"), vec![used(name)]);
        checker.report(diagnostic);
        return Some(name);
    }
    let named = shared.namespaces.keys().map(|name| &**name);
    let known = named
        .chain(shared.tools.namespaces())
        .collect::<std::collections::BTreeSet<_>>();
    let (mut diagnostic, near) = unknown_near(code, "namespace", name, place, known.into_iter());
    let own = |near: &str| {
        checker
            .callees()
            .offer(near)
            .is_some_and(|offer| offer.find(shared, callee).is_some())
    };
    let meant = near
        .filter(|near| near.certain || own(near.name))
        .map(|near| near.name);
    match (&mut diagnostic.fix, meant) {
        (Some(fix), Some(meant))
            if !shared.infers_uses && !shared.namespaces.contains_key(meant) =>
        {
            fix.edits.push(used(meant));
        }
        (_, Some(_)) => {}
        (fix, None) => *fix = None,
    }
    checker.report(diagnostic);
    meant
}

fn find_tool<'s, 'w>(
    checker: &mut PlanChecker<'s>,
    written: &Written<'w>,
    namespace: &str,
    catalog: &'s str,
) -> Option<Callee<'w>>
where
    's: 'w,
{
    let tools = checker.shared.tools;
    let signature = if let Some(signature) = tools.find(catalog, &written.tool.text) {
        signature
    } else {
        let what = format!("tool in `{namespace}` named");
        let near = report_unknown(
            checker,
            &codes::names::UNKNOWN_TOOL,
            &what,
            (Some(namespace), written),
            tools.names(catalog),
        )?;
        tools.find(catalog, near)?
    };
    Some(tool_callee(signature))
}

/// Finds a plan of another file.
fn find_plan<'s, 'w>(
    checker: &mut PlanChecker<'s>,
    written: &Written<'w>,
    namespace: &str,
    plans: &'s [Arc<Plan>],
) -> Option<Callee<'w>>
where
    's: 'w,
{
    let find = |name: &str| plans.iter().find(|plan| &*plan.name == name);
    let plan = if let Some(plan) = find(&written.tool.text) {
        plan
    } else {
        let what = format!("plan in `{namespace}` named");
        let names = plans.iter().map(|plan| &*plan.name);
        find(report_unknown(
            checker,
            &codes::names::UNKNOWN_PLAN,
            &what,
            (Some(namespace), written),
            names,
        )?)?
    };
    Some(plan_callee(checker, written, plan))
}

/// Finds a plan of this file.
fn find_own_plan<'s, 'w>(checker: &mut PlanChecker<'s>, written: &Written<'w>) -> Option<Callee<'w>>
where
    's: 'w,
{
    let (own, name) = (checker.own, &*written.tool.text);
    if checker.circular.contains(&written.span) {
        return None;
    }
    let name = if own.contains_key(name) {
        name
    } else {
        let joined = checker.callees().joined_name(name);
        let whole = || namespace_with(checker, name).map(|namespace| (namespace, name));
        if let Some((namespace, tool)) = joined.or_else(whole) {
            let path = format!("{}.{}", canonical_name(namespace), canonical_name(tool));
            let message = format!("there is no plan in this file named `{name}`");
            let code = &codes::names::UNKNOWN_PLAN;
            let mut diagnostic = code.at(written.tool.span, message).help(format!(
                "write `{path}`: a tool is called by its namespace and its name"
            ));
            if joined.is_some() {
                diagnostic = diagnostic.unsafe_fix(
                    format!("write `{path}`"),
                    vec![Edit::new(written.tool.span, path)],
                );
            }
            checker.report(diagnostic);
            return None;
        }
        // The plan that is being checked is not meant: it would call itself.
        let others = own.iter().filter(|(_, plan)| plan.is_some());
        let names = others.map(|(name, _)| &**name);
        report_unknown(
            checker,
            &codes::names::UNKNOWN_PLAN,
            "plan in this file named",
            (None, written),
            names,
        )?
    };
    own.get(name)
        .and_then(Option::as_ref)
        .map(|plan| plan_callee(checker, written, plan))
}

/// Returns a namespace that has a tool or a plan with this name: one that the file uses, or one of the catalog.
fn namespace_with<'s>(checker: &PlanChecker<'s>, name: &str) -> Option<&'s str> {
    let shared = checker.shared;
    let used = shared.namespaces.keys().map(|namespace| &**namespace);
    used.chain(shared.tools.namespaces())
        .find(|namespace| checker.callees().find(Some(namespace), name).is_some())
}

/// Reports an unknown name and returns the intended one: the nearest, if it is certain or the arguments match it.
/// Otherwise the diagnostic has no fix, since the fix would cause other errors.
fn report_unknown<'s, 'c>(
    checker: &mut PlanChecker<'s>,
    code: &'static Code,
    what: &str,
    (namespace, written): (Option<&str>, &Written<'_>),
    names: impl Iterator<Item = &'c str>,
) -> Option<&'c str> {
    let (mut diagnostic, near) =
        unknown_near(code, what, &written.tool.text, written.tool.span, names);
    let contract = near.and_then(|near| checker.callees().find(namespace, near.name));
    let meant = near.filter(|near| {
        let fits = |contract: &Contract<'_>| near.certain || contract.fits(written.arguments);
        contract.as_ref().is_some_and(fits)
    });
    match (&mut diagnostic.fix, meant.and(contract)) {
        // A person decides which effect was meant.
        (Some(fix), Some(contract)) => fix.safe &= contract.effect <= Effect::Read,
        (fix, _) => *fix = None,
    }
    checker.report(diagnostic);
    meant.map(|near| near.name)
}

fn plan_callee<'w>(
    checker: &mut PlanChecker<'_>,
    written: &Written<'w>,
    plan: &'w Arc<Plan>,
) -> Callee<'w> {
    let known = checker
        .plans
        .iter()
        .position(|known| Arc::ptr_eq(known, plan));
    let index = known.unwrap_or_else(|| {
        checker.plans.push(plan.clone());
        checker.plans.len() - 1
    });
    let path = Path {
        namespace: written.namespace.map(|(namespace, _)| namespace),
        name: &plan.name,
    };
    Callee {
        parameters: parameters_of(plan).into(),
        extra_arguments: false,
        target: Target::Plan(index, path.to_string().into()),
        path,
        returns: plan.returns.clone(),
        does: plan.does.clone(),
    }
}

fn tool_callee(signature: &Arc<Signature>) -> Callee<'_> {
    Callee {
        path: Path {
            namespace: Some(&signature.namespace),
            name: &signature.name,
        },
        parameters: Cow::Borrowed(&signature.parameters),
        extra_arguments: signature.extra_arguments,
        target: Target::Tool(signature.clone()),
        returns: signature.returns.clone(),
        does: Footprint::of(signature.effect, OrderClass::of(signature.effect)),
    }
}
