//! Checks the plans of a file: their heads, then their statements.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use foldhash::HashSet;

use super::annotation::{NamedTypes, is_optional};
use super::block::check_statements;
use super::blocks::{BlockKind, Blocks};
use super::body::ends;
use super::candidates::Candidates;
use super::checker::PlanChecker;
use super::context::Contexts;
use super::expr::Expectation;
use super::finding::duplicate_name;
use super::form_to_argument;
use super::names::Names;
use super::own_plans::{CallOrder, OwnPlans};
use super::payloads::check_payloads;
use super::plan::{Footprint, Plan, PlanParameter, Policy};
use super::scope::NameKind;
use super::shared::Shared;
use super::unread::report_unread;
use crate::diag::{Diagnostic, codes};
use crate::permission::Grant;
use crate::source::Span;
use crate::syntax::{ast, map_parts};
use crate::types::Type;

/// Checks every plan, called plans first. Plans do not see each other otherwise, so in a large file several are checked
/// at a time.
pub(super) fn check(
    file: &ast::File,
    shared: &Shared<'_>,
    types: &mut NamedTypes,
    called: &mut BTreeSet<Arc<str>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Arc<Plan>> {
    let plans = own_names(file, diagnostics);
    let trees = plans.iter().map(|(_, plan)| *plan).collect::<Vec<_>>();
    let CallOrder { rows, circular } = CallOrder::of(&trees, diagnostics);
    let known = types.without_uses();
    let mut own = trees
        .iter()
        .map(|plan| (plan.name.text.clone(), None))
        .collect::<OwnPlans>();
    let names = Arc::new(own.keys().cloned().collect::<BTreeSet<_>>());
    let mut outcome: Vec<Option<Arc<Plan>>> = vec![None; plans.len()];
    for row in rows {
        let check = |index: &usize| {
            let (item, plan) = plans.get(*index)?;
            let mut found = Found {
                types: known.without_uses(),
                called: BTreeSet::new(),
                diagnostics: Vec::new(),
            };
            let context = FileContext {
                shared,
                own: &own,
                names: &names,
                circular: &circular,
            };
            let plan = check_plan(item, plan, context, &mut found);
            Some((*index, Arc::new(plan), found))
        };
        let checked = map_parts(shared.source, &row, check);
        for (index, plan, found) in checked.into_iter().flatten() {
            types.merge_uses(found.types);
            called.extend(found.called);
            diagnostics.extend(found.diagnostics);
            own.insert(plan.name.clone(), Some(plan.clone()));
            if let Some(place) = outcome.get_mut(index) {
                *place = Some(plan);
            }
        }
    }
    outcome.into_iter().flatten().collect()
}

/// The data of a file that its plans need.
#[derive(Clone, Copy)]
struct FileContext<'a> {
    shared: &'a Shared<'a>,
    own: &'a OwnPlans,
    /// The names of all plans of the file.
    names: &'a Arc<BTreeSet<Arc<str>>>,
    circular: &'a BTreeSet<Span>,
}

/// Results of the check of one plan, besides the plan.
struct Found {
    types: NamedTypes,
    /// The namespaces that it calls.
    called: BTreeSet<Arc<str>>,
    diagnostics: Vec<Diagnostic>,
}

/// Returns the plans without those that repeat a name, which are reported.
fn own_names<'a>(
    file: &'a ast::File,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<(&'a ast::Item, &'a ast::Plan)> {
    let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
    let mut plans = Vec::new();
    for item in &file.items {
        let ast::ItemKind::Plan(plan) = &item.kind else {
            continue;
        };
        if let Some(first) = seen.get(&*plan.name.text) {
            diagnostics.push(duplicate_name("plan", &plan.name, *first));
            continue;
        }
        seen.insert(&plan.name.text, plan.name.span);
        plans.push((item, plan));
    }
    plans
}

fn check_plan(
    item: &ast::Item,
    plan: &ast::Plan,
    context: FileContext<'_>,
    found: &mut Found,
) -> Plan {
    let FileContext {
        shared,
        own,
        names,
        circular,
    } = context;
    let mut contexts = Contexts::of_plan(&plan.body);
    loop {
        let declared = plan
            .returns
            .as_ref()
            .map(|returns| found.types.resolve(returns, &mut found.diagnostics));
        let mut checker = PlanChecker {
            shared,
            own,
            circular,
            types: &mut found.types,
            diagnostics: &mut found.diagnostics,
            used: &mut found.called,
            names: Names::new(
                shared.namespaces.keys().cloned(),
                names.clone(),
                contexts.facts(),
            ),
            allow: None,
            agents_verify: None,
            blocks: Blocks::default(),
            tasks: Vec::new(),
            contexts,
            plans: Vec::new(),
            declared,
            replies: Vec::new(),
            read: HashSet::default(),
            valued: HashSet::default(),
            candidates: Candidates::default(),
            ambiguous: BTreeSet::new(),
            statement: None,
            unconditional: false,
            undoing: false,
        };
        let result = check_plan_of_item(&mut checker, item, plan);
        contexts = checker.contexts;
        if !contexts.next_round() {
            return result;
        }
        found.diagnostics.clear();
    }
}

