//! Lint rules for checked plans, which find well-typed code that fails, does harm or wastes resources when it runs.
//!
//! All commands check plans with [`check_file`]. A rule inspects one plan of the file and reports only what it can
//! prove: an error holds under every assumption about what is unknown.

mod allow;
mod consequences;
mod flow;
mod gate;
mod lower_bounds;
mod observed;
mod passed;
mod raises;
mod reach;
mod rules;
mod subject;
mod suspicion;
mod weakened;

use std::path::Path;
use std::sync::Arc;

use foldhash::HashSet;

use crate::diag::{Code, Diagnostic, Severities, Severity, codes};
use crate::eval::Constants;
use crate::permission::{PathResolver, Permissions};
use crate::sema::{self, Budget, CheckedFile, Files, Policy, Tools};
use crate::source::{SourceFile, SpanIndex};
use crate::syntax;
use crate::types::Signature;
use subject::Subject;

pub use suspicion::suspicions;

/// The settings of the project that apply to all its plans.
#[derive(Clone, Copy)]
pub struct Project<'a> {
    /// Defaults for the policies of plans.
    pub policy: &'a Policy,
    /// Limits of every run.
    pub limits: &'a Budget,
    /// The maximum permissions of any plan; `None` if the project does not limit them.
    pub allow: Option<&'a Permissions>,
    /// The base of relative paths.
    pub root: &'a Path,
    /// Resolves links and `..` in the file system.
    pub paths: &'a dyn PathResolver,
    /// The tools that the project implements; `None` for plans without a project, which may be meant for any.
    pub tools: Option<&'a Tools>,
    /// Determines which optional codes are enabled; `None` for none.
    pub severities: Option<&'a Severities>,
    /// The settings of the project for calls, if it has any.
    pub calls: Option<&'a dyn CallSettings>,
    /// Whether a model has written the text. Its `tool` items must not weaken any contract.
    pub by_model: bool,
    /// Whether the text is that of a single call, which nobody has written: only the project can allow what it needs.
    pub is_call: bool,
}

/// The settings of a project for the calls of its tools.
pub trait CallSettings: Sync {
    /// Returns true if a person has to confirm each call of a tool.
    fn confirms(&self, tool: &Signature) -> bool;

    /// Returns true if failed calls of a tool are repeated, whatever its effect class is.
    fn retries(&self, tool: &Signature) -> bool;

    /// Returns why the project has no model that answers a prompt, for the model that the prompt names, if any; `None`
    /// if it has one, or if its settings do not decide that.
    fn lacks_model(&self, prompt: &Signature, model: Option<&str>) -> Option<String>;
}

/// Checks one file completely: text, names and types, then all rules for each of its plans, then its `allow` comments.
#[must_use]
pub fn check_file(
    source: &SourceFile,
    tools: &Tools,
    files: &dyn Files,
    project: &Project<'_>,
) -> CheckedFile {
    let mut checked = sema::check_without_rules(source, tools, files);
    let errors = checked.diagnostics.iter().filter(|found| found.is_error());
    let errors: SpanIndex = errors.map(|found| found.span).collect();
    let mut found = apply_rules(source, &checked, &errors, project);
    found.extend(weakened::find(&checked, tools, project.by_model));
    if !found.is_empty() {
        sema::tidy_removals(source, &mut found);
        checked.diagnostics.extend(found);
    }
    observed::check(source, (tools, files), &mut checked);
    consequences::remove(source, &mut checked);
    // After everything else, so that it sees all diagnostics.
    allow::apply(source, &mut checked);
    syntax::json::fit_fixes(source, &mut checked.diagnostics);
    checked
        .diagnostics
        .sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.end));
    checked
}

/// Returns errors for what would make a run of a plan fail midway, whatever the data: calls of unimplemented tools, and
/// constants without permission. `allow` comments are ignored.
#[must_use]
pub fn obstacles(
    source: &SourceFile,
    checked: &CheckedFile,
    plan: &sema::Plan,
    project: &Project<'_>,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if let Some((plan, written)) = checked
        .plans_as_written()
        .find(|(own, _)| own.name == plan.name)
    {
        let subject = Subject::new(source, written, plan, checked.whole, true, (project, WORK));
        for check in rules::OBSTACLES {
            check(&subject, &mut found);
        }
    }
    for finding in &mut found {
        finding.severity = Severity::Error;
    }
    found
}

/// Maximum amount of work to evaluate the constant expressions of a file, and the minimum for each of its plans.
const WORK: u64 = 8_000_000;
const MIN_WORK: u64 = 2_000;

