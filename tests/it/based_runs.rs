//! `run --base`: what a run takes over from another one, and what it does not send again by itself.

use std::sync::{Arc, Mutex};

use planrun::tool::{self, CallError, ErrorClass, Sent, Tool, Transient};
use planrun_core::run::{Outcome, RepeatReason};
use planrun_lang::protocol::RunState;
use planrun_runs::driver::Silence;
use planrun_runs::runs::{PlanText, Planrun, RunOptions};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::support::{folder, planrun};

/// The calls so far, in order.
type Log = Arc<Mutex<Vec<String>>>;

/// Returns a tool that logs its calls. The first call with a tag such as `lost-a` has no answer, that of `broken-a` an
/// answer of another type, and that of `busy-a` fails without having happened.
fn lab(contract: &str, log: &Log) -> Tool {
    let name = contract.split(['.', '(']).nth(1).unwrap().to_owned();
    let log = log.clone();
    let call = move |asked: Json| {
        let tag = asked["tag"].as_str().unwrap().to_owned();
        let line = format!("{name} {tag}");
        let mut log = log.lock().unwrap();
        log.push(line.clone());
        let is_first = log.iter().filter(|one| **one == line).count() == 1;
        match tag.split('-').next().filter(|_| is_first) {
            Some("lost") => {
                let class = ErrorClass::Transient(Transient::Timeout);
                Err(CallError::new(class, "no answer", Sent::Maybe))
            }
            Some("busy") => {
                let class = ErrorClass::Tool("busy".into());
                Err(CallError::new(class, "it is busy", Sent::Refused))
            }
            Some("broken") => Ok(json!("none")),
            _ => Ok(json!(2)),
        }
    };
    tool::from_fn(contract, call).unwrap()
}

/// A project with tools that log their calls.
struct Lab {
    folder: TempDir,
    planrun: Planrun,
    log: Log,
}

impl Lab {
    fn new() -> Self {
        let (folder, log) = (tempfile::tempdir().unwrap(), Log::default());
        let contracts = [
            "tool lab.make(tag: string) -> int effect fails busy",
            "tool lab.unmake(tag: string) -> int effect fails busy",
            "tool lab.put(tag: string, x?: int) -> int idempotent fails busy",
            "tool lab.look(tag: string) -> int read fails busy",
        ];
        let tools = contracts.map(|contract| lab(contract, &log));
        let planrun = Planrun::open(folder.path()).unwrap().with_tools(tools);
        Self {
            folder,
            planrun,
            log,
        }
    }

    /// Runs a plan with this body, perhaps on the base of another run. Returns the calls that it has made, and its
    /// outcome, or why it was not started.
    async fn run(
        &self,
        (body, version): (&str, i64),
        id: &str,
        base: Option<&str>,
        repeats_effects: bool,
    ) -> (Vec<String>, Result<Outcome, String>) {
        let before = self.log.lock().unwrap().len();
        let text = format!("use lab\n\nplan p(v: int) -> any {{\n{body}\n}}\n");
        let name = self.folder.path().join("a.plan").display().to_string();
        let checked = self.planrun.check(PlanText::new(&name, &text)).unwrap();
        let plan = checked.plan(None).unwrap();
        let inputs = json!({ "v": version });
        let inputs = plan.inputs(inputs.as_object().unwrap().clone()).unwrap();
        let base = match base {
            Some(base) => Some(self.planrun.base(base).await.unwrap()),
            None => None,
        };
        let options = RunOptions {
            id: Some(id.to_owned()),
            base,
            repeats_effects,
            ..RunOptions::default()
        };
        let outcome = match self.planrun.start(&plan, inputs, options) {
            Ok(run) => Ok(run.drive(&mut Silence).await.unwrap().outcome),
            Err(error) => Err(error.to_string()),
        };
        let calls = self.log.lock().unwrap()[before..].to_vec();
        (calls, outcome)
    }
}

