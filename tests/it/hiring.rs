//! S3-7 to S3-31 with real processes: `plans/hire.plan` and `plans/sign_up.plan` against the mock of their apps, which
//! fails on demand, and the journal between processes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use planrun_runs::journal::store::{Journal, Settings};
use planrun_tools::host::RealHost;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::support::{Mock, Output, Program, cases, folder, planrun, root};

const APPS: [&str; 7] = [
    "hr",
    "access",
    "it",
    "inventory",
    "email",
    "contract",
    "common",
];
/// The tools that the effects of `hire.plan` call, in this order.
const EFFECTS: [&str; 5] = [
    "create_employee_profile",
    "grant_access",
    "apply_computer",
    "outbound",
    "send_email",
];
const VERIFY_CALLS: [&str; 3] = ["query_profile", "query_access", "check_outbound_status"];

/// The arguments of the run that hires an employee.
pub const HIRE: [&str; 8] = [
    "run",
    "hire.plan",
    "-i",
    "name=will zhang",
    "--run-id",
    "hire",
    "--format",
    "json",
];

/// A separate project with the plans and app files of the repository, and the mock of its apps.
pub struct HiringProject {
    pub place: TempDir,
    pub mock: Mock,
}

impl HiringProject {
    pub fn open<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        let mut files = Vec::new();
        for from in ["plans", "plans/apps"] {
            for entry in std::fs::read_dir(root().join(from))
                .unwrap()
                .map(Result::unwrap)
            {
                let within = Path::new(from)
                    .strip_prefix("plans")
                    .unwrap()
                    .join(entry.file_name());
                if entry.file_type().unwrap().is_file() {
                    files.push((within, std::fs::read(entry.path()).unwrap()));
                }
            }
        }
        Self {
            place: folder(files),
            mock: Mock::start(arguments),
        }
    }

    pub fn program<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Program {
        self.mock
            .answering(planrun(arguments), &APPS)
            .within(self.place.path())
    }

    fn planrun<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Output {
        self.program(arguments).run()
    }

    fn hire(&self) -> Output {
        self.planrun(HIRE)
    }

    fn resume(&self) -> Output {
        self.planrun(["runs", "resume", "hire", "--format", "json"])
    }

    fn show(&self, run: &str) -> Json {
        self.planrun(["runs", "show", run, "--format", "json"])
            .json()
    }

    /// Returns every event of a run: its name, its path, and the whole event.
    pub fn events(&self, run: &str) -> Vec<(String, String, Json)> {
        let lines = self
            .planrun(["runs", "events", run, "--format", "ndjson"])
            .stdout;
        let text = |event: &Json, name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let event = |line: &str| {
            let event: Json = serde_json::from_str(line).unwrap();
            (text(&event, "event"), text(&event, "path"), event)
        };
        lines.lines().map(event).collect()
    }

    /// Returns the number of calls of each tool.
    fn counts(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for tool in self.mock.calls() {
            *counts.entry(tool).or_default() += 1;
        }
        counts
    }
}

/// Returns the recorded behaviour of the original system. `None` if the cases are not available.
fn recorded() -> Option<Json> {
    let text =
        std::fs::read_to_string(cases("systems/aintegration-expected-traces.json")?).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

fn status<'t>(run: &'t Json, task: &str) -> &'t Json {
    &run["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|found| found["name"] == task)
        .unwrap()["status"]
}

/// Returns the expected number of calls: one of each tool, except `grant_access`.
fn counts(granted: u64) -> BTreeMap<String, u64> {
    let often = |tool: &str| if tool == "grant_access" { granted } else { 1 };
    EFFECTS
        .iter()
        .chain(&VERIFY_CALLS)
        .map(|tool| ((*tool).to_owned(), often(tool)))
        .collect()
}

/// Sorts the final reads by name, because they are concurrent; the effects before them keep their order.
fn in_order(mut calls: Vec<String>) -> Vec<String> {
    let first_check = calls.len().min(EFFECTS.len());
    calls[first_check..].sort();
    calls
}

