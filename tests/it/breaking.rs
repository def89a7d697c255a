//! `planrun breaking`: pairs of plans with the expected changes, laws over generated plans, and real git repositories.
//!
//! A folder in `tests/fixtures/breaking` has `old.plan` and `new.plan`, and `expected.txt` with one line per change, in
//! both directions. `PLANRUN_BLESS=1` rewrites the expected files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use planrun_lang::lint;
use planrun_lang::permission::Permissions;
use planrun_lang::sema::{CheckedFile, Files, Policy, Tools};
use planrun_lang::source::SourceFile;
use planrun_test::breaking::{Comparison, Finding, Version, compare, kind};
use planrun_tools::host::MemoryHost;
use planrun_tools::tools::Catalog;
use tempfile::TempDir;

use crate::generate::{Project, Size, mutated, project};
use crate::generated::correct;
use crate::generated::project_context::{ProjectContext, seeds};
use crate::support::{self, Output, folder, planrun, root};

/// Number of generated plans that are compared.
const PLANS: u64 = 2000;

#[test]
fn fixtures_tell_what_changed() {
    let mut folders: Vec<_> = std::fs::read_dir(root().join("tests/fixtures/breaking"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    folders.sort();
    let (mut faults, mut reported) = (Vec::new(), BTreeSet::new());
    for folder in folders {
        let (old, new) = (
            checked(&folder.join("old.plan")),
            checked(&folder.join("new.plan")),
        );
        let (there, back) = (version(&old, &new), version(&new, &old));
        reported.extend(
            there
                .findings
                .iter()
                .chain(&back.findings)
                .map(|found| found.kind.name()),
        );
        faults.extend(
            exchanged(&there, &back)
                .map_err(|fault| format!("{}: {fault}", folder.display()))
                .err(),
        );
        let text = format!(
            "{}\nback:\n{}",
            listed(&there, &new.0),
            listed(&back, &old.0)
        );
        faults.extend(support::compare(&folder.join("expected.txt"), &text).err());
    }
    let silent: Vec<_> = kind::ALL
        .iter()
        .map(|kind| kind.name())
        .filter(|name| !reported.contains(name))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    assert!(silent.is_empty(), "no fixture shows {silent:?}");
}

/// Formats the changes of a fixture, one per line, with the line in the new file.
fn listed(comparison: &Comparison, today: &SourceFile) -> String {
    let mut text = String::new();
    for found in &comparison.findings {
        let line = found.now.map_or_else(
            || "-".to_owned(),
            |span| today.position(span.start).line.to_string(),
        );
        let (severity, kind, class) = (found.kind.severity(), found.kind.name(), found.kind.class);
        writeln!(
            text,
            "{severity} {class} {kind} {line}: {}: {}",
            found.plan, found.message
        )
        .unwrap();
    }
    for plan in &comparison.left_out {
        writeln!(text, "left out: {plan}").unwrap();
    }
    text
}

fn version(then: &(SourceFile, CheckedFile), now: &(SourceFile, CheckedFile)) -> Comparison {
    let version = |(source, checked)| Version { source, checked };
    compare(
        Some(version((&then.0, &then.1))),
        Some(version((&now.0, &now.1))),
    )
}

/// The files next to a fixture.
struct NeighbouringFiles<'a>(&'a Path);

impl Files for NeighbouringFiles<'_> {
    fn read(&self, _: &str, path: &str) -> Result<SourceFile, String> {
        let text = std::fs::read_to_string(self.0.with_file_name(path))
            .map_err(|error| error.to_string())?;
        Ok(SourceFile::new(path, text))
    }
}

