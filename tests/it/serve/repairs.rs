//! A plan that replaces a failed one, some of whose effects may have happened.

use std::sync::atomic::{AtomicUsize, Ordering};

use planrun_lang::types::Transient;

use super::*;

const PAY: &str =
    "use bank\n\nplan pay() -> int {\n    step paid = bank.pay(cents: 5)\n    reply paid\n}\n";

/// Returns a project with a tool whose first call has no answer.
fn bank() -> (TicketProject, Arc<AtomicUsize>) {
    let (folder, calls) = (tempfile::tempdir().unwrap(), Arc::<AtomicUsize>::default());
    let count = calls.clone();
    let pay = tool::from_fn(
        "tool bank.pay(cents: int) -> int effect",
        move |_: Json| match count.fetch_add(1, Ordering::Relaxed) {
            0 => {
                let class = ErrorClass::Transient(Transient::Timeout);
                Err(CallError::new(class, "no answer", Sent::Maybe))
            }
            _ => Ok(1),
        },
    );
    let planrun = Planrun::open(folder.path()).unwrap();
    let mode = PlanMode::new(planrun.with_tools([pay.unwrap()]));
    let log = Log::default();
    (TicketProject { folder, mode, log }, calls)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_says_what_may_have_happened_already() {
    for again in [true, false] {
        let (bank, calls) = bank();
        let yes = |approve| json!({ "action": "accept", "content": { "approve": approve } });
        let person = Person::answering([yes(true), yes(again)]);
        let mut client = bank.client("2025-11-25", person).await;
        let (text, is_error) = client.call_text("run", json!({ "plan": PAY })).await;
        assert!(is_error && text.contains("unknown"), "{text}");
        let run = text.split(' ').nth(1).unwrap().to_owned();
        let (text, is_error) = client
            .call_text("run", json!({ "plan": PAY, "base": run }))
            .await;
        assert_eq!(is_error, !again, "{text}");
        let told = "It does again what an earlier run has done, or may have done:\n\
                    - paid (bank.pay, which may have happened)\n";
        let told: Vec<bool> = client
            .asked
            .iter()
            .map(|asked| asked.contains(told))
            .collect();
        assert_eq!(told, [false, true], "{:?}", client.asked);
        assert_eq!(calls.load(Ordering::Relaxed), 1 + usize::from(again));
        drop(bank);
    }
}
