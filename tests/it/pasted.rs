//! The commands that messages name, pasted into a shell in the folder of the command that printed them.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::support::{Output, folder, planrun};

const PLANS: &str = r#"
plan asks() -> string {
    step form = input "Which?" -> {
        why: string in ["late", "lost in the mail"],
        details: { first_day: string, last_day: string, remarks: string[] }
    } by "front desk"
    reply form.why
}

plan fits(speed: "as fast as possible" | "slow") -> string {
    reply speed
}
"#;

/// Returns a folder with a project in it whose name is two words.
fn place() -> TempDir {
    folder([
        ("my project/planrun.yaml", "confirm: [sys.echo]\n"),
        ("my project/a.plan", PLANS),
        (
            "my project/broken.plan",
            "plan broken() -> int {\n    reply x\n}\n",
        ),
        (
            "my project/uses.plan",
            "use \"./broken.plan\" as other\n\nplan uses() -> int {\n    step a = other.broken()\n    reply a\n}\n",
        ),
        ("here/planrun.yaml", "{}\n"),
    ])
}

/// Runs a command for the project from the folder next to it.
fn elsewhere(place: &TempDir, arguments: &[&str]) -> Output {
    planrun(["--project", "../my project"].iter().chain(arguments))
        .within(place.path().join("here"))
        .run()
}

/// Runs a line in a shell that finds the built program.
fn pasted(folder: impl AsRef<Path>, line: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_planrun"));
    let path = std::env::join_paths(
        program
            .parent()
            .map(Path::to_owned)
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let output = Command::new("sh")
        .args(["-c", line])
        .current_dir(folder)
        .env("PATH", path.unwrap())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Output {
        status: output.status.code().unwrap_or(-1),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// Returns what stands between two marks, the first time.
fn between<'t>(text: &'t str, begin: &str, end: &str) -> &'t str {
    let (_, rest) = text.split_once(begin).unwrap_or_else(|| panic!("{text}"));
    rest.split_once(end).unwrap_or_else(|| panic!("{text}")).0
}

#[test]
fn commands_in_error_messages_name_the_project() {
    let place = place();
    let file = "../my project/a.plan";
    let begun = elsewhere(&place, &["run", file, "--plan", "asks", "--run-id", "r1"]);
    assert_eq!(begun.status, 4, "{begun:?}");
    let done = [
        "run",
        file,
        "--plan",
        "fits",
        "-i",
        "speed=slow",
        "--run-id",
        "r2",
    ];
    assert_eq!(elsewhere(&place, &done).status, 0);
    for (command, status, begin) in [
        (&["runs", "show", "r9"][..], 0, "no run `r9`; `"),
        (&["runs", "prune", "--damaged", "r2"], 2, "not deleted; `"),
        (&["tools", "show", "xyz"], 0, "no tool `xyz`; `"),
        (&["tools", "run", "xyz"], 0, "there is no tool `xyz`; `"),
        (
            &["check", "--format", "json", "../my project/uses.plan"],
            1,
            "\"run `",
        ),
        // The last command ends the run.
        (&["runs", "prune", "--damaged", "r1"], 0, "not deleted; `"),
    ] {
        let refused = elsewhere(&place, command);
        let printed = format!("{}{}", refused.stderr, refused.stdout);
        let hint = between(&printed, begin, "`");
        assert!(
            hint.starts_with("planrun --project '../my project' "),
            "{refused:?}"
        );
        let output = pasted(place.path().join("here"), hint);
        assert_eq!(output.status, status, "{hint}: {output:?}");
    }
}

#[test]
fn an_answer_is_shown_with_its_options_and_its_type() {
    let place = place();
    let file = "../my project/a.plan";
    let begun = elsewhere(&place, &["run", file, "--plan", "asks", "--run-id", "r1"]);
    let line = between(&begun.stderr, "answer: ", "\n");
    assert_eq!(
        line,
        "planrun --project '../my project' runs answer r1 'form={\"why\": <\"late\" | \"lost in the mail\">, \
         \"details\": <{ first_day: string, last_day: string, remarks: string[] }>}' --by 'front desk' --resume"
    );
    let details = r#"{"first_day": "a", "last_day": "b", "remarks": []}"#;
    let filled = line
        .replace("<\"late\" | \"lost in the mail\">", "\"lost in the mail\"")
        .replace(
            "<{ first_day: string, last_day: string, remarks: string[] }>",
            details,
        );
    let unnamed = pasted(
        place.path().join("here"),
        &filled.replace(" --by 'front desk'", ""),
    );
    let role = between(&unnamed.stderr, "add `", "`");
    assert_eq!((unnamed.status, role), (2, "--by 'front desk'"));
    let answered = pasted(place.path().join("here"), &filled);
    assert_eq!(
        (answered.status, &*answered.stdout),
        (0, "lost in the mail\n"),
        "{answered:?}"
    );
}

#[test]
fn the_status_of_a_call_names_the_project_in_its_answer() {
    let place = place();
    let call = [
        "tools",
        "run",
        "sys.echo",
        "--input",
        r#"{"value": 7}"#,
        "--format",
        "json",
    ];
    let waiting = elsewhere(&place, &call);
    assert_eq!(waiting.status, 4, "{waiting:?}");
    let status = waiting.json();
    let command = status["questions"][0]["answer_with"].as_str().unwrap();
    let answered = pasted(place.path().join("here"), command);
    assert_eq!(
        (answered.status, &*answered.stdout),
        (0, "7\n"),
        "{command}: {answered:?}"
    );
}

#[test]
fn missing_inputs_and_journals_are_named_as_a_shell_reads_them() {
    let place = place();
    let project = place.path().join("my project");
    let run = "run a.plan --plan fits";
    let refused = pasted(&project, &format!("planrun {run}"));
    let (_, add) = refused.stderr.trim_end().split_once("; add ").unwrap();
    let output = pasted(&project, &format!("planrun {run} {add}"));
    assert_eq!(output.status, 0, "{add}: {output:?}");
    std::fs::write(place.path().join("b.plan"), "plan b() { reply 1 }\n").unwrap();
    std::fs::create_dir(place.path().join("third")).unwrap();
    std::fs::rename(
        place.path().join("b.plan"),
        place.path().join("third/b.plan"),
    )
    .unwrap();
    assert_eq!(pasted(&place, "planrun run third/b.plan").status, 0);
    let several = pasted(&place, "planrun runs list");
    let flag = between(&several.stderr, "choose one with `", "`");
    assert_eq!(flag, "--project 'my project'", "{several:?}");
    let listed = pasted(&place, &format!("planrun runs list {flag}"));
    assert!(listed.stdout.contains("fits"), "{listed:?}");
}