#[test]
fn s3_7_the_happy_path_calls_in_order_and_is_looked_at_in_the_end() {
    let project = HiringProject::open([]);
    let ran = project.hire();
    let run = ran.json();
    assert_eq!(
        (ran.status, &run["status"]),
        (0, &json!("completed")),
        "{}",
        ran.stderr
    );
    let expected = EFFECTS
        .iter()
        .chain(&VERIFY_CALLS)
        .map(|tool| (*tool).to_owned())
        .collect();
    assert_eq!(in_order(project.mock.calls()), in_order(expected));
    for task in [
        "hired",
        "registered",
        "admitted",
        "requested",
        "equipped",
        "welcomed",
    ] {
        assert_eq!(status(&run, task), "done", "{task}");
    }
    assert_eq!(
        status(&run, "seated"),
        "pending",
        "nobody moves it, and the plan completes"
    );
    let verification = &run["verification"];
    let count = |verification: &Json, name: &str| verification[name].as_u64().unwrap();
    assert_eq!(
        ["verified", "unverified", "failed"].map(|name| count(verification, name)),
        [3, 2, 0]
    );
    if let Some(recorded) = recorded() {
        let calls = recorded["happy_path"]["call_order"].as_array().unwrap();
        let calls = calls
            .iter()
            .map(|tool| tool.as_str().unwrap().to_owned())
            .collect();
        assert_eq!(in_order(project.mock.calls()), in_order(calls));
        let summary = &recorded["verification_summary"];
        let names = ["verified_count", "unable_to_verify_count", "failed_count"];
        assert_eq!(names.map(|name| count(summary, name)), [3, 2, 0]);
        assert_eq!(
            verification["checks"].as_array().unwrap().len() as u64,
            count(summary, "total_count")
        );
    }
}

#[test]
fn s3_8_s3_21_three_failures_are_tried_again_and_nothing_else_is() {
    let project = HiringProject::open(["--failures", "grant_access=3"]);
    let ran = project.hire();
    assert_eq!(
        (ran.status, &ran.json()["status"]),
        (0, &json!("completed")),
        "{}",
        ran.stderr
    );
    assert_eq!(project.counts(), counts(4));
    if let Some(recorded) = recorded() {
        assert_eq!(json!(project.counts()), recorded["retry_success"]["counts"]);
    }
}

