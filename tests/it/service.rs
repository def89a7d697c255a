//! The service API that programs use instead of the command line: concurrent runs, following events, refusals.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use planrun_core::journal::SubmittedAnswer;
use planrun_core::run::Asking;
use planrun_lang::protocol::RunState;
use planrun_lang::value::Value;
use planrun_runs::driver::{Answering, Asker, Silence};
use planrun_runs::journal::store::MemoryStore;
use planrun_runs::runs::{
    Addressee, CancelOptions, CheckedPlan, Driven, Error, ErrorKind, EventOptions, PlanText,
    Planrun, Prune, Pruning, ResumeOptions, Run, RunFilter, RunOptions, RunSummary, real_host,
};
use planrun_tools::project::Location;
use serde_json::{Map, Value as Json, json};
use tempfile::TempDir;

const COPY: &str = r#"
use fs

plan copy(number: int) -> string {
    allow { read: ["out/**"], write: ["out/**"] }
    let name = "out/${number}.txt"
    step written = fs.write(path: name, content: "number ${number}")
    step back = fs.read(path: name)
    reply back
}
"#;

const ORDER: &str = r#"
plan order(item: string) -> string {
    step form = input "How many?" -> { count: int } by "desk"
    listener stop on signal "stop" -> { why: string } as told {
        let why = told.why
    }
    reply "${form.count} ${item}"
}
"#;

fn plan(planrun: &Planrun, folder: &TempDir, text: &str) -> CheckedPlan {
    let name = folder.path().join("a.plan").display().to_string();
    planrun
        .check(PlanText::new(&name, text))
        .unwrap()
        .plan(None)
        .unwrap()
}

fn begun(planrun: &Planrun, plan: &CheckedPlan, id: &str, inputs: &Json) -> Result<Run, Error> {
    let inputs = plan.inputs(inputs.as_object().unwrap().clone())?;
    planrun.start(
        plan,
        inputs,
        RunOptions {
            id: Some(id.to_owned()),
            ..RunOptions::default()
        },
    )
}

async fn driven(run: Run) -> Driven {
    run.drive(&mut Silence).await.unwrap()
}

fn text(reply: Option<&Value>) -> &str {
    reply.and_then(Value::as_str).unwrap_or_default()
}

fn answer(value: Json, by: &str) -> SubmittedAnswer {
    SubmittedAnswer {
        path: "form".into(),
        value,
        by: Some(by.into()),
        note: None,
    }
}

fn kind<T>(result: Result<T, Error>) -> (ErrorKind, String) {
    let error = result.err().unwrap();
    (error.kind(), error.to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_runs_go_on_at_once_in_one_process() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("out")).unwrap();
    let planrun = Planrun::open(folder.path()).unwrap();
    let plan = plan(&planrun, &folder, COPY);
    let runs = (0..20).map(|number| {
        begun(
            &planrun,
            &plan,
            &format!("r{number}"),
            &json!({ "number": number }),
        )
        .unwrap()
    });
    let runs: Vec<Run> = runs.collect();
    // All of them have started, and this process holds every lease, before the first continues.
    assert_eq!(
        planrun
            .list(&RunFilter::default())
            .unwrap()
            .iter()
            .filter(|run| run.driven)
            .count(),
        20
    );
    let tasks: Vec<_> = runs
        .into_iter()
        .map(|run| tokio::spawn(driven(run)))
        .collect();
    for (number, task) in tasks.into_iter().enumerate() {
        let outcome = task.await.unwrap().outcome;
        let expected = format!("number {number}");
        assert_eq!(
            (outcome.state, text(outcome.reply.as_ref())),
            (RunState::Completed, &*expected)
        );
        assert_eq!(
            std::fs::read_to_string(folder.path().join(format!("out/{number}.txt"))).unwrap(),
            expected
        );
    }
    let done = planrun
        .list(&RunFilter {
            states: vec![RunState::Completed],
            ..RunFilter::default()
        })
        .unwrap();
    assert!(
        done.len() == 20 && done.iter().all(|run| run.ended && !run.driven),
        "{done:?}"
    );
}

