//! Rules over checked plans: what is well typed, and still fails, harms or costs when it runs.
//!
//! [`check_file`] is how every command checks a plan. A rule looks at one plan of the file and reports what it can prove:
//! an error holds under every assumption about what is unknown, and where a rule cannot know it is silent.

mod allow;
mod flow;
mod gate;
mod least;
mod observed;
mod raises;
mod reach;
mod rules;
mod subject;
mod suspicion;

use std::path::Path;

use foldhash::HashSet;

use crate::diag::{Code, Diagnostic, Severities, Severity, codes};
use crate::eval::Constants;
use crate::permission::{PathResolver, Permissions};
use crate::sema::{self, Budget, CheckedFile, Files, Policy, Tools};
use crate::source::{SourceFile, SpanIndex};
use crate::syntax;
use subject::Subject;

pub use suspicion::suspicions;

/// What the project says of all its plans.
#[derive(Clone, Copy)]
pub struct Project<'a> {
    /// What plans leave out.
    pub policy: &'a Policy,
    /// The most that a run of any plan may use.
    pub limits: &'a Budget,
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
    let errors = checked.diagnostics.iter().filter(|found| found.is_error());
    let errors: SpanIndex = errors.map(|found| found.span).collect();
    let mut found = apply_rules(source, &checked, &errors, project);
    if !found.is_empty() {
        sema::tidy_removals(source, &mut found);
        checked.diagnostics.extend(found);
    }
    observed::look(source, (tools, files), &mut checked);
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
const MIN_WORK: u64 = 2_000;

/// What the rules find in the plans of this file; those of other files are checked with theirs. `errors` are the places of
/// the errors that were found before.
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
    found.extend(lost_in_tests(checked, work));
    // What is wrong in itself may well fail, too.
    found.retain(|finding| {
        *finding.code != codes::order::CONSTANT_FAILURE || !errors.any_overlaps(finding.span)
    });
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

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::io;
    use std::path::PathBuf;

    use super::*;

    struct Nothing;

    impl Files for Nothing {
        fn read(&self, _from: &str, path: &str) -> Result<SourceFile, String> {
            Err(format!("`{path}` is not there"))
        }
    }

    impl PathResolver for Nothing {
        fn canonical(&self, _path: &Path) -> io::Result<PathBuf> {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    /// With a look at each error for each plan and each finding there would be millions of visits.
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
            paths: &Nothing,
            tools: None,
            severities: None,
        };
        let checked = sema::check_without_rules(&source, &Tools::default(), &Nothing);
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
