//! Tools that are written in Rust.

use planrun::tool::{self, CallError, Tool};
use planrun_runs::driver::Silence;
use planrun_runs::runs::{PlanText, Planrun, RunOptions};
use serde_json::Value as Json;

/// Returns a tool that reads the mails of a user.
fn mails(user: &'static str) -> Tool {
    let read = move |_: Json| Ok::<_, CallError>(format!("the mail of {user}"));
    tool::from_fn("tool db.mail() -> string read", read).unwrap()
}

#[tokio::test]
async fn a_cached_answer_is_not_shared_with_a_tool_of_another_user() {
    let folder = tempfile::tempdir().unwrap();
    let text = "use db\n\nplan p() -> string {\n    step s = db.mail() cache 1h\n    reply s\n}\n";
    let reply = async |tool: Tool| {
        let planrun = Planrun::open(folder.path()).unwrap().with_tools([tool]);
        let checked = planrun.check(PlanText::new("a.plan", text)).unwrap();
        let plan = checked.plan(None).unwrap();
        let inputs = plan.inputs(serde_json::Map::new()).unwrap();
        let run = planrun.start(&plan, inputs, RunOptions::default()).unwrap();
        let outcome = run.drive(&mut Silence).await.unwrap().outcome;
        outcome.reply.unwrap().to_json().to_string()
    };
    let alice = mails("alice");
    assert_eq!(reply(alice.clone()).await, "\"the mail of alice\"");
    assert_eq!(reply(mails("bob")).await, "\"the mail of bob\"");
    // With the same identity, answers are shared.
    let known = |user| tool::with_identity(mails(user), "team");
    assert_eq!(reply(known("carol")).await, "\"the mail of carol\"");
    assert_eq!(reply(known("dave")).await, "\"the mail of carol\"");
    assert_eq!(
        reply(tool::with_identity(mails("erin"), "other")).await,
        "\"the mail of erin\""
    );
}