#[tokio::test]
async fn events_are_followed_from_process_to_process_until_the_run_ends() {
    let folder = tempfile::tempdir().unwrap();
    let planrun = Planrun::open(folder.path()).unwrap();
    let plan = plan(&planrun, &folder, ORDER);
    let run = begun(&planrun, &plan, "r1", &json!({ "item": "cups" })).unwrap();
    let mut events = planrun.follow("r1", EventOptions::default()).unwrap();
    let follow = async {
        let mut lines = Vec::new();
        while let Some(event) = events.next().await {
            lines.push(event.unwrap());
        }
        lines
    };
    // A second instance on the same project, like another process.
    let other = Planrun::open(folder.path()).unwrap();
    let act = async {
        assert_eq!(driven(run).await.outcome.state, RunState::Paused);
        let asked = other.inbox(None).unwrap().runs;
        assert_eq!(
            (asked.len(), asked[0].run(), &*asked[0].questions()[0].0),
            (1, "r1", "form")
        );
        other
            .answer(Addressee::All, &[answer(json!({ "count": 3 }), "desk")])
            .unwrap();
        driven(other.resume("r", ResumeOptions::default()).unwrap())
            .await
            .outcome
    };
    let (lines, outcome) = tokio::join!(follow, act);
    assert_eq!(
        (outcome.state, text(outcome.reply.as_ref())),
        (RunState::Completed, "3 cups")
    );
    let numbers: Vec<u64> = lines.iter().map(|event| event.number).collect();
    assert_eq!(numbers, (1..=lines.len() as u64).collect::<Vec<_>>());
    assert!(
        lines.last().unwrap().line.contains("run.settled"),
        "{lines:?}"
    );
    let there: Vec<_> = planrun
        .events("r1", EventOptions::default())
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(there, lines);
    let rest = planrun
        .events("r1", EventOptions { from: 3 })
        .unwrap()
        .map(Result::unwrap)
        .collect::<Vec<_>>();
    assert_eq!(rest, lines[2..]);
}

#[tokio::test]
async fn runs_can_be_kept_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let (host, location) = (
        real_host(),
        Location {
            folder: folder.path().to_owned(),
            file: None,
        },
    );
    let store = Arc::new(MemoryStore::new(host.clone()));
    let planrun = Planrun::with_store(host, location, store);
    let plan = plan(&planrun, &folder, ORDER);
    let outcome = driven(begun(&planrun, &plan, "r1", &json!({ "item": "cups" })).unwrap())
        .await
        .outcome;
    assert_eq!(outcome.state, RunState::Paused);
    planrun
        .answer(
            Addressee::Run("r1"),
            &[answer(json!({ "count": 3 }), "desk")],
        )
        .unwrap();
    let outcome = driven(planrun.resume("r1", ResumeOptions::default()).unwrap())
        .await
        .outcome;
    assert_eq!(
        (outcome.state, text(outcome.reply.as_ref())),
        (RunState::Completed, "3 cups")
    );
    let run = planrun.run("r1").unwrap();
    assert!(
        run.ended
            && !run.driven
            && run.events
                == planrun
                    .events("r1", EventOptions::default())
                    .unwrap()
                    .count() as u64
    );
    assert!(!folder.path().join(".planrun").exists());
}

/// An asker that fills in every form.
struct FixedAsker;

impl Asker for FixedAsker {
    fn ask(&self, asking: Asking) -> Pin<Box<dyn Future<Output = Option<SubmittedAnswer>> + Send>> {
        Box::pin(async move {
            Some(SubmittedAnswer {
                path: asking.path,
                ..answer(json!({ "count": 7 }), "desk")
            })
        })
    }
}