#[test]
fn s3_10_s3_20_s3_22_six_failures_pause_the_run_and_a_resume_repeats_only_what_failed() {
    let project = HiringProject::open(["--failures", "grant_access=6"]);
    let paused = project.hire();
    assert_eq!(
        (paused.status, &paused.json()["status"]),
        (4, &json!("paused")),
        "{}",
        paused.stderr
    );
    assert!(
        paused
            .stderr
            .contains("try again with `planrun runs resume hire`"),
        "{}",
        paused.stderr
    );
    let calls = ["create_employee_profile", "grant_access"].map(str::to_owned);
    assert_eq!(
        project.counts(),
        BTreeMap::from([(calls[0].clone(), 1), (calls[1].clone(), 6)])
    );
    let document = project.show("hire");
    assert_eq!(
        (status(&document, "registered"), status(&document, "hired")),
        (&json!("done"), &json!("running"))
    );
    let badge = document["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|step| step["path"] == "admit[0].badge")
        .unwrap();
    assert_eq!(
        (&badge["status"], &badge["error"]["class"]),
        (&json!("failed"), &json!("tool.failed"))
    );

    project.mock.post("/reset_failures", "{}");
    let ran = project.resume();
    let run = ran.json();
    assert_eq!(
        (ran.status, &run["status"]),
        (0, &json!("completed")),
        "{}",
        ran.stderr
    );
    assert_eq!(
        project.counts(),
        counts(7),
        "what had completed is not done again"
    );
    let fired = run["listeners"]
        .as_array()
        .unwrap()
        .iter()
        .map(|listener| listener["fired"].as_u64().unwrap());
    assert_eq!(
        fired.collect::<Vec<_>>(),
        [1; 5],
        "a firing that is done again is the same firing"
    );
    assert_eq!(
        ["verified", "unverified", "failed"]
            .map(|name| run["verification"][name].as_u64().unwrap()),
        [3, 2, 0]
    );
    if let Some(recorded) = recorded() {
        for (tool, count) in recorded["resume"]["counts"].as_object().unwrap() {
            assert_eq!(project.counts()[tool], count.as_u64().unwrap(), "{tool}");
        }
    }
}

#[test]
fn s3_15_a_listener_that_cannot_work_is_found_before_anything_is_called() {
    let project = HiringProject::open([]);
    let text = std::fs::read_to_string(root().join("plans/hire.plan")).unwrap();
    // An unknown tool, an unknown app, a wrong argument, an unknown task, an unknown status, a step without a call.
    for (what, instead, code, near) in [
        (
            "access.grant_access(",
            "access.grant_acess(",
            "unknown-tool",
            "did you mean `grant_access`",
        ),
        (
            "access.grant_access(",
            "acess.grant_access(",
            "unknown-namespace",
            "did you mean `access`",
        ),
        (
            "(emp_id: person.emp_id, name: name)",
            "(emp_id: person.emp_id)",
            "missing-argument",
            "name",
        ),
        (
            "listener admit on registered",
            "listener admit on regstered",
            "unknown-name",
            "did you mean `registered`",
        ),
        (
            "on registered is done as",
            "on registered is doen as",
            "unknown-status",
            "did you mean `done`",
        ),
        (
            "= it.apply_computer(emp_id: registered.emp_id, level: registered.level)",
            "=",
            "unexpected-token",
            "step",
        ),
    ] {
        assert!(text.contains(what), "{what}");
        std::fs::write(
            project.place.path().join("hire.plan"),
            text.replace(what, instead),
        )
        .unwrap();
        let refused = project.hire();
        assert_eq!(
            (refused.status, refused.stdout.as_str()),
            (1, ""),
            "{instead}: {}",
            refused.stderr
        );
        assert!(
            refused.stderr.contains(code) && refused.stderr.contains(near),
            "{instead}: {}",
            refused.stderr
        );
    }
    assert!(project.mock.calls().is_empty());
}

#[test]
fn s3_23_only_a_run_that_can_go_on_is_gone_on_with_and_by_one_process() {
    let project = HiringProject::open(["--failures", "grant_access=6"]);
    assert_eq!(project.hire().status, 4);
    for arguments in [vec!["runs", "resume"], vec!["runs", "resume", "nobody"]] {
        let refused = project.planrun(arguments);
        assert_eq!(refused.status, 2, "{}", refused.stderr);
    }
    // While another process drives the run, a second resume is refused and calls nothing.
    let path = project.place.path().join(".planrun/journal.db");
    let journal = Journal::open(&path, Settings::default(), Arc::new(RealHost)).unwrap();
    let driver = journal.drive("hire").unwrap();
    let second = project.resume();
    assert!(
        second.status > 1 && second.stderr.contains("drives"),
        "{second:?}"
    );
    assert_eq!(project.counts()["grant_access"], 6);
    driver.close().unwrap();
    assert_eq!(project.resume().status, 0);
    let (calls, events) = (project.mock.calls().len(), project.events("hire").len());
    let again = project.resume();
    assert_eq!(
        (again.status, &again.json()["status"]),
        (0, &json!("completed")),
        "its end is told again"
    );
    assert_eq!(
        (project.mock.calls().len(), project.events("hire").len()),
        (calls, events)
    );
}

#[test]
fn s3_24_what_never_works_is_called_as_often_as_the_plan_says_for_each_resume() {
    let project = HiringProject::open(["--failures", "grant_access=1000"]);
    assert_eq!(project.hire().status, 4);
    for resumes in 1..=2 {
        assert_eq!(project.resume().status, 4);
        assert_eq!(project.counts()["grant_access"], 6 * (1 + resumes));
    }
    let cancelled = project.planrun(["runs", "cancel", "hire"]);
    assert_eq!(
        (cancelled.status, cancelled.stderr.as_str()),
        (0, "the run hire is cancelled\n")
    );
    assert_eq!(project.show("hire")["status"], "cancelled");
    assert_eq!(
        (
            project.counts()["create_employee_profile"],
            project.counts().len()
        ),
        (1, 2)
    );
}

#[test]
fn what_nobody_knows_of_is_told_by_somebody_and_is_not_done_twice() {
    let project = HiringProject::open([]);
    let text = std::fs::read_to_string(root().join("plans/order.plan")).unwrap();
    let (before, rest) = text.split_once("        verify ").unwrap();
    let (_, after) = rest.split_once("        undo payments").unwrap();
    let plan = format!("{before}        undo payments{after}")
        .replace("on_failure: undo", "on_failure: pause");
    std::fs::write(project.place.path().join("order.plan"), plan).unwrap();
    let program = |arguments: &[&str]| {
        let program = planrun(arguments).within(project.place.path());
        project
            .mock
            .answering(program, &["warehouse", "payments", "courier"])
            .run()
    };
    let inputs = [
        "-i",
        "order_id=#W7002",
        "-i",
        "sku=lamp-2",
        "-i",
        "cents=4200",
        "-i",
        "address=Main Street 5",
    ];
    let paused = program(&[&["run", "order.plan", "--run-id", "order"], &inputs[..]].concat());
    assert_eq!(
        (paused.status, project.mock.calls().join(" ")),
        (4, "reserve charge".to_owned()),
        "{}",
        paused.stderr
    );
    assert!(
        paused.stderr.contains("Did `paid` happen?"),
        "{}",
        paused.stderr
    );
    // A resume does not know the outcome either.
    assert_eq!(
        (
            program(&["runs", "resume", "order"]).status,
            project.mock.calls().len()
        ),
        (4, 2)
    );
    // It did not happen, so it is sent again, and again no answer arrives.
    let again = program(&[
        "runs",
        "answer",
        "order",
        r#"paid={"happened": false}"#,
        "--resume",
    ]);
    assert_eq!(
        (again.status, project.mock.calls().join(" ")),
        (4, "reserve charge charge".to_owned())
    );
    let happened = r#"paid={"happened": true, "value": {"payment_id": "PAY-9"}}"#;
    let ran = program(&["runs", "answer", "order", happened, "--resume"]);
    assert_eq!(
        (ran.status, &ran.json()["payment"]),
        (0, &json!("PAY-9")),
        "{}",
        ran.stderr
    );
    assert_eq!(
        project.mock.calls().join(" "),
        "reserve charge charge collect"
    );
}

/// Total number of kills.
const KILLS: u64 = 12;

#[test]
fn s3_22_killed_at_any_moment_a_hire_goes_on_and_calls_nothing_twice() {
    // The values to report for the steps whose outcome can be unknown.
    let values = [
        (
            "ask[0].asked",
            "apply_computer",
            json!({ "request_id": "REQ-WZ001", "pc_model": "workstation-16" }),
        ),
        (
            "welcome[0].sent",
            "send_email",
            json!({ "message_id": "<mia@example.com>" }),
        ),
    ];
    for kills in (0..KILLS).step_by(2) {
        let project = HiringProject::open([]);
        for kill in kills..kills + 2 {
            let program = project
                .mock
                .answering(planrun(HIRE), &APPS)
                .within(project.place.path());
            let hash = blake3::hash(&kill.to_le_bytes());
            program.killed_after(Duration::from_millis(u64::from(hash.as_bytes()[0]) * 3));
        }
        let mut ran = project.planrun(HIRE);
        while ran.status == 4 {
            let run = ran.json();
            let waits = |path: &str| {
                run["steps"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|step| step["path"] == path && step["status"] == "waiting")
            };
            let (path, tool, value) = values
                .iter()
                .find(|(path, ..)| waits(path))
                .unwrap_or_else(|| panic!("{ran:?}"));
            let happened = project.counts().contains_key(*tool);
            let answer = if happened {
                json!({ "happened": true, "value": value })
            } else {
                json!({ "happened": false })
            };
            let answered = project.planrun(["runs", "answer", "hire", &format!("{path}={answer}")]);
            assert_eq!(answered.status, 0, "{}", answered.stderr);
            ran = project.planrun(HIRE);
        }
        let run = ran.json();
        assert_eq!(
            (ran.status, &run["status"]),
            (0, &json!("completed")),
            "{kills}: {}",
            ran.stderr
        );
        assert_eq!(
            run["reply"],
            json!({ "card": "CARD-WZ001", "pc": "PC-0042", "message": "<mia@example.com>" }),
            "{kills}"
        );
        // A call with a repeated key is not counted. A verified effect need not have been called, because the mock
        // finds every record.
        let counts = project.counts();
        assert!(
            EFFECTS
                .iter()
                .all(|tool| counts.get(*tool).is_none_or(|count| *count == 1)),
            "{kills}: {counts:?}"
        );
        assert!(
            values.iter().all(|(_, tool, _)| counts.contains_key(*tool)),
            "{kills}: {counts:?}"
        );
    }
}

#[test]
fn s3_30_before_the_end_nothing_is_verified() {
    let project = HiringProject::open(["--failures", "send_email=1"]);
    assert_eq!(project.hire().status, 4);
    let nothing =
        json!({ "verified": 0, "unverified": 0, "failed": 0, "inconclusive": 0, "checks": [] });
    let document = project.show("hire");
    assert_eq!(
        (&document["status"], &document["verification"]),
        (&json!("paused"), &nothing)
    );
    assert!(
        !project
            .events("hire")
            .iter()
            .any(|(_, path, _)| path.ends_with(".verify"))
    );
    let paused = project.planrun(["runs", "show", "hire"]).stdout;
    assert!(
        paused.contains("\ntasks: hired running, ") && !paused.contains("verified"),
        "{paused}"
    );
    assert_eq!(project.resume().status, 0);
    let verification = &project.show("hire")["verification"];
    let verified =
        |path: &str, tool: &str| json!({ "path": path, "status": "verified", "tools": [tool] });
    let unverified = |path: &str| json!({ "path": path, "status": "unverified" });
    let checks = [
        verified("admit[0].badge", "access.query_access"),
        unverified("ask[0].asked"),
        verified("equip[0].computer", "inventory.check_outbound_status"),
        verified("register[0].profile", "hr.query_profile"),
        unverified("welcome[0].sent"),
    ];
    assert_eq!(verification["checks"], json!(checks));
}

#[test]
fn s3_31_the_journal_has_every_move_firing_look_and_what_it_saw() {
    let project = HiringProject::open([]);
    assert_eq!(project.hire().status, 0);
    let events = project.events("hire");
    let place = |name: &str, path: &str| {
        let found = events
            .iter()
            .position(|(event, at, _)| event == name && at == path);
        found.unwrap_or_else(|| panic!("no {name} of {path}"))
    };
    assert!(place("task.set", "registered") < place("listener.fired", "admit[0]"));
    assert!(place("listener.fired", "admit[0]") < place("step.running", "admit[0].badge"));
    let moved = &events[place("task.set", "registered")].2;
    assert_eq!(
        (&moved["status"], &moved["payload"]),
        (&json!("done"), &json!({ "emp_id": "WZ001", "level": "L3" }))
    );
    for look in [
        "register[0].profile.verify",
        "admit[0].badge.verify",
        "equip[0].computer.verify",
    ] {
        let (asked, saw) = (place("step.running", look), place("step.settled", look));
        assert!(
            place("task.set", "hired") < asked && asked < saw && saw < place("run.settled", "")
        );
        assert_eq!(events[saw].2["status"], "completed", "{look}");
        assert!(events[asked].2["arguments"].is_object(), "{look}");
    }
    let asked = &events[place("step.running", "admit[0].badge.verify")].2;
    assert_eq!(
        asked["arguments"],
        json!({ "employee_id": "WZ001", "employee_name": "will zhang" })
    );
    let printed = project.planrun(["runs", "show", "hire"]).stdout;
    assert!(
        printed.contains("register[0].profile.verify  completed"),
        "{printed}"
    );
    assert!(
        printed.contains("\ntasks: hired done, registered done, ")
            && printed.contains(", seated pending\n"),
        "{printed}"
    );
    assert!(
        printed.ends_with("\neffects: 3 verified, 2 unverified, 0 failed\n"),
        "{printed}"
    );
}

#[test]
fn s3_25_s3_26_what_is_missing_is_asked_for_in_one_form_and_the_contract_is_signed_then() {
    let project = HiringProject::open([]);
    let inputs = [
        "-i",
        "name=张三",
        "-i",
        "phone=13800138000",
        "-i",
        "region=北京市",
    ];
    let paused = project.planrun(
        ["run", "sign_up.plan", "--run-id", "sign"]
            .into_iter()
            .chain(inputs),
    );
    assert_eq!(paused.status, 4, "{}", paused.stderr);
    // It is a secret, which is typed at the terminal and not into the history of a shell.
    let command = "planrun runs answer sign --interactive --resume";
    assert!(paused.stderr.contains(command), "{}", paused.stderr);
    assert_eq!(project.mock.calls(), ["get_region_list"]);
    let asked = project
        .events("sign")
        .into_iter()
        .find(|(event, ..)| event == "step.waiting")
        .unwrap()
        .2;
    let fields: Vec<&Json> = asked["form"]
        .as_array()
        .unwrap()
        .iter()
        .map(|field| &field["name"])
        .collect();
    assert_eq!(
        fields,
        [&json!("id_card")],
        "what was given is not asked for: {asked:#}"
    );

    // An answer that does not fit leaves the form open, and nothing is called.
    for (wrong, why) in [
        ("{}", "id_card"),
        (r#"{"id_card": 7}"#, "id_card"),
        (r#"{"idcard": "1"}"#, "idcard"),
    ] {
        let refused = project.planrun([
            "runs",
            "answer",
            "sign",
            &format!("details={wrong}"),
            "--resume",
        ]);
        assert_eq!(refused.status, 2, "{wrong}: {}", refused.stdout);
        assert!(refused.stderr.contains(why), "{wrong}: {}", refused.stderr);
    }
    assert_eq!(
        (project.mock.calls().len(), &project.show("sign")["status"]),
        (1, &json!("paused"))
    );

    let details = r#"details={"id_card": "110101199001011234"}"#;
    let ran = project.planrun([
        "runs", "answer", "sign", details, "--by", "desk:ann", "--resume",
    ]);
    assert_eq!(
        (ran.status, &ran.json()["status"]),
        (0, &json!("signed")),
        "{}",
        ran.stderr
    );
    // The seal is busy the first time.
    let calls = [
        "get_region_list",
        "create_contact",
        "create_contract",
        "sign_contract",
        "sign_contract",
    ];
    assert_eq!(project.mock.calls(), calls);
    if let Some(recorded) = recorded() {
        let contract = &recorded["contract_missing_params"];
        assert_eq!(contract["first_tool"], calls[1]);
        for then in contract["then_contains"].as_array().unwrap() {
            assert!(calls[2..].contains(&then.as_str().unwrap()), "{then}");
        }
    }
    let again = project.planrun(["runs", "answer", "sign", details, "--resume"]);
    assert_eq!(
        (again.status, project.mock.calls().len()),
        (2, calls.len()),
        "an answer is given once"
    );
}

#[test]
fn s3_25_nobody_is_asked_where_nothing_is_missing() {
    let project = HiringProject::open([]);
    let inputs = [
        "name=张三",
        "phone=13800138000",
        "region=北京市",
        "id_card=110101199001011234",
    ];
    let inputs = inputs.iter().flat_map(|input| ["-i", *input]);
    let ran = project.planrun(
        ["run", "sign_up.plan", "--run-id", "sign"]
            .into_iter()
            .chain(inputs),
    );
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(
        !project
            .events("sign")
            .iter()
            .any(|(event, ..)| event == "answer.given")
    );
    // An empty string is known but breaks the contract, so the form asks for it before anything is called.
    let inputs = [
        "name=张三",
        "phone=",
        "region=北京市",
        "id_card=110101199001011234",
    ];
    let inputs = inputs.iter().flat_map(|input| ["-i", *input]);
    let before = project.counts();
    let ran = project.planrun(
        ["run", "sign_up.plan", "--format", "json"]
            .into_iter()
            .chain(inputs),
    );
    assert_eq!(
        (ran.status, &ran.json()["status"]),
        (4, &json!("paused")),
        "{}",
        ran.stderr
    );
    assert_eq!(project.counts()["create_contact"], before["create_contact"]);
}

#[test]
fn somebody_says_by_a_signal_that_a_switch_went_well() {
    let project = HiringProject::open([]);
    let program = |arguments: &[&str]| {
        let program = planrun(arguments).within(project.place.path());
        project
            .mock
            .answering(program, &["deploy", "telemetry", "chat"])
            .run()
    };
    let inputs = [
        "-i",
        "service=search",
        "-i",
        "version=3.1.0",
        "-i",
        "at=2026-03-02T03:00:00Z",
    ];
    let run = [
        &["run", "maintenance.plan", "--run-id", "night"],
        &inputs[..],
    ]
    .concat();
    let paused = program(&run);
    assert_eq!(paused.status, 4, "{}", paused.stderr);
    let unfit = program(&["runs", "signal", "night", r#"all-clear={"by": 7}"#]);
    assert_eq!(unfit.status, 2, "{}", unfit.stderr);
    let ran = program(&[
        "runs",
        "signal",
        "night",
        r#"all-clear={"by": "mia"}"#,
        "--resume",
    ]);
    assert_eq!(
        (ran.status, &ran.json()["by"]),
        (0, &json!("mia")),
        "{}",
        ran.stderr
    );
    assert_eq!(project.mock.calls(), ["post", "roll_out", "error_rate"]);
}
