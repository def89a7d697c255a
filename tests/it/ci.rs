//! Tests of `docs/ci.md`: its script, the action and the workflow of a new project run here unchanged, by `bash`, with
//! the variables that a runner sets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value as Json;
use tempfile::TempDir;

use crate::support::{folder, planrun, root};

/// A change that breaks the plans of a new project.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Breakage {
    /// No change.
    Fine,
    /// A test fails.
    Test,
    /// The check finds an error.
    Plan,
    /// The check finds a warning.
    Warning,
}

/// Returns a new project with this change.
fn project(breakage: Breakage) -> TempDir {
    let place = folder([("readme.txt", "")]);
    assert_eq!(planrun(["init"]).within(place.path()).run().status, 0);
    let plan = place.path().join("plans/tidy.plan");
    let text = std::fs::read_to_string(&plan).unwrap();
    let changed = match breakage {
        Breakage::Fine => text.clone(),
        Breakage::Test => text.replace("== \"solved\"", "== \"closed\""),
        Breakage::Plan => text.replace("found.tickets.filter", "found.tickts.filter"),
        Breakage::Warning => text.replace("    reply {", "    let unread = 1\n    reply {"),
    };
    assert_eq!(breakage == Breakage::Fine, changed == text);
    std::fs::write(&plan, changed).unwrap();
    // The command line decides whether warnings are errors.
    let settings = read(place.path(), "planrun.yaml").replace("check: { deny: [warnings] }", "");
    std::fs::write(place.path().join("planrun.yaml"), settings).unwrap();
    place
}

/// A script to run by `bash` or another shell, with the built program as `planrun`.
struct Script<'a> {
    shell: &'a [&'a str],
    text: &'a str,
    within: &'a Path,
    variables: Vec<(String, String)>,
}

struct Ended {
    status: i32,
    stdout: String,
    stderr: String,
}