#[tokio::test]
async fn questions_go_to_whoever_is_handed_in_and_a_run_may_leave_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let planrun = Planrun::open(folder.path()).unwrap();
    let plan = plan(&planrun, &folder, ORDER);
    let answering = Answering {
        asker: Some(Arc::new(FixedAsker)),
        ..Answering::default()
    };
    let drive = ResumeOptions {
        answering,
        ..ResumeOptions::default()
    };
    let inputs = plan
        .inputs(Map::from_iter([("item".into(), json!("cups"))]))
        .unwrap();
    let run = planrun
        .start(
            &plan,
            inputs,
            RunOptions {
                ephemeral: true,
                drive,
                ..RunOptions::default()
            },
        )
        .unwrap();
    assert!(!run.is_durable());
    assert_eq!(text(driven(run).await.outcome.reply.as_ref()), "7 cups");
    assert!(!folder.path().join(".planrun").exists());
    assert!(planrun.list(&RunFilter::default()).unwrap().is_empty());
}

#[tokio::test]
async fn a_run_of_the_same_id_is_the_same_run() {
    let folder = tempfile::tempdir().unwrap();
    let planrun = Planrun::open(folder.path()).unwrap();
    let plan = plan(&planrun, &folder, ORDER);
    let item = json!({ "item": "cups" });
    driven(begun(&planrun, &plan, "r1", &item).unwrap()).await;
    let inputs = plan.inputs(item.as_object().unwrap().clone()).unwrap();
    let ephemeral = RunOptions {
        id: Some("r1".to_owned()),
        ephemeral: true,
        ..RunOptions::default()
    };
    let refused = kind(planrun.start(&plan, inputs, ephemeral));
    assert_eq!(refused.0, ErrorKind::Invalid, "{}", refused.1);
    let again = begun(&planrun, &plan, "r1", &item).unwrap();
    assert!(again.continues() && !again.has_ended());
    let (driven_by, _) = kind(planrun.resume("r1", ResumeOptions::default()));
    assert_eq!(driven_by, ErrorKind::Busy, "`again` holds the lease");
    drop(again);
    planrun
        .answer(
            Addressee::Run("r1"),
            &[answer(json!({ "count": 1 }), "desk")],
        )
        .unwrap();
    driven(planrun.resume("r1", ResumeOptions::default()).unwrap()).await;
    let ended = begun(&planrun, &plan, "r1", &item).unwrap();
    assert!(ended.has_ended());
    assert_eq!(text(driven(ended).await.outcome.reply.as_ref()), "1 cups");
    let other = begun(&planrun, &plan, "r1", &json!({ "item": "mugs" }));
    assert_eq!(kind(other).0, ErrorKind::Conflict);
}

#[tokio::test]
async fn what_does_not_fit_is_refused_with_its_kind_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let planrun = Planrun::open(folder.path()).unwrap();
    let broken = planrun
        .check(PlanText::new(
            "a.plan",
            "plan a() -> int {\n    reply nobody\n}\n",
        ))
        .unwrap();
    let Err(Error::Findings(reports)) = broken.plan(None) else {
        panic!("a plan with errors")
    };
    assert!(reports.iter().any(|report| !report.diagnostics.is_empty()));
    let plan = plan(&planrun, &folder, ORDER);
    assert_eq!(
        kind(plan.inputs(Map::new())),
        (ErrorKind::Invalid, "`order` needs more inputs: item".into())
    );
    assert_eq!(
        kind(begun(&planrun, &plan, "r0", &json!({ "item": 1 }))).0,
        ErrorKind::Invalid
    );
    driven(begun(&planrun, &plan, "r1", &json!({ "item": "cups" })).unwrap()).await;
    let before: Vec<RunSummary> = planrun.list(&RunFilter::default()).unwrap();
    let cases = [
        (kind(planrun.run("nobody")), ErrorKind::NotFound),
        (
            kind(planrun.answer(
                Addressee::Run("r1"),
                &[answer(json!({ "count": "x" }), "desk")],
            )),
            ErrorKind::Invalid,
        ),
        (
            kind(planrun.answer(
                Addressee::Run("r1"),
                &[answer(json!({ "count": 1 }), "boss")],
            )),
            ErrorKind::Invalid,
        ),
        (
            kind(planrun.signal("r1", "go", Json::Null)),
            ErrorKind::Invalid,
        ),
        (
            kind(planrun.signal("r1", "stop", json!({ "why": 1 }))),
            ErrorKind::Invalid,
        ),
    ];
    for ((kind, text), expected) in cases {
        assert_eq!(kind, expected, "{text}");
    }
    assert_eq!(planrun.list(&RunFilter::default()).unwrap(), before);
    assert!(
        !planrun
            .signal("r1", "stop", json!({ "why": "late" }))
            .unwrap(),
        "nobody drives it"
    );
    let run = planrun
        .cancel("r1", CancelOptions::default(), ResumeOptions::default())
        .unwrap()
        .unwrap();
    assert_eq!(driven(run).await.outcome.state, RunState::Cancelled);
    let ended = planrun.cancel("r1", CancelOptions::default(), ResumeOptions::default());
    assert_eq!(
        kind(ended),
        (
            ErrorKind::Conflict,
            "the run `r1` has ended: cancelled".into()
        )
    );
    assert_eq!(
        kind(planrun.retry("r1", ResumeOptions::default())).0,
        ErrorKind::Conflict
    );
    assert_eq!(
        planrun
            .prune(Pruning::Ended(Prune::default()))
            .unwrap()
            .runs,
        ["r1"]
    );
}