#[tokio::test]
async fn what_may_have_happened_is_not_sent_again_without_consent() {
    let cases = [
        (
            "step pay = lab.make(tag: \"lost-a\")\nreply pay",
            "pay (lab.make, which may have happened)",
            "make lost-a",
        ),
        (
            "step pay = lab.make(tag: \"broken-a\")\nreply pay",
            "pay (lab.make, which may have happened)",
            "make broken-a",
        ),
        (
            "policy { on_failure: settle }
             step pay = lab.make(tag: \"lost-a\") recover unknown_outcome => 0
             step b = lab.make(tag: \"busy-b\")\nreply b",
            "pay (lab.make, which may have happened)",
            "make lost-a",
        ),
        (
            "step pay = lab.make(tag: \"a\") undo lab.unmake(tag: \"busy-a\")
             step b = lab.make(tag: \"busy-b\")\nreply b",
            "pay (lab.make, whose `undo` has failed)",
            "make a",
        ),
        (
            "step es = each x in [\"a\", \"lost-b\"] max 2 settle { step m = lab.make(tag: x) yield m }
             step b = lab.make(tag: \"busy-c\")\nreply es",
            "es[1].m (lab.make, which may have happened)",
            "make lost-b",
        ),
    ];
    for (body, listed, call) in cases {
        let lab = Lab::new();
        let (_, failed) = lab.run((body, 1), "r1", None, false).await;
        assert_eq!(failed.unwrap().state, RunState::Failed, "{body}");
        let (calls, refused) = lab.run((body, 1), "r2", Some("r1"), false).await;
        let refused = refused.err().unwrap_or_default();
        assert!(
            refused.ends_with(&format!(": {listed}")),
            "{body}: {refused}"
        );
        assert_eq!(calls, [""; 0], "{body}");
        let (calls, repeated) = lab.run((body, 1), "r3", Some("r1"), true).await;
        assert_eq!(repeated.unwrap().state, RunState::Completed, "{body}");
        assert!(calls.iter().any(|own| own == call), "{body}: {calls:?}");
        assert!(!calls.iter().any(|own| own == "make a" && call != own));
    }
}

#[tokio::test]
async fn what_was_undone_is_made_again_and_reads_below_it_are_not_kept() {
    let lab = Lab::new();
    let deploy = "step out = lab.make(tag: \"out\") undo lab.unmake(tag: \"out\")
        step smoke = lab.look(tag: \"smoke\")
        step told = lab.make(tag: \"busy-told\")
        reply smoke";
    lab.run((deploy, 1), "a1", None, false).await.1.unwrap();
    let (calls, again) = lab.run((deploy, 1), "a2", Some("a1"), false).await;
    assert_eq!(calls, ["make out", "look smoke", "make busy-told"]);
    let steps = again.unwrap().steps();
    let again = steps.iter().map(|step| step.again).collect::<Vec<_>>();
    let [undone, order] = [RepeatReason::Undone, RepeatReason::Order].map(Some);
    assert_eq!(again, [undone, order, None]);

    // What was pushed into a repository that is created anew has gone with the old one.
    let push = "step repo = lab.make(tag: \"repo\") undo lab.unmake(tag: \"repo\")
        step push = lab.put(tag: \"push\")
        step grant = lab.make(tag: \"busy-grant\")
        reply grant";
    lab.run((push, 1), "b1", None, false).await.1.unwrap();
    let (calls, refused) = lab.run((push, 1), "b2", Some("b1"), false).await;
    assert_eq!(calls, [""; 0]);
    let refused = refused.err().unwrap();
    let listed = ": push (lab.put, below an effect that is made again)";
    assert!(refused.ends_with(listed), "{refused}");
    let (calls, _) = lab.run((push, 1), "b3", Some("b1"), true).await;
    assert_eq!(calls, ["make repo", "put push", "make busy-grant"]);
}

#[tokio::test]
async fn below_an_effect_that_is_made_for_the_first_time_only_reads_are_made_again() {
    let lab = Lab::new();
    let below = "step mail = lab.make(tag: \"mail\")
        step n = lab.look(tag: \"n\")
        step b = lab.make(tag: \"busy-b\")
        reply n";
    lab.run((below, 1), "a1", None, false).await.1.unwrap();
    let more = format!("step first = lab.make(tag: \"first\")\n{below}");
    let (calls, _) = lab.run((&more, 1), "a2", Some("a1"), false).await;
    assert_eq!(calls, ["make first", "look n", "make busy-b"]);

    // Elements do not stand below each other, so only the one that has failed is made.
    let each = "policy { on_failure: settle }
        step es = each x in [\"a\", \"busy-x\", \"c\"] max 3 settle { step m = lab.make(tag: x) yield m }
        step end = lab.make(tag: \"busy-end\")
        reply es";
    lab.run((each, 1), "b1", None, false).await.1.unwrap();
    let (calls, _) = lab.run((each, 1), "b2", Some("b1"), false).await;
    assert_eq!(calls, ["make busy-x", "make busy-end"]);
}

#[tokio::test]
async fn a_refused_repetition_ends_the_run_and_no_arm_catches_it() {
    let lab = Lab::new();
    let put = "step out = lab.put(tag: \"out\", x: v) recover denied => 0\nreply out";
    for (policy, base) in [("undo", "a1"), ("pause", "b1"), ("settle", "c1")] {
        let body = format!("policy {{ on_failure: {policy} }}\n{put}");
        lab.run((&body, 1), base, None, false).await.1.unwrap();
        let id = format!("{base}-again");
        let (calls, refused) = lab.run((&body, 2), &id, Some(base), false).await;
        let refused = refused.unwrap();
        assert_eq!(calls, [""; 0], "{policy}");
        assert_eq!(refused.state, RunState::Failed, "{policy}");
        let error = refused.error.as_ref().unwrap();
        assert_eq!(error.class.to_string(), "denied.policy", "{policy}");
        assert!(
            error.message.contains("its arguments have changed: `out`"),
            "{error:?}"
        );
        // Whoever looks at the run sees the same.
        let recorded = lab.planrun.recorded(&id).unwrap().outcome().await.unwrap();
        for outcome in [&refused, &recorded] {
            let steps = outcome.steps();
            assert_eq!(
                (steps[0].status.name(), steps[0].attempts),
                ("failed", 0),
                "{policy}"
            );
            assert_eq!(outcome.usage.calls, 0, "{policy}");
        }
        let id = format!("{base}-yes");
        let (calls, repeated) = lab.run((&body, 2), &id, Some(base), true).await;
        assert_eq!(calls, ["put out"], "{policy}");
        assert_eq!(repeated.unwrap().state, RunState::Completed, "{policy}");
    }
}

#[tokio::test]
async fn what_a_based_run_has_not_come_to_is_still_known() {
    let lab = Lab::new();
    let body = "step n = lab.look(tag: \"n\")
        step a = lab.make(tag: \"a\")
        step b = lab.make(tag: \"busy-b\")
        reply n";
    lab.run((body, 1), "r1", None, false).await.1.unwrap();
    let more = format!("step z = lab.look(tag: \"busy-z\")\n{body}");
    let (calls, _) = lab.run((&more, 1), "r2", Some("r1"), false).await;
    assert!(
        !calls.iter().any(|call| call.starts_with("make")),
        "{calls:?}"
    );
    let (calls, completed) = lab.run((body, 1), "r3", Some("r2"), false).await;
    assert_eq!(completed.unwrap().state, RunState::Completed);
    let effects: Vec<_> = calls
        .iter()
        .filter(|call| call.starts_with("make"))
        .collect();
    assert_eq!(effects, ["make busy-b"]);
}

#[test]
fn a_dry_run_does_not_ignore_a_base() {
    let files = folder([(
        "a.plan",
        "use sys\n\nplan a() -> any {\n    step a = sys.now()\n    reply a\n}\n",
    )]);
    let within = |arguments: &[&str]| planrun(arguments).within(files.path()).run();
    assert_eq!(within(&["run", "a.plan", "--run-id", "r"]).status, 0);
    let output = within(&["run", "a.plan", "--base", "r", "--dry-run"]);
    assert_eq!(output.status, 2, "{output:?}");
    assert!(
        output.stderr.contains("cannot show what `--base` reuses"),
        "{output:?}"
    );
}