fn check_plan_of_item(checker: &mut PlanChecker<'_>, item: &ast::Item, plan: &ast::Plan) -> Plan {
    checker.open_block(BlockKind::Plan, None, &plan.body.statements);
    let mut parameters = check_parameters(checker, &plan.parameters);
    let (policy, allow) = check_head(checker, &plan.body);
    checker.allow = allow;
    checker.agents_verify = policy.agents_verify;
    check_statements(checker, &plan.body.statements);
    let does = checker
        .close_block()
        .map_or(Footprint::none(), |block| block.does);
    form_to_argument::record_passed_arguments(&mut parameters, &checker.blocks.all, &checker.plans);
    let always = plan
        .body
        .statements
        .iter()
        .any(|statement| ends(statement, BlockKind::Plan));
    check_replies_always(checker, plan, always);
    report_unread(checker, plan);
    let absent = if always { None } else { Some(Type::Null) };
    let returns = checker.declared.clone();
    let mut digest = blake3::Hasher::new();
    digest.update(checker.shared.source.slice(item.span).as_bytes());
    for plan in &checker.plans {
        digest.update(plan.digest.as_bytes());
    }
    let plan = Plan {
        name: plan.name.text.clone(),
        doc: item.doc.clone(),
        span: plan.name.span,
        source: checker.shared.source.clone(),
        digest: digest.finalize().to_hex().as_str().into(),
        parameters,
        returns: returns
            .unwrap_or_else(|| Type::union(checker.replies.iter().cloned().chain(absent))),
        policy,
        allow: checker.allow.take(),
        blocks: std::mem::take(&mut checker.blocks.all),
        tasks: std::mem::take(&mut checker.tasks),
        does,
        plans: std::mem::take(&mut checker.plans),
    };
    check_payloads(&plan, checker.diagnostics);
    plan
}

fn check_parameters(
    checker: &mut PlanChecker<'_>,
    parameters: &[ast::Parameter],
) -> Vec<PlanParameter> {
    let mut outcome = Vec::new();
    for parameter in parameters {
        checker.claim("parameter", &parameter.name, NameKind::Parameter);
        let ty = checker.types.resolve(&parameter.ty, checker.diagnostics);
        let default = parameter.default.as_ref().map(|default| {
            let what = format_args!("the default of `{}`", parameter.name.text);
            checker.value_of(default, &ty, Expectation::default(&what))
        });
        let optional = parameter.optional || is_optional(&parameter.ty);
        let seen = if optional && default.is_none() {
            Type::union([ty.clone(), Type::Null])
        } else {
            ty.clone()
        };
        checker.introduce(&parameter.name, NameKind::Parameter, seen);
        let required = !optional && default.is_none();
        let sensitive = checker.types.secrets(&parameter.ty);
        let name = parameter.name.text.clone();
        outcome.push(PlanParameter {
            name,
            ty,
            required,
            default,
            sensitive,
            passed_on: Vec::new(),
        });
    }
    outcome
}

/// Checks the settings at the head of a plan; reports a second one of the same kind.
fn check_head(checker: &mut PlanChecker<'_>, body: &ast::Block) -> (Policy, Option<Grant>) {
    let (mut policy, mut allow) = (None, None);
    for statement in &body.statements {
        let repeated = match &statement.kind {
            ast::StatementKind::Policy(settings) => policy
                .replace(checker.settings().policy(settings))
                .is_some(),
            ast::StatementKind::Allow(settings) => {
                allow.replace(checker.settings().allow(settings)).is_some()
            }
            _ => false,
        };
        if repeated {
            let message = "these settings occur twice in this plan";
            let diagnostic = codes::text::DUPLICATE_CLAUSE.at(statement.span, message);
            checker.report(diagnostic.help("merge them into one"));
        }
    }
    (policy.unwrap_or_default(), allow)
}

fn check_replies_always(checker: &mut PlanChecker<'_>, plan: &ast::Plan, always: bool) {
    let damaged = plan
        .body
        .statements
        .iter()
        .any(|statement| matches!(statement.kind, ast::StatementKind::Error));
    let required = match &checker.declared {
        Some(ty) => {
            !always && !ty.admits_null() && !matches!(ty, Type::Any | Type::Invalid | Type::Never)
        }
        None => false,
    };
    if !required || damaged {
        return;
    }
    let ty = checker
        .declared
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    let message = format!(
        "`{}` declares a reply of type {ty}, but not every path replies",
        plan.name.text
    );
    let end = plan.body.span.end.saturating_sub(1) as usize;
    let diagnostic = codes::types::MISSING_REPLY
        .at(plan.name.span, message)
        .label(Span::at(end), "this end is reached without a reply")
        .help("end the plan with `reply …`, or end the other paths with `fail`");
    checker.report(diagnostic);
}