#[tokio::test]
async fn a_new_run_takes_over_from_another_and_repeats_no_effect_without_consent() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("out")).unwrap();
    let planrun = Planrun::open(folder.path()).unwrap();
    let plan = plan(&planrun, &folder, COPY);
    driven(begun(&planrun, &plan, "r1", &json!({ "number": 1 })).unwrap()).await;
    let base = || async { planrun.base("r1").await.unwrap() };
    let from = |base: planrun_runs::runs::Base, repeats_effects| {
        let inputs = base.inputs_for(&plan.plan);
        let from = Some("written".to_owned());
        planrun.start(
            &plan,
            inputs,
            RunOptions {
                base: Some(base),
                from,
                repeats_effects,
                ..RunOptions::default()
            },
        )
    };
    let refused = from(base().await, false);
    assert_eq!(
        kind(refused).1,
        "this would repeat what the run r1 has already done: written (fs.write)"
    );
    std::fs::remove_file(folder.path().join("out/1.txt")).unwrap();
    let outcome = driven(from(base().await, true).unwrap()).await.outcome;
    assert_eq!(
        (outcome.state, text(outcome.reply.as_ref())),
        (RunState::Completed, "number 1")
    );
    assert!(folder.path().join("out/1.txt").exists());
}

const STAGED: &str = r#"
use fs

plan staged(number: int) -> int {
    allow { read: ["."], write: ["out"] }
    step one = fs.write(path: "out/one.txt", content: "1")
    step inner = do {
        step two = fs.write(path: "out/two.txt", content: "2")
        yield 2
    } undo fs.write(path: "out/undone.txt", content: "0")
    step three = fs.write(path: "out/three.txt", content: "3")
    ensure number > 1 else "too small"
    reply number
}
"#;

