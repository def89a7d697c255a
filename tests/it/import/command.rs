//! `planrun import`: output, files and exit codes.

use crate::support::{folder, planrun};

const MACHINE: &str = r#"{
  "StartAt": "Look",
  "States": {
    "Look": {"Type": "Pass", "Parameters": {"id.$": "$.id"}, "ResultPath": "$.seen", "Next": "Done"},
    "Done": {"Type": "Succeed"}
  }
}"#;

const MADE: &str = "\
plan machine(input: any) -> any {
    reply merge(input, { seen: { id: input.id } })
}
";

#[test]
fn the_plan_goes_out_and_the_report_beside_it() {
    let folder = folder([("machine.json", MACHINE)]);
    let made = planrun(["import", "machine.json"])
        .within(folder.path())
        .run();
    assert_eq!((made.status, made.stdout.as_str()), (0, MADE), "{made:?}");
    assert!(
        made.stderr
            .contains("carried  machine.json:4:5  state `Look`"),
        "{made:?}"
    );
    assert!(
        made.stderr
            .ends_with("asl: 2 carried, 1 changed, 0 not carried\n"),
        "{made:?}"
    );
    let quiet = planrun(["import", "-q", "-"])
        .within(folder.path())
        .stdin(MACHINE)
        .run();
    assert_eq!((quiet.status, quiet.stderr.as_str()), (0, ""), "{quiet:?}");
    let json = planrun(["import", "machine.json", "--format", "json"])
        .within(folder.path())
        .run()
        .json();
    assert_eq!(
        (&json["from"], &json["plan"]),
        (&"asl".into(), &MADE.into())
    );
    assert_eq!(
        (&json["report"][1]["line"], &json["report"][1]["fate"]),
        (&4.into(), &"carried".into())
    );
}

#[test]
fn nothing_is_overwritten_unless_that_is_wanted() {
    let folder = folder([("machine.json", MACHINE), ("there.plan", "mine")]);
    let import = |more: &[&str]| {
        planrun([&["import", "machine.json"], more].concat())
            .within(folder.path())
            .run()
    };
    let refused = import(&["--output", "there.plan"]);
    assert_eq!(refused.status, 2, "{refused:?}");
    assert!(refused.stderr.contains("--force"), "{refused:?}");
    let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(text("there.plan"), "mine");
    assert_eq!(import(&["--output", "there.plan", "--force"]).status, 0);
    assert!(text("there.plan").contains("plan there("));
    let ran = planrun(["run", "there.plan", "-i", "input={\"id\": 7}"])
        .within(folder.path())
        .run();
    assert_eq!(
        ran.json(),
        serde_json::json!({"id": 7, "seen": {"id": 7}}),
        "{ran:?}"
    );
}

#[test]
fn what_is_not_carried_or_not_read_is_told() {
    let random = MACHINE.replace("$.id\"", "States.UUID()\"");
    let folder = folder([
        ("machine.json", random.as_str()),
        ("none.json", "{\"a\": 1}"),
        ("bad.json", "{\"a\": }"),
    ]);
    let import = |file: &str| planrun(["import", file]).within(folder.path()).run();
    let lost = import("machine.json");
    assert_eq!(lost.status, 1, "{lost:?}");
    assert!(
        lost.stdout.contains("not_carried_1") && lost.stderr.contains("sys.uuid()"),
        "{lost:?}"
    );
    for (file, says) in [
        ("none.json", "unknown document format"),
        ("bad.json", "bad.json:1:7"),
    ] {
        let refused = import(file);
        assert_eq!(refused.status, 1, "{refused:?}");
        assert!(refused.stderr.contains(says), "{refused:?}");
    }
    assert_eq!(import("missing.json").status, 3);
}

#[test]
fn a_document_in_a_fence_of_a_page_is_found() {
    let workflow = "document:\n  dsl: 1.0.3\ndo:\n  - greet:\n      set:\n        text: |\n          ```\n          hi\n";
    let page = format!(
        "# How to\n\nInstall it:\n\n```sh\nnpm: install\n```\n\n~~~~yaml\n{workflow}~~~~\n\nThat is all.\n"
    );
    let wrong = page.replace("set:", "zet:");
    let fenced = format!("```yaml\n{workflow}");
    let folder = folder([
        ("page.md", page.as_str()),
        ("wrong.md", wrong.as_str()),
        ("answer.md", fenced.as_str()),
    ]);
    let import = |file: &str| planrun(["import", file]).within(folder.path()).run();
    let made = import("page.md");
    assert_eq!(made.status, 0, "{made:?}");
    assert!(made.stdout.contains("hi"), "{made:?}");
    assert!(
        made.stderr.contains("the text around the document"),
        "{made:?}"
    );
    let made = import("answer.md");
    assert_eq!(made.status, 0, "{made:?}");
    assert!(!made.stderr.contains("around the document"), "{made:?}");
    let wrong = import("wrong.md");
    assert!(wrong.stderr.contains("wrong.md:13:5"), "{wrong:?}");
}
