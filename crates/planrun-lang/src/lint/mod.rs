//! Rules over checked plans: what is well typed, and still fails, harms or costs when it runs.
//!
//! [`check_file`] is how every command checks a plan. A rule looks at one plan of the file and reports what it can prove:
//! an error holds under every assumption about what is unknown, and where a rule cannot know it is silent.

mod allow;
mod flow;
mod gate;
mod least;
mod origin;
mod raises;
mod reach;
mod rules;
mod subject;

use std::path::Path;

use foldhash::HashSet;

use crate::diag::{Code, Diagnostic, Severities, Severity, codes};
use crate::eval::Constants;
use crate::permission::{PathResolver, Permissions};
use crate::sema::{self, CheckedFile, Files, Policy, Tools};
use crate::source::{SourceFile, Span};
use crate::syntax;
use subject::Subject;

/// What the project says of all its plans.
#[derive(Clone, Copy)]
pub struct Project<'a> {
    /// What plans leave out.
    pub policy: &'a Policy,
    /// The most that any plan may reach; `None` where the project does not say.
    pub allow: Option<&'a Permissions>,
    /// Where relative paths begin.
    pub root: &'a Path,
    /// Where links and `..` of the file system lead.
    pub paths: &'a dyn PathResolver,
    /// The tools that it implements; `None` for plans without a project, which may be meant for any.
    pub tools: Option<&'a Tools>,
    /// Who asks for codes that are reported on request only.
    pub severities: Option<&'a Severities>,
}

/// Checks one file completely: its text, names and types, then every rule over each of its plans, then what its comments
/// allow.
#[must_use]
pub fn check_file(
    source: &SourceFile,
    tools: &Tools,
    files: &dyn Files,
    project: &Project<'_>,
) -> CheckedFile {
    let mut checked = sema::check_without_rules(source, tools, files);
    let mut found = look(source, &checked, project);
    if !found.is_empty() {
        sema::tidy_removals(source, &mut found);
        checked.diagnostics.extend(found);
    }
    // Last, so that it sees everything.
    allow::apply(source, &mut checked);
    syntax::json::fit_fixes(source, &mut checked.diagnostics);
    checked
        .diagnostics
        .sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.end));
    checked
}

/// What would make a run of a plan fail in the middle, whatever the data: calls that nothing implements, and constants that
/// are not allowed. Comments that keep findings quiet change nothing of that.
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
        for look in rules::OBSTACLES {
            look(&subject, &mut found);
        }
    }
    for finding in &mut found {
        finding.severity = Severity::Error;
    }
    found
}

/// How much is evaluated at most to know what the expressions of a file come to, and for a plan of a file of very many.
const WORK: u64 = 8_000_000;
const LEAST_WORK: u64 = 2_000;

/// What the rules find in the plans of this file; those of other files are looked at with their own.
fn look(source: &SourceFile, checked: &CheckedFile, project: &Project<'_>) -> Vec<Diagnostic> {
    let errors = checked
        .diagnostics
        .iter()
        .filter(|found| found.is_error())
        .map(|found| found.span);
    let errors = errors.collect::<Vec<_>>();
    let plans = checked.plans_as_written().collect::<Vec<_>>();
    let work = (WORK / (plans.len() as u64).max(1)).max(LEAST_WORK);
    let found = syntax::map_parts(source, &plans, |(plan, written)| {
        let inside = |error: &Span| {
            error.start >= written.name.span.start && error.start < written.body.span.end
        };
        let sound = checked.whole && !errors.iter().any(inside);
        look_at_plan(&Subject::new(
            source,
            written,
            plan,
            checked.whole,
            sound,
            (project, work),
        ))
    });
    let mut found = found.into_iter().flatten().collect::<Vec<_>>();
    found.extend(lost_in_tests(checked, work));
    // What is wrong in itself may well fail, too.
    let told = |span: Span| {
        errors
            .iter()
            .any(|error| error.start < span.end && span.start < error.end)
    };
    found.retain(|finding| *finding.code != codes::order::CONSTANT_FAILURE || !told(finding.span));
    once_a_tool(&mut found);
    found
}

/// What always fails in the tests of a file.
fn lost_in_tests(checked: &CheckedFile, work: u64) -> Vec<Diagnostic> {
    let mut codes = Vec::new();
    checked
        .tests
        .iter()
        .for_each(|test| test.codes(&mut |code| codes.push(code)));
    Constants::lost_in(codes, work)
        .iter()
        .map(rules::always_fails)
        .collect()
}

fn look_at_plan(subject: &Subject<'_>) -> Vec<Diagnostic> {
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
        (rule.look)(subject, &mut found);
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

/// Leaves the first of what is said of a tool as such.
fn once_a_tool(found: &mut Vec<Diagnostic>) {
    let mut told = HashSet::default();
    found.retain(|finding| {
        finding.code != &codes::effects::EFFECT_UNKNOWN || told.insert(finding.message.clone())
    });
}