/// Checks a fixture with the built-in tools. It must have no errors, unless its name contains `error`.
fn checked(path: &Path) -> (SourceFile, CheckedFile) {
    let host = MemoryHost::new(1);
    let catalog = Catalog::new(
        Arc::new(MemoryHost::new(1)),
        PathBuf::from("/"),
        &Arc::new(Permissions::none()),
    );
    let tools: Tools = catalog.signatures().cloned().collect();
    let policy = Policy::default();
    let rules = lint::Project {
        limits: &planrun_lang::sema::Budget::default(),
        policy: &policy,
        allow: None,
        root: Path::new("/"),
        paths: &host,
        tools: None,
        severities: None,
        calls: None,
        by_model: false,
        is_call: false,
    };
    let source = SourceFile::new("a.plan", std::fs::read_to_string(path).unwrap());
    let checked = lint::check_file(&source, &tools, &NeighbouringFiles(path), &rules);
    let errors: Vec<_> = checked
        .diagnostics
        .iter()
        .filter(|found| found.is_error())
        .map(|found| &found.message)
        .collect();
    let wrong = path.display().to_string().contains("error");
    assert!(
        errors.is_empty() || wrong,
        "{}: {errors:#?}",
        path.display()
    );
    (source, checked)
}

/// Returns the kinds that a kind corresponds to in the other direction.
fn mirror(name: &str) -> &'static [&'static str] {
    match name {
        "plan-removed" => &["plan-added"],
        "plan-added" => &["plan-removed"],
        "input-removed" => &["input-added-required", "input-added-optional"],
        "input-added-required" | "input-added-optional" => &["input-removed"],
        "input-narrowed" => &["input-widened"],
        "input-widened" => &["input-narrowed"],
        "input-changed" => &["input-changed"],
        "input-required" => &["input-optional"],
        "input-optional" => &["input-required"],
        "default-added" => &["default-removed"],
        "default-changed" => &["default-changed"],
        "default-removed" => &["default-added"],
        "input-became-secret" => &["input-became-public"],
        "input-became-public" => &["input-became-secret"],
        "reply-widened" => &["reply-narrowed"],
        "reply-narrowed" => &["reply-widened"],
        "reply-changed" => &["reply-changed"],
        "reply-field-removed" => &["reply-field-added"],
        "reply-field-added" => &["reply-field-removed"],
        "effect-raised" => &["effect-lowered"],
        "effect-lowered" => &["effect-raised"],
        "call-added" => &["call-removed"],
        "call-removed" => &["call-added", "irreversible-unconfirmed"],
        "irreversible-unconfirmed" => &["call-removed", "confirm-added"],
        "permission-added" => &["permission-removed"],
        "permission-removed" => &["permission-added"],
        "tool-added" => &["tool-removed"],
        "tool-removed" => &["tool-added"],
        "tool-effect-raised" => &["tool-effect-lowered"],
        "tool-effect-lowered" => &["tool-effect-raised"],
        "tool-arguments-narrowed" => &["tool-arguments-widened", "tool-arguments-narrowed"],
        "tool-arguments-widened" => &["tool-arguments-narrowed"],
        "tool-result-widened" => &["tool-result-narrowed", "tool-result-widened"],
        "tool-result-narrowed" => &["tool-result-widened"],
        "error-added" => &["error-removed"],
        "error-removed" => &["error-added"],
        "confirm-removed" => &["confirm-added"],
        "confirm-added" => &["confirm-removed", "irreversible-unconfirmed"],
        "role-changed" => &["role-changed"],
        "form-removed" => &["form-added"],
        "form-added" => &["form-removed"],
        "form-narrowed" => &["form-widened", "form-narrowed"],
        "form-widened" => &["form-narrowed"],
        "task-removed" => &["task-added"],
        "task-added" => &["task-removed"],
        "status-removed" => &["status-added"],
        "status-added" => &["status-removed"],
        "signal-removed" => &["signal-added"],
        "signal-added" => &["signal-removed"],
        "signal-narrowed" => &["signal-widened", "signal-narrowed"],
        "signal-widened" => &["signal-narrowed"],
        _ => &[],
    }
}

/// Checks that every change has a counterpart in the other direction.
fn exchanged(there: &Comparison, back: &Comparison) -> Result<(), String> {
    let pair = |one: &Finding, other: &Finding| {
        (&one.plan, &one.subject) == (&other.plan, &other.subject)
            && mirror(one.kind.name()).contains(&other.kind.name())
    };
    for (these, those) in [(there, back), (back, there)] {
        for found in &these.findings {
            if !those.findings.iter().any(|other| pair(found, other)) {
                return Err(format!(
                    "nothing answers to {} `{}`: {}",
                    found.kind.name(),
                    found.subject,
                    found.message
                ));
            }
        }
    }
    // The order of plans is that of the newer file.
    let left_out =
        |comparison: &Comparison| comparison.left_out.iter().cloned().collect::<BTreeSet<_>>();
    if left_out(there) != left_out(back) || there.findings.len() != back.findings.len() {
        return Err(format!(
            "{} one way, {} the other",
            there.findings.len(),
            back.findings.len()
        ));
    }
    Ok(())
}