impl Script<'_> {
    fn run(&self) -> Ended {
        let kept = tempfile::tempdir().unwrap();
        let file = kept.path().join("script");
        std::fs::write(&file, self.text).unwrap();
        let built = Path::new(env!("CARGO_BIN_EXE_planrun")).parent().unwrap();
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new(self.shell[0]);
        command
            .args(&self.shell[1..])
            .arg(&file)
            .current_dir(self.within)
            .stdin(Stdio::null());
        command
            .env("PATH", format!("{}:{path}", built.display()))
            .env("NO_COLOR", "1");
        command
            .env_remove("CI")
            .env_remove("INSTA_UPDATE")
            .envs(self.variables.iter().cloned());
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ended {
            status: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

/// The command line of GitHub's runners for `bash`.
const BASH: [&str; 5] = ["bash", "--noprofile", "--norc", "-eo", "pipefail"];

fn read(place: &Path, name: &str) -> String {
    std::fs::read_to_string(place.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the number of findings in a SARIF report.
fn found(place: &Path, name: &str) -> usize {
    let report: Json = serde_json::from_str(&read(place, name)).unwrap();
    report["runs"][0]["results"].as_array().unwrap().len()
}

/// Returns the code blocks of the page in this language.
fn blocks(language: &str) -> Vec<String> {
    let page = std::fs::read_to_string(root().join("docs/ci.md")).unwrap();
    let fence = format!("\n```{language}\n");
    page.split(&fence)
        .skip(1)
        .map(|rest| format!("{}\n", rest.split("\n```").next().unwrap()))
        .collect()
}

fn yaml(text: &str) -> Json {
    serde_yaml::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn the_script_writes_its_reports_and_then_fails_where_something_failed() {
    let [script] = &blocks("sh")[..] else {
        panic!("docs/ci.md has one script")
    };
    // Some services stop at the first command that fails.
    for shell in [&BASH[..], &["bash"], &["sh", "-eu"]] {
        for (breakage, status) in [
            (Breakage::Fine, 0),
            (Breakage::Test, 1),
            (Breakage::Plan, 1),
            (Breakage::Warning, 1),
        ] {
            let place = project(breakage);
            let ended = Script {
                shell,
                text: script,
                within: place.path(),
                variables: Vec::new(),
            }
            .run();
            assert_eq!(
                ended.status, status,
                "{shell:?} {breakage:?}: {}{}",
                ended.stdout, ended.stderr
            );
            let tests = read(place.path(), "reports/tests.xml");
            let finds = matches!(breakage, Breakage::Plan | Breakage::Warning);
            assert_eq!(found(place.path(), "reports/check.sarif") > 0, finds);
            assert_eq!(
                tests.contains("<failure"),
                breakage == Breakage::Test,
                "{tests}"
            );
            assert_eq!(
                tests.contains("<error"),
                breakage == Breakage::Plan,
                "{tests}"
            );
            assert!(
                read(place.path(), "reports/lcov.info").contains("end_of_record")
                    || breakage == Breakage::Plan
            );
            // The log contains the cause.
            let messages = [
                ("FAIL ", Breakage::Test),
                ("unknown-field", Breakage::Plan),
                ("unused-let", Breakage::Warning),
            ];
            for (what, when) in messages {
                assert_eq!(
                    ended.stdout.contains(what),
                    breakage == when,
                    "{breakage:?}: {}",
                    ended.stdout
                );
            }
            let waiting = place.path().join("plans/snapshots");
            assert!(
                std::fs::read_dir(waiting).unwrap().count() == 1,
                "no snapshot was written"
            );
        }
    }
}

#[test]
fn the_workflow_of_a_new_project_shows_what_fails() {
    for (breakage, status) in [
        (Breakage::Fine, 0),
        (Breakage::Test, 1),
        (Breakage::Plan, 1),
    ] {
        let place = project(breakage);
        let workflow = yaml(&read(place.path(), ".github/workflows/plans.yml"));
        let steps = workflow["jobs"]["plans"]["steps"].as_array().unwrap();
        let scripts: Vec<&str> = steps
            .iter()
            .filter_map(|step| step["run"].as_str())
            .collect();
        let ["cargo install --locked --git URL planrun", check, test] = scripts[..] else {
            panic!("{scripts:?}")
        };
        let variables = vec![("CI".to_owned(), "true".to_owned())];
        let run = |text| {
            Script {
                shell: &BASH,
                text,
                within: place.path(),
                variables: variables.clone(),
            }
            .run()
        };
        let (checked, tested) = (run(check), run(test));
        assert_eq!(
            checked.status,
            i32::from(breakage == Breakage::Plan),
            "{}",
            checked.stdout
        );
        assert_eq!(tested.status, status, "{}{}", tested.stdout, tested.stderr);
        assert_eq!(
            tested.stdout.contains("::error file=plans/tidy.plan"),
            breakage != Breakage::Fine,
            "{}",
            tested.stdout
        );
        assert!(read(place.path(), "reports/tests.xml").starts_with("<?xml"));
    }
}

/// A runner of the action: the inputs, and the outputs of the steps so far.
struct Runner {
    action: Json,
    inputs: BTreeMap<String, String>,
    cached: bool,
    /// `steps.ID.outputs.NAME`.
    step_outputs: BTreeMap<String, String>,
    temp: TempDir,
}

/// The result of an action.
struct ActionResult {
    status: i32,
    stdout: String,
    stderr: String,
    outputs: BTreeMap<String, String>,
    summary: String,
}

impl Runner {
    fn new(inputs: &[(&str, &str)]) -> Self {
        let action = yaml(&read(&root(), ".github/actions/planrun/action.yml"));
        let mut known = BTreeMap::new();
        for (name, input) in action["inputs"].as_object().unwrap() {
            known.insert(name.clone(), input["default"].as_str().unwrap().to_owned());
        }
        for (name, value) in inputs {
            known
                .insert((*name).to_owned(), (*value).to_owned())
                .unwrap_or_else(|| panic!("there is no input {name}"));
        }
        Self {
            action,
            inputs: known,
            cached: false,
            step_outputs: BTreeMap::new(),
            temp: tempfile::tempdir().unwrap(),
        }
    }

    /// Runs every step of the action in the project.
    fn act(mut self, within: &Path) -> ActionResult {
        let mut action_result = ActionResult {
            status: 0,
            stdout: String::new(),
            stderr: String::new(),
            outputs: BTreeMap::new(),
            summary: String::new(),
        };
        for step in self.action["runs"]["steps"].as_array().unwrap().clone() {
            let condition = step["if"].as_str().map(|text| self.filled(text));
            match condition.as_deref() {
                None | Some("true") => {}
                Some("false") => continue,
                Some(other) => panic!("{other}"),
            }
            let id = step["id"].as_str().unwrap();
            if let Some(uses) = step["uses"].as_str() {
                assert_eq!(uses, "actions/cache@v4");
                let key = self.filled(step["with"]["key"].as_str().unwrap());
                assert!(
                    key.starts_with("planrun-Linux-X64-")
                        && key.len() == "planrun-Linux-X64-".len() + 40,
                    "{key}"
                );
                self.step_outputs.insert(
                    format!("steps.{id}.outputs.cache-hit"),
                    self.cached.to_string(),
                );
                continue;
            }
            let ended = self.script(&step, within);
            action_result.stdout.push_str(&ended.stdout);
            action_result.stderr.push_str(&ended.stderr);
            if ended.status != 0 {
                action_result.status = ended.status;
                break;
            }
        }
        for (name, output) in self.action["outputs"].as_object().unwrap() {
            action_result
                .outputs
                .insert(name.clone(), self.filled(output["value"].as_str().unwrap()));
        }
        action_result.summary =
            std::fs::read_to_string(self.temp.path().join("summary")).unwrap_or_default();
        action_result
    }

    fn script(&mut self, step: &Json, within: &Path) -> Ended {
        let temp = self.temp.path();
        let output = temp.join("output");
        std::fs::write(&output, "").unwrap();
        let text = |path: &Path| path.display().to_string();
        let bin = temp.join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        cargo(&bin.join("cargo"));
        let mut path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        for line in std::fs::read_to_string(temp.join("path"))
            .unwrap_or_default()
            .lines()
        {
            path = format!("{line}:{path}");
        }
        let mut variables = vec![
            ("PATH".to_owned(), path),
            (
                "GITHUB_ACTION_PATH".to_owned(),
                text(&root().join(".github/actions/planrun")),
            ),
            ("GITHUB_OUTPUT".to_owned(), text(&output)),
            ("GITHUB_PATH".to_owned(), text(&temp.join("path"))),
            (
                "GITHUB_STEP_SUMMARY".to_owned(),
                text(&temp.join("summary")),
            ),
            ("RUNNER_TEMP".to_owned(), text(temp)),
            ("RUNNER_OS".to_owned(), "Linux".to_owned()),
            ("RUNNER_ARCH".to_owned(), "X64".to_owned()),
            ("CI".to_owned(), "true".to_owned()),
        ];
        for (name, value) in step["env"].as_object().into_iter().flatten() {
            variables.push((name.clone(), self.filled(value.as_str().unwrap())));
        }
        assert_eq!(step["shell"], "bash");
        let script = step["run"].as_str().unwrap();
        let ended = Script {
            shell: &BASH,
            text: script,
            within,
            variables,
        }
        .run();
        for line in std::fs::read_to_string(&output).unwrap().lines() {
            let (name, value) = line.split_once('=').unwrap();
            self.step_outputs.insert(
                format!("steps.{}.outputs.{name}", step["id"].as_str().unwrap()),
                value.to_owned(),
            );
        }
        ended
    }

    /// Replaces each `${{ … }}` in a text with its value. An unknown output is empty.
    fn filled(&self, text: &str) -> String {
        let mut parts = text.split("${{");
        let mut filled = parts.next().unwrap().to_owned();
        for part in parts {
            let (expression, rest) = part.split_once("}}").unwrap();
            filled.push_str(&self.value(expression.trim()));
            filled.push_str(rest);
        }
        filled
    }

    fn value(&self, expression: &str) -> String {
        if let Some((name, other)) = expression.split_once(" != ") {
            return (self.value(name) != other.trim_matches('\'')).to_string();
        }
        match expression.split_once('.') {
            Some(("inputs", name)) => self.inputs[name].clone(),
            Some(("steps", _)) => self
                .step_outputs
                .get(expression)
                .cloned()
                .unwrap_or_default(),
            Some(("runner", "temp")) => self.temp.path().display().to_string(),
            _ => panic!("the action says {expression}"),
        }
    }
}

/// Writes a `cargo` that installs the program that is already built.
fn cargo(path: &Path) {
    let script = format!(
        "#!/bin/sh\n\
         test \"$1 $2 $3 $4 $5\" = 'install --locked --path . --root' && test -f Cargo.toml || exit 101\n\
         mkdir -p \"$6/bin\" && ln -sf '{}' \"$6/bin/planrun\"\n",
        env!("CARGO_BIN_EXE_planrun")
    );
    std::fs::write(path, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path, mode).unwrap();
}

#[test]
fn the_action_reports_and_then_fails_where_something_failed() {
    for (breakage, status) in [
        (Breakage::Fine, 0),
        (Breakage::Test, 1),
        (Breakage::Plan, 1),
        (Breakage::Warning, 1),
    ] {
        let place = project(breakage);
        let runner = Runner::new(&[
            ("paths", "plans\n\n"),
            ("deny-warnings", "true"),
            ("min-coverage", "90"),
        ]);
        let action_result = runner.act(place.path());
        assert_eq!(
            action_result.status, status,
            "{breakage:?}: {}{}",
            action_result.stdout, action_result.stderr
        );
        let expected =
            ["check.sarif", "tests.xml", "lcov.info"].map(|name| format!("planrun-reports/{name}"));
        assert_eq!(
            ["sarif", "junit", "coverage"].map(|name| action_result.outputs[name].clone()),
            expected
        );
        assert_eq!(
            found(place.path(), &expected[0]) > 0,
            matches!(breakage, Breakage::Plan | Breakage::Warning)
        );
        assert_eq!(
            read(place.path(), &expected[1]).contains("<failure"),
            breakage == Breakage::Test
        );
        assert!(place.path().join(&expected[2]).exists());
        let marks: Vec<&str> = action_result
            .stdout
            .lines()
            .filter(|line| line.starts_with("::"))
            .collect();
        assert_eq!(marks.is_empty(), breakage == Breakage::Fine, "{marks:?}");
        assert!(
            marks
                .iter()
                .all(|line| line.contains(" file=plans/tidy.plan")),
            "{marks:?}"
        );
        // The only Markdown on the summary page of the job is our own headings.
        let plain =
            |line: &str| line.is_empty() || line.starts_with("    ") || line.starts_with("### ");
        assert!(
            action_result.summary.lines().all(plain),
            "{}",
            action_result.summary
        );
        assert_eq!(
            action_result.summary.contains("5 passed"),
            breakage == Breakage::Fine || breakage == Breakage::Warning
        );
    }
}

#[test]
fn the_action_does_what_its_inputs_say() {
    let place = project(Breakage::Warning);
    let act = |inputs: &[(&str, &str)]| Runner::new(inputs).act(place.path());
    assert_eq!(act(&[]).status, 0, "a warning is only told");
    assert_eq!(act(&[("deny-warnings", "true")]).status, 1);
    assert_eq!(act(&[("min-coverage", "100")]).status, 0);
    let quiet = act(&[
        ("annotate", "false"),
        ("test", "false"),
        ("reports", "out/of the way"),
    ]);
    assert_eq!(
        (quiet.status, quiet.stdout.as_str()),
        (0, ""),
        "{}",
        quiet.stderr
    );
    assert_eq!(
        ["sarif", "junit"].map(|name| &*quiet.outputs[name]),
        ["out/of the way/check.sarif", ""]
    );
    std::fs::remove_file(place.path().join("plans/tidy.plantest")).unwrap();
    assert_eq!(act(&[("test", "false")]).status, 0);
    assert_eq!(
        act(&[]).status,
        1,
        "no test is not what somebody who wants tests has in mind"
    );
    assert_eq!(act(&[("reports", "one\nsarif=other")]).status, 2);
}

#[test]
fn what_reaches_the_action_from_outside_is_never_code() {
    let place = project(Breakage::Fine);
    let traps = "$(touch trapped)\n`touch trapped`\n\"; touch trapped; \"\n--fix";
    for input in ["paths", "min-coverage", "reports", "deny-warnings"] {
        for trap in traps.lines() {
            Runner::new(&[(input, trap)]).act(place.path());
            assert!(!place.path().join("trapped").exists(), "{input}: {trap}");
        }
    }
    let action = yaml(&read(&root(), ".github/actions/planrun/action.yml"));
    let workflow = yaml(&read(place.path(), ".github/workflows/plans.yml"));
    let steps = [
        &action["runs"]["steps"],
        &workflow["jobs"]["plans"]["steps"],
    ];
    for step in steps
        .into_iter()
        .flat_map(|steps| steps.as_array().unwrap())
    {
        assert!(
            !step["run"].as_str().unwrap_or_default().contains("${{"),
            "{step}"
        );
    }
}

#[test]
fn the_action_does_not_build_what_is_in_the_cache() {
    let place = project(Breakage::Fine);
    let mut runner = Runner::new(&[]);
    runner.cached = true;
    let bin: PathBuf = runner.temp.path().join("planrun/bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_planrun"), bin.join("planrun")).unwrap();
    std::os::unix::fs::symlink("/nowhere", bin.join("cargo")).unwrap();
    assert_eq!(runner.act(place.path()).status, 0);
}

#[test]
fn the_page_tells_of_every_input_and_output() {
    let page = std::fs::read_to_string(root().join("docs/ci.md")).unwrap();
    let action = yaml(&read(&root(), ".github/actions/planrun/action.yml"));
    for (kind, heading) in [("inputs", "| input | |\n"), ("outputs", "| output | |\n")] {
        let rows = page
            .split(heading)
            .nth(1)
            .unwrap()
            .lines()
            .skip(1)
            .take_while(|line| line.starts_with('|'));
        let listed: Vec<&str> = rows.map(|row| row.split('`').nth(1).unwrap()).collect();
        assert_eq!(
            listed,
            action[kind].as_object().unwrap().keys().collect::<Vec<_>>()
        );
    }
    let workflows: Vec<Json> = blocks("yaml").iter().map(|text| yaml(text)).collect();
    let steps = workflows
        .iter()
        .filter_map(|one| one["jobs"]["plans"]["steps"].as_array())
        .flatten();
    let used = steps.filter(|step| {
        step["uses"]
            .as_str()
            .is_some_and(|uses| uses.contains("/.github/actions/planrun@"))
    });
    let mut count = 0;
    for step in used {
        count += 1;
        for name in step["with"].as_object().unwrap().keys() {
            assert!(action["inputs"].get(name).is_some(), "{name}");
        }
    }
    assert_eq!(count, 1);
}
