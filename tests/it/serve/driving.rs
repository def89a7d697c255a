//! What drives runs: a panic ends only its own run.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_panics_has_stopped_and_can_be_resumed() {
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
    let run = text.split([' ', ':']).nth(1).unwrap();
    let (text, is_error) = client
        .call_text("runs", json!({ "id": run, "wait_s": 20 }))
        .await;
    assert!(!is_error && text.contains("\"reply\":1"), "{text}");
}