#[tokio::test]
async fn a_resumed_run_still_reuses_results_and_what_was_undone_is_done_again() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("out")).unwrap();
    let planrun = Planrun::open(folder.path()).unwrap();
    let plan = plan(&planrun, &folder, STAGED);
    let failed = begun(&planrun, &plan, "r1", &json!({ "number": 1 })).unwrap();
    assert_eq!(driven(failed).await.outcome.state, RunState::Failed);
    let files = || {
        let exists = |name: &&str| folder.path().join("out").join(name).exists();
        let names = ["one.txt", "two.txt", "three.txt", "undone.txt"];
        names.into_iter().filter(exists).collect::<Vec<_>>()
    };
    assert_eq!(files().len(), 4);
    for name in files() {
        std::fs::remove_file(folder.path().join("out").join(name)).unwrap();
    }
    let start = async |repeats_effects| {
        let inputs = json!({ "number": 2 });
        let inputs = plan.inputs(inputs.as_object().unwrap().clone()).unwrap();
        let options = RunOptions {
            id: Some("r2".into()),
            base: Some(planrun.base("r1").await.unwrap()),
            repeats_effects,
            drive: ResumeOptions {
                until: Some("one".to_owned()),
                ..ResumeOptions::default()
            },
            ..RunOptions::default()
        };
        planrun.start(&plan, inputs, options)
    };
    assert_eq!(
        kind(start(false).await).1,
        "this would repeat what the run r1 has already done: three (fs.write, below an effect that is made again)"
    );
    driven(start(true).await.unwrap()).await;
    assert_eq!(files(), [""; 0]);
    let open = planrun.base("r2").await;
    let (refused, message) = kind(open);
    assert_eq!(refused, ErrorKind::Conflict);
    assert!(message.contains("`r2` has not ended"), "{message}");
    let resumed = planrun.resume("r2", ResumeOptions::default()).unwrap();
    let outcome = driven(resumed).await.outcome;
    assert_eq!(outcome.state, RunState::Completed);
    let again = ["two.txt", "three.txt"];
    assert_eq!(files(), again, "what r1 has undone, and what is below it");
}

/// Returns an engine with one tool of its own, written in Rust.
fn with_own_tool(folder: &TempDir) -> Planrun {
    let double = planrun::tool::from_fn(
        "tool math.double(number: int) -> int pure",
        |asked: Json| Ok::<_, planrun::tool::CallError>(asked["number"].as_i64().unwrap() * 2),
    );
    Planrun::open(folder.path())
        .unwrap()
        .with_tools([double.unwrap()])
}

const DOUBLED: &str = r#"
use math

plan doubled() -> int {
    step form = input "How many?" -> { count: int }
    step twice = math.double(number: form.count)
    reply twice
}
"#;

#[tokio::test]
async fn s1_9_the_later_tool_of_a_name_counts_and_one_without_a_contract_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let echo = |gives: i64| {
        planrun::tool::from_fn("tool math.one() -> int pure", move |_: Json| {
            Ok::<_, planrun::tool::CallError>(gives)
        })
        .unwrap()
    };
    let planrun = Planrun::open(folder.path())
        .unwrap()
        .with_tools([echo(1), echo(2)]);
    let text = "use math\nplan p() -> int { step a = math.one() reply a }";
    let run = begun(&planrun, &plan(&planrun, &folder, text), "r1", &json!({})).unwrap();
    let outcome = driven(run).await.outcome;
    assert_eq!(outcome.reply.unwrap().to_json(), json!(2));
    let unknown = PlanText::new("b.plan", "use math\nplan p() { step a = math.two() }");
    let reports = planrun.check(unknown).unwrap().reports();
    assert_eq!(reports[0].diagnostics[0].code.name, "unknown-tool");
    for contract in [
        "",
        "tool math() -> int",
        "tool math.one() -> int pure\ntool math.two()",
    ] {
        let tool = planrun::tool::from_fn(contract, |_: Json| Ok::<_, planrun::tool::CallError>(1));
        assert!(tool.is_err(), "{contract}");
    }
}

#[tokio::test]
async fn a_tool_in_rust_is_checked_called_and_called_again_by_the_process_that_resumes() {
    let folder = tempfile::tempdir().unwrap();
    let planrun = with_own_tool(&folder);
    let text = DOUBLED.replace("number: form.count", "number: \"two\"");
    let wrong = planrun.check(PlanText::new("a.plan", &text)).unwrap();
    let reports = wrong.reports();
    assert_eq!(reports[0].diagnostics[0].code.name, "wrong-type");
    let paused = begun(
        &planrun,
        &plan(&planrun, &folder, DOUBLED),
        "r1",
        &json!({}),
    )
    .unwrap();
    assert_eq!(driven(paused).await.outcome.state, RunState::Paused);
    planrun
        .answer(
            Addressee::Run("r1"),
            &[SubmittedAnswer::new("form", json!({ "count": 4 }))],
        )
        .unwrap();
    let next = with_own_tool(&folder);
    let resumed = next.resume("r1", ResumeOptions::default()).unwrap();
    let outcome = driven(resumed).await.outcome;
    assert_eq!(outcome.reply, Some(Value::Int(8)));
}