/// Applies the rules to the plans of this file; imported plans are checked with their own file. `errors` are the spans
/// of the errors found so far.
fn apply_rules(
    source: &SourceFile,
    checked: &CheckedFile,
    errors: &SpanIndex,
    project: &Project<'_>,
) -> Vec<Diagnostic> {
    let plans = checked.plans_as_written().collect::<Vec<_>>();
    let work = (WORK / (plans.len() as u64).max(1)).max(MIN_WORK);
    let found = syntax::map_parts(source, &plans, |(plan, written)| {
        let text = written.name.span.start..written.body.span.end;
        let sound = checked.whole && !errors.any_begins_in(text);
        inspect_plan(&Subject::new(
            source,
            written,
            plan,
            checked.whole,
            sound,
            (project, work),
        ))
    });
    let mut found = found.into_iter().flatten().collect::<Vec<_>>();
    found.extend(failures_in_tests(checked, work));
    // An expression with another error need not be reported as failing as well.
    found.retain(|finding| {
        *finding.code != codes::order::CONSTANT_FAILURE || !errors.any_overlaps(finding.span)
    });
    // The failure of a caller undoes what the listeners of a called plan did.
    let called = called_in_file(checked);
    found.retain(|finding| {
        *finding.code != codes::failure::UNDO_NEVER_RUNS || !called.any_contains(finding.span)
    });
    once_a_tool(&mut found);
    found
}

/// Returns the bodies of the plans that another plan of the file calls.
fn called_in_file(checked: &CheckedFile) -> SpanIndex {
    let called = checked.plans.iter().flat_map(|plan| &plan.plans);
    let called = called.map(Arc::as_ptr).collect::<HashSet<_>>();
    checked
        .plans_as_written()
        .filter(|(plan, _)| called.contains(&std::ptr::from_ref(*plan)))
        .map(|(_, written)| written.body.span)
        .collect()
}

/// Reports expressions in the tests of a file that always fail.
fn failures_in_tests(checked: &CheckedFile, work: u64) -> Vec<Diagnostic> {
    let mut codes = Vec::new();
    checked
        .tests
        .iter()
        .for_each(|test| test.codes(&mut |code| codes.push(code)));
    Constants::failures_in(codes, work)
        .iter()
        .map(rules::always_fails)
        .collect()
}

fn inspect_plan(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let asked = |code: &Code| {
        subject
            .project
            .severities
            .is_some_and(|severities| severities.enables(code))
    };
    for rule in rules::RULES {
        if rule.codes.iter().all(|code| code.optional && !asked(code)) {
            continue;
        }
        let before = found.len();
        (rule.check)(subject, &mut found);
        debug_assert!(
            found
                .iter()
                .skip(before)
                .all(|finding| rule.codes.contains(&finding.code)),
            "a rule reports its own codes"
        );
    }
    found
}

/// Keeps only the first `effect-unknown` of each tool.
fn once_a_tool(found: &mut Vec<Diagnostic>) {
    let mut reported = HashSet::default();
    found.retain(|finding| {
        finding.code != &codes::effects::EFFECT_UNKNOWN || reported.insert(finding.message.clone())
    });
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::sema::NoFiles;

    /// Visiting every error for every plan and diagnostic would take millions of visits.
    #[test]
    fn a_file_of_many_broken_plans_visits_few_errors_for_each() {
        const PLANS: usize = 2000;
        let mut text = String::new();
        for index in 0..PLANS {
            write!(
                text,
                "plan p{index}(total: int) -> int {{\n    let parts = 0\n    let share = total / parts\n    \
                 reply share + missing\n}}\n"
            )
            .unwrap();
        }
        let source = SourceFile::new("broken.plan", text);
        let project = Project {
            limits: &Budget::default(),
            policy: &Policy::default(),
            allow: None,
            root: Path::new("/"),
            paths: &NoFiles,
            tools: None,
            severities: None,
            calls: None,
            by_model: false,
            is_call: false,
        };
        let checked = sema::check_without_rules(&source, &Tools::default(), &NoFiles);
        let errors = checked.diagnostics.iter().filter(|found| found.is_error());
        let spans: Vec<_> = errors.map(|found| found.span).collect();
        assert!(spans.len() >= PLANS, "{} errors", spans.len());
        let errors: SpanIndex = spans.into_iter().collect();
        let found = apply_rules(&source, &checked, &errors, &project);
        let fails = |finding: &&Diagnostic| *finding.code == codes::order::CONSTANT_FAILURE;
        assert_eq!(found.iter().filter(fails).count(), PLANS);
        let visits = usize::try_from(errors.visits()).unwrap();
        // One search for each plan, and one for each expression that always fails.
        assert!((PLANS..PLANS * 2 * 13).contains(&visits), "{visits} visits");
    }
}