fn made(seed: u64) -> Project {
    let large = seed.is_multiple_of(10);
    let size = if large { Size::USUAL } else { Size::SMALL };
    project(
        seed,
        Size {
            whole_language: true,
            network: true,
            ..size
        },
    )
}

fn checked_project(project: &Project) -> (SourceFile, CheckedFile) {
    (
        SourceFile::new("main.plan", project.main()),
        ProjectContext::of(project).check(project),
    )
}

#[test]
fn a_plan_does_not_differ_from_itself() {
    let (base, count) = seeds(PLANS);
    for seed in base..base + count {
        let (one, other) = (checked_project(&made(seed)), checked_project(&made(seed)));
        let found = version(&one, &other);
        let error = one
            .1
            .diagnostics
            .iter()
            .find(|found| found.is_error())
            .map(|error| correct::describe(&made(seed), seed, error));
        assert!(
            found.findings.is_empty() && found.left_out.is_empty(),
            "seed {seed}: {found:?}: {error:?}"
        );
        assert!(found.plans > 0);
    }
}

#[test]
fn what_is_added_one_way_is_removed_the_other_way() {
    let (base, count) = seeds(PLANS);
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in base..base + count {
        let before = made(seed);
        let next = if seed.is_multiple_of(2) {
            mutated(&before, seed)
        } else {
            made(seed + 1)
        };
        let (one, other) = (checked_project(&before), checked_project(&next));
        let (there, back) = (version(&one, &other), version(&other, &one));
        if let Err(fault) = exchanged(&there, &back) {
            panic!("seed {seed}: {fault}");
        }
        there
            .findings
            .iter()
            .for_each(|found| *kinds.entry(found.kind.name()).or_default() += 1);
    }
    println!("{count} pairs of plans from seed {base}: {kinds:?}");
}

/// Returns a git repository with these files committed. `None` if git is not available, which is reported.
fn repository(files: &[(&str, &str)]) -> Option<TempDir> {
    if Command::new("git").arg("--version").output().is_err() {
        crate::support::left_out("there is no git on this machine");
        return None;
    }
    let folder = folder(files.iter().copied());
    git(
        folder.path(),
        &["init", "--quiet", "--initial-branch", "main"],
    );
    commit(folder.path());
    Some(folder)
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args([
        "-c",
        "user.name=somebody",
        "-c",
        "user.email=somebody@example.com",
        "-c",
        "commit.gpgsign=false",
    ]);
    command
        .args(["-c", "tag.gpgsign=false", "-c", "core.hooksPath=/dev/null"])
        .args(arguments)
        .current_dir(folder);
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn commit(folder: &Path) {
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "--message", "as it was"]);
}

fn write(folder: &TempDir, files: &[(&str, &str)]) {
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
}

fn run_breaking(folder: &TempDir, arguments: &[&str]) -> Output {
    planrun(["breaking"].iter().chain(arguments))
        .within(folder.path())
        .run()
}

fn kinds_of(output: &Output) -> Vec<String> {
    let changes = output.json()["changes"].as_array().unwrap().clone();
    changes
        .iter()
        .map(|change| change["kind"].as_str().unwrap().to_owned())
        .collect()
}

const ORDER: &str = "plan order(id: int) -> int {\n    reply id\n}\n";
const ORDER_NOW: &str =
    "plan order(id: int, express: bool) -> int {\n    reply express ? id : 0\n}\n";