#[tokio::test]
async fn whoever_resumes_without_the_tool_is_refused_and_the_run_waits_for_who_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let planrun = with_own_tool(&folder);
    let paused = begun(
        &planrun,
        &plan(&planrun, &folder, DOUBLED),
        "r1",
        &json!({}),
    )
    .unwrap();
    driven(paused).await;
    let stranger = Planrun::open(folder.path()).unwrap();
    let refused = kind(stranger.resume("r1", ResumeOptions::default()));
    let why = "the run `r1` cannot continue here: there is no namespace `math`";
    assert_eq!(refused, (ErrorKind::Environment, why.to_owned()));
    assert_eq!(planrun.run("r1").unwrap().state, Some(RunState::Paused));
    assert!(!planrun.run("r1").unwrap().driven);
    assert!(
        with_own_tool(&folder)
            .resume("r1", ResumeOptions::default())
            .is_ok()
    );
}

#[test]
fn a_contract_that_cannot_be_used_says_why() {
    let tool = |contract: &str| {
        let made = planrun::tool::from_fn(contract, |_: Json| Ok(Json::Null));
        made.err().map(|error| error.to_string())
    };
    assert_eq!(tool("tool a.b(x: int) -> int read"), None);
    for (contract, why) in [
        ("tool a.b(x: itn) -> int read", "itn"),
        ("tool a.b(x: int) -> int raed", "contract:1:"),
        ("", "must declare exactly one tool"),
        (
            "tool a.b() -> int\ntool a.c() -> int",
            "must declare exactly one tool",
        ),
    ] {
        let message = tool(contract).unwrap();
        assert!(message.contains(why), "{contract}: {message}");
    }
}

#[test]
fn a_forecast_calls_nothing_and_says_what_is_not_known_yet() {
    let folder = tempfile::tempdir().unwrap();
    let planrun = with_own_tool(&folder);
    let plan = plan(&planrun, &folder, DOUBLED);
    let inputs = plan.inputs(Map::new()).unwrap();
    let whole = planrun.forecast(&plan, &inputs, None).unwrap();
    let document = serde_json::to_value(&whole).unwrap();
    assert_eq!(document["steps"][1]["tool"], "math.double");
    assert_eq!(
        document["steps"][1]["unknown"]["number"],
        json!({ "expression": "form.count", "after": ["form"] })
    );
    assert_eq!(whole.calls["pure"], 1);
    assert_eq!(
        document["bounds"],
        json!({"uses": [{"tool": "math.double", "effect": "pure", "role": "forward", "max": 1, "attempts": 3,
            "arguments": [{"name": "number", "from": [{"answer": "form"}]}]}], "limits": {}})
    );
    let first = planrun.forecast(&plan, &inputs, Some("form")).unwrap();
    assert!(first.calls.is_empty() && first.bounds.uses.is_empty());
    let (unknown, _) = kind(planrun.forecast(&plan, &inputs, Some("fourth")));
    assert_eq!(unknown, ErrorKind::NotFound);
    assert!(
        !folder.path().join(".planrun").exists(),
        "no journal is made"
    );
}

const SHORT: &str = r"
use pace

plan short(number: int) -> int {
    step one = pace.work(run: number)
    step two = pace.work(run: number)
    step three = pace.work(run: number)
    reply number
}
";

/// Makes effects until a tool reports that all other runs have ended.
const RESTLESS: &str = r"
use pace

plan restless() -> int {
    step rounds = repeat round = 0 max 10000 {
        step others = pace.others_left()
        yield others
        next others == 0 ? null : round + 1
    }
    reply rounds.size()
}
";

