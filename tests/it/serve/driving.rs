//! What drives runs and answers requests: a panic ends only its own run, and slow work delays no other request.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use planrun_runs::runs::RunFilter;

use super::*;

/// A plan of a size that takes a while to check.
fn large_plan() -> String {
    let mut plan = "use desk\nplan large() -> int {\n".to_owned();
    for number in 0..1_500 {
        writeln!(plan, "step open_{number} = desk.list()").unwrap();
    }
    plan + "reply size(open_0)\n}"
}

/// Sends a request, and small ones one after the other until it is answered. Returns how many of them were answered
/// before it.
async fn answered_before(client: &mut Peer, method: &str, params: Json) -> usize {
    let slow = client.begin(method, params).await;
    let mut small = client.begin("prompts/list", json!({})).await;
    let mut answered = 0;
    loop {
        let message = client.next().await;
        if message["id"] == slow {
            assert!(message["error"].is_null(), "{message}");
            return answered;
        }
        if message["id"] == small {
            answered += 1;
            small = client.begin("prompts/list", json!({})).await;
        }
    }
}

/// With a single thread for all requests.
#[tokio::test]
async fn a_request_that_takes_its_time_does_not_hold_others() {
    let desk = TicketProject::new();
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    let plan = large_plan();
    let call = |tool: &str, arguments: Json| json!({ "name": tool, "arguments": arguments });
    let run = call("read", json!({ "plan": plan }));
    assert!(answered_before(&mut client, "tools/call", run).await > 20);
    let planrun = desk.mode.planrun();
    let run = planrun
        .list(&RunFilter::default())
        .unwrap()
        .remove(0)
        .run
        .clone();
    let part = call("runs", json!({ "id": run, "path": "" }));
    let save = call("save", json!({ "name": "large", "plan": plan }));
    let other = desk.folder.path().join("plans/other.plan");
    for (method, params) in [
        ("tools/call", part),
        ("tools/call", save),
        ("tools/list", json!({})),
    ] {
        if method == "tools/list" {
            std::fs::write(&other, plan.replace("plan large", "plan other")).unwrap();
        }
        let answered = answered_before(&mut client, method, params.clone()).await;
        assert!(answered > 20, "{method} {answered}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_waits_for_an_event_is_no_error_and_is_waited_for() {
    let desk = TicketProject::new();
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    let plan =
        "plan see() -> int { step sent = wait for signal \"go\" -> int within 1h reply sent }";
    let (text, is_error) = client.call_text("read", json!({ "plan": plan })).await;
    assert!(!is_error, "{text}");
    let run = text.split(' ').nth(1).unwrap().to_owned();
    for told in [
        "`sent` waits for `signal \"go\"`",
        &format!("planrun runs signal {run} go=<int>"),
        "It wakes at 20",
        "wait_s: 45",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
    let arguments = json!({ "name": "runs", "arguments": { "id": run, "wait_s": 30 } });
    let waiting = client.begin("tools/call", arguments).await;
    desk.mode.planrun().signal(&run, "go", json!(5)).unwrap();
    loop {
        let message = client.next().await;
        if message["id"] == waiting {
            let reply = &message["result"]["structuredContent"]["reply"];
            assert_eq!(*reply, json!(5), "{message}");
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_panics_fails_its_step_and_the_server_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let is_mended = Arc::new(AtomicBool::new(false));
    let mended = is_mended.clone();
    let faulty = tool::from_fn("tool faulty.get() -> int read", move |_: Json| {
        assert!(mended.load(Ordering::Relaxed), "a defect of this tool");
        Ok::<_, CallError>(1)
    });
    let planrun = Planrun::open(folder.path())
        .unwrap()
        .with_tools([faulty.unwrap()]);
    let desk = TicketProject {
        mode: PlanMode::new(planrun),
        folder,
        log: Log::default(),
    };
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    let plan = "use faulty plan see() -> int { step one = faulty.get() reply one }";
    let (text, is_error) = client.call_text("read", json!({ "plan": plan })).await;
    assert!(is_error && text.contains("has panicked"), "{text}");
    is_mended.store(true, Ordering::Relaxed);
    let (text, is_error) = client.call_text("read", json!({ "plan": plan })).await;
    assert!(!is_error && text.contains("\"reply\":1"), "{text}");
}