#[test]
fn people_see_the_lines_of_today_and_the_place_of_then() {
    let Some(folder) = repository(&[("a.plan", ORDER), ("gone.plan", "plan gone() {}\n")]) else {
        return;
    };
    write(&folder, &[("a.plan", ORDER_NOW)]);
    std::fs::remove_file(folder.path().join("gone.plan")).unwrap();
    let output = run_breaking(&folder, &["--against", "main"]);
    assert_eq!(output.status, 1);
    let expected = "\
order in a.plan: 1 breaking, 0 compatible

inputs

breaking[input-added-required]

  × the input `express` was added and is required
   ╭─[a.plan:1:21]
 1 │ plan order(id: int, express: bool) -> int {
   ·                     ─────────────
 2 │     reply express ? id : 0
   ╰────
  for:  callers
  then: main:a.plan:1:6

gone in gone.plan: 1 breaking, 0 compatible

plans

breaking[plan-removed]

  × the plan `gone` was removed
   ╭─[main:gone.plan:1:6]
 1 │ plan gone() {}
   ·      ────
   ╰────
  for:  callers
  then: main:gone.plan:1:6

";
    assert_eq!(output.stdout, expected);
    assert_eq!(
        output.stderr,
        "2 breaking and 0 compatible changes in 2 plans since main\n"
    );
    let accepted = run_breaking(
        &folder,
        &[
            "--against",
            "main",
            "--allow",
            "plan-removed,input-added-required",
        ],
    );
    assert_eq!((accepted.status, accepted.stdout.as_str()), (0, ""));
    assert_eq!(
        accepted.stderr,
        "no relevant changes in 2 plans since main, 2 accepted\n"
    );
}

#[test]
fn programs_get_one_document_and_workflows_get_commands() {
    let Some(folder) = repository(&[("a.plan", ORDER), ("gone.plan", "plan gone() {}\n")]) else {
        return;
    };
    write(&folder, &[("a.plan", ORDER_NOW)]);
    std::fs::remove_file(folder.path().join("gone.plan")).unwrap();
    let output = run_breaking(&folder, &["--against", "HEAD", "--format", "json"]);
    let mut document = output.json();
    assert_eq!(document["against"]["commit"].as_str().unwrap().len(), 40);
    document["against"]["commit"] = "…".into();
    let point = |line: u32, column: u32, offset: u32| serde_json::json!({"line": line, "column": column, "offset": offset});
    let expected = serde_json::json!({
        "version": 1,
        "against": {"revision": "HEAD", "commit": "…"},
        "summary": {"plans": 2, "breaking": 2, "compatible": 0, "accepted": 0},
        "changes": [
            {"kind": "input-added-required", "class": "inputs", "severity": "breaking", "concerns": "callers",
             "file": "a.plan", "plan": "order", "subject": "express",
             "message": "the input `express` was added and is required",
             "span": {"start": point(1, 21, 20), "end": point(1, 34, 33)},
             "then": {"start": point(1, 6, 5), "end": point(1, 11, 10)}},
            {"kind": "plan-removed", "class": "plans", "severity": "breaking", "concerns": "callers",
             "file": "gone.plan", "plan": "gone", "subject": "gone", "message": "the plan `gone` was removed",
             "span": null, "then": {"start": point(1, 6, 5), "end": point(1, 10, 9)}},
        ],
        "left_out": [],
    });
    assert_eq!(document, expected);
    let commands = run_breaking(&folder, &["--against", "HEAD", "--format", "github"]);
    let expected = "\
::error file=a.plan,line=1,col=21,endLine=1,endColumn=34,title=input-added-required::the input `express` was added and is \
required%0Ahelp: breaking for callers, then at HEAD:a.plan:1:6
::error title=planrun::plan-removed: the plan `gone` was removed (breaking for callers, then at HEAD:gone.plan:1:6)
";
    assert_eq!(commands.stdout, expected);
}

/// Returns an app with one tool of this effect class and result.
fn app(class: &str, result: &str) -> String {
    format!(
        "name: shop\ntools:\n  - name: find\n    endpoint: http://127.0.0.1:9/tool\n    effect: {class}\n    parameters: \
         {{ type: object, properties: {{ id: {{ type: integer }} }}, required: [id] }}\n    returns: {{ type: object, \
         properties: {{ n: {{ type: {result} }} }}, required: [n] }}\n"
    )
}

#[test]
fn contracts_and_used_files_are_those_of_then() {
    let shop = app("read", "integer");
    let plan = "use shop\nuse \"./part.plan\" as part\n\nplan order(id: int) -> string {\n    step found = shop.find(id: id)\n    \
                step more = part.more(id: id)\n    reply string(found.n) + string(more)\n}\n";
    let part = "plan more(id: int) -> int {\n    reply id\n}\n";
    let files = [
        ("p/planrun.yaml", "apps: [tools/*.yaml]\n"),
        ("p/tools/shop.yaml", &shop),
        ("p/a.plan", plan),
    ];
    let Some(folder) = repository(&[&files[..], &[("p/part.plan", part)]].concat()) else {
        return;
    };
    let part = "use sys\n\nplan more(id: int) -> int {\n    step at = sys.now()\n    ensure at > timestamp(\"2020-01-01T00:00:00Z\") \
                else \"early\"\n    reply id\n}\n";
    // The folder of app files has another name in the new version.
    std::fs::rename(folder.path().join("p/tools"), folder.path().join("p/apps")).unwrap();
    let shop = app("effect", "number");
    write(
        &folder,
        &[
            ("p/planrun.yaml", ""),
            ("p/apps/shop.yaml", &shop),
            ("p/part.plan", part),
        ],
    );
    let output = run_breaking(
        &folder,
        &["--against", "HEAD", "--format", "json", "p/a.plan"],
    );
    let expected = [
        "effect-raised",
        "tool-effect-raised",
        "tool-result-widened",
        "tool-added",
        "error-added",
    ];
    let mut found = kinds_of(&output);
    found.sort_unstable();
    let mut expected = expected.map(str::to_owned).to_vec();
    expected.sort_unstable();
    assert_eq!((found, output.status), (expected, 1), "{}", output.stderr);
    // From another directory, with the project named.
    let above = planrun([
        "breaking",
        "--against",
        "HEAD",
        "--format",
        "json",
        "--project",
    ])
    .argument(folder.path().join("p"))
    .argument(folder.path().join("p/a.plan"))
    .run();
    assert_eq!(above.json()["summary"], output.json()["summary"]);
}

#[test]
fn files_come_and_go() {
    let files = [
        ("one/a.plan", ORDER),
        ("one/b.plan", ORDER),
        (".gitignore", "kept.plan\n"),
        ("kept.plan", ORDER),
    ];
    let Some(folder) = repository(&files) else {
        return;
    };
    git(folder.path(), &["add", "--force", "kept.plan"]);
    commit(folder.path());
    git(folder.path(), &["tag", "v1"]);
    std::fs::remove_dir_all(folder.path().join("one")).unwrap();
    std::fs::create_dir(folder.path().join("two")).unwrap();
    write(&folder, &[("two/c.plan", ORDER)]);
    commit(folder.path());
    let all = run_breaking(&folder, &["--against", "v1", "--format", "json"]);
    assert_eq!(
        kinds_of(&all),
        ["plan-removed", "plan-removed", "plan-added"],
        "what git ignores and holds is not gone"
    );
    let gone = run_breaking(&folder, &["--against", "v1", "--format", "json", "one"]);
    assert_eq!(kinds_of(&gone), ["plan-removed", "plan-removed"]);
    let inside = planrun([
        "breaking",
        "--against",
        "v1",
        "--format",
        "json",
        "../one/a.plan",
    ]);
    assert_eq!(
        inside.within(folder.path().join("two")).run().json()["changes"][0]["file"],
        "../one/a.plan"
    );
    let json = planrun(["export", "two/c.plan"])
        .within(folder.path())
        .run()
        .stdout;
    write(&folder, &[("two/c.plan.json", &json)]);
    let form = run_breaking(
        &folder,
        &["--against", "HEAD", "--format", "json", "two/c.plan.json"],
    );
    assert_eq!(
        (form.status, kinds_of(&form)),
        (0, vec!["plan-added".to_owned()])
    );
}

#[test]
fn links_lead_where_they_led() {
    let Some(folder) = repository(&[("real/a.plan", ORDER)]) else {
        return;
    };
    if std::os::unix::fs::symlink("real/a.plan", folder.path().join("link.plan")).is_err() {
        crate::support::left_out("no links on this file system");
        return;
    }
    commit(folder.path());
    write(&folder, &[("real/a.plan", ORDER_NOW)]);
    let output = run_breaking(
        &folder,
        &["--against", "HEAD", "--format", "json", "link.plan"],
    );
    assert_eq!(kinds_of(&output), ["input-added-required"]);
}

#[test]
fn a_version_with_errors_is_told_and_not_judged() {
    let broken = "plan order(id: int) -> int {\n    reply idd\n}\n";
    let Some(folder) = repository(&[("a.plan", broken)]) else {
        return;
    };
    write(&folder, &[("a.plan", ORDER_NOW)]);
    let then = run_breaking(&folder, &["--against", "HEAD"]);
    assert_eq!((then.status, then.stdout.as_str()), (0, ""));
    assert!(
        then.stderr
            .contains("`order` in a.plan is not compared: the file has errors at HEAD"),
        "{}",
        then.stderr
    );
    std::fs::write(folder.path().join("a.plan"), [0xff]).unwrap();
    commit(folder.path());
    write(&folder, &[("a.plan", ORDER)]);
    let no_text = run_breaking(&folder, &["--against", "HEAD", "--format", "json"]);
    assert_eq!(
        (no_text.status, kinds_of(&no_text)),
        (0, vec!["plan-added".to_owned()]),
        "what was no text was no plan"
    );
    commit(folder.path());
    write(&folder, &[("a.plan", broken)]);
    let now = run_breaking(&folder, &["--against", "HEAD", "--format", "json"]);
    assert_eq!(
        (now.status, now.json()["left_out"][0]["errors"].as_str()),
        (1, Some("now"))
    );
    assert!(now.stderr.contains("error[unknown-name]"), "{}", now.stderr);
}

#[test]
fn what_cannot_be_had_is_told_with_what_to_do() {
    let Some(repository) = repository(&[("a.plan", ORDER)]) else {
        return;
    };
    let unknown = run_breaking(&repository, &["--against", "v9"]);
    assert_eq!(unknown.status, 2);
    assert!(
        unknown
            .stderr
            .contains("there is no revision `v9`; list revisions with `git branch --all`"),
        "{}",
        unknown.stderr
    );
    for flag in ["--against=--help", "--against=-h"] {
        assert_eq!(
            run_breaking(&repository, &[flag]).status,
            2,
            "a revision is never a flag"
        );
    }
    let kind = run_breaking(
        &repository,
        &["--against", "HEAD", "--allow", "plan-remove"],
    );
    assert!(
        kind.status == 2 && kind.stderr.contains("did you mean `plan-removed`?"),
        "{}",
        kind.stderr
    );
    let absent = run_breaking(&repository, &["--against", "HEAD", "b.plan"]);
    assert!(
        absent.status == 3 && absent.stderr.contains("no file or folder `b.plan`"),
        "{}",
        absent.stderr
    );
    assert_eq!(
        run_breaking(&repository, &["--against", "HEAD", "-"]).status,
        2
    );
    assert_eq!(run_breaking(&repository, &[]).status, 2);
    let plain = folder([("a.plan", ORDER)]);
    let outside = planrun(["breaking", "--against", "HEAD"]).within(plain.path());
    let outside = outside
        .variable("GIT_CEILING_DIRECTORIES", plain.path().parent().unwrap())
        .run();
    assert!(
        outside.status == 3 && outside.stderr.contains("is not in a git repository"),
        "{}",
        outside.stderr
    );
    let no_git = planrun(["breaking", "--against", "HEAD"])
        .within(repository.path())
        .variable("PATH", "/nowhere")
        .run();
    assert!(
        no_git.status == 3 && no_git.stderr.contains("the program `git` was not found"),
        "{}",
        no_git.stderr
    );
    let other = planrun(["breaking", "--against", "HEAD", "a.plan"])
        .argument(plain.path())
        .within(repository.path())
        .run();
    assert!(
        other.status == 2 && other.stderr.contains("a different repository"),
        "{}",
        other.stderr
    );
}