/// A thousand runs share a thread and a writer. The restless run ends only when all others have, and fails after 10,000
/// rounds, so it cannot complete if it starves one of them.
#[tokio::test]
async fn a_thousand_runs_go_on_at_once_and_a_restless_one_starves_none() {
    const RUNS: usize = 1000;
    let folder = tempfile::tempdir().unwrap();
    let calls: Arc<Mutex<Vec<u32>>> = Arc::new(Mutex::new(vec![0; RUNS]));
    let ended = Arc::new(AtomicUsize::new(0));
    let (counted, left) = (calls.clone(), ended.clone());
    let tools = [
        planrun::tool::from_fn(
            "tool pace.work(run: int) -> int effect",
            move |asked: Json| {
                let run = usize::try_from(asked["run"].as_u64().unwrap()).unwrap();
                counted.lock().unwrap()[run] += 1;
                Ok::<_, planrun::tool::CallError>(run)
            },
        ),
        planrun::tool::from_fn("tool pace.others_left() -> int effect", move |_: Json| {
            Ok::<_, planrun::tool::CallError>(RUNS - left.load(Ordering::SeqCst))
        }),
    ];
    let planrun = Planrun::open(folder.path())
        .unwrap()
        .with_tools(tools.map(Result::unwrap));
    let restless = plan(&planrun, &folder, RESTLESS);
    let restless = begun(&planrun, &restless, "restless", &json!({})).unwrap();
    let restless = tokio::spawn(driven(restless));
    let short = plan(&planrun, &folder, SHORT);
    let begin = |number| {
        let (id, inputs) = (format!("r{number}"), json!({ "number": number }));
        begun(&planrun, &short, &id, &inputs).unwrap()
    };
    // All of them have started before the first continues.
    let runs: Vec<Run> = (0..RUNS).map(begin).collect();
    let drive = |run| {
        let ended = ended.clone();
        tokio::spawn(async move {
            let outcome = driven(run).await.outcome;
            ended.fetch_add(1, Ordering::SeqCst);
            (outcome.state, outcome.reply)
        })
    };
    let tasks: Vec<_> = runs.into_iter().map(drive).collect();
    for (number, task) in tasks.into_iter().enumerate() {
        let reply = Some(Value::Int(i64::try_from(number).unwrap()));
        assert_eq!(task.await.unwrap(), (RunState::Completed, reply));
    }
    let restless = restless.await.unwrap().outcome;
    assert_eq!(restless.state, RunState::Completed, "{:?}", restless.error);
    assert!(calls.lock().unwrap().iter().all(|count| *count == 3));
    let filter = RunFilter {
        states: vec![RunState::Completed],
        ..RunFilter::default()
    };
    let done = planrun.list(&filter).unwrap();
    assert_eq!(done.len(), RUNS + 1);
    assert!(done.iter().all(|run| run.ended && !run.driven));
}

/// Each commit waits for the disk. One precedes an effect, and the last one also releases the run.
#[tokio::test]
async fn a_run_makes_no_more_commits_than_its_effects_need() {
    let pure = "use sys\n\nplan short() {\n    step a = sys.echo(value: 1)\n    reply a\n}\n";
    let effect = COPY.replace(
        "    step back = fs.read(path: name)\n    reply back",
        "    reply name",
    );
    for (text, inputs, commits) in [
        (pure, json!({}), 1),
        (effect.as_str(), json!({ "number": 1 }), 2),
    ] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("out")).unwrap();
        let planrun = Planrun::open(folder.path()).unwrap();
        let run = begun(&planrun, &plan(&planrun, &folder, text), "r1", &inputs).unwrap();
        assert_eq!(driven(run).await.outcome.state, RunState::Completed);
        let journal = folder.path().join(".planrun/journal.db");
        let journal = rusqlite::Connection::open(journal).unwrap();
        let one = |select| journal.query_row(select, [], |row| row.get::<_, i64>(0));
        // Every commit of events adds a segment.
        assert_eq!(one("SELECT count(*) FROM segments"), Ok(commits), "{text}");
        assert_eq!(one("SELECT count(driver) FROM runs"), Ok(0), "{text}");
    }
}
