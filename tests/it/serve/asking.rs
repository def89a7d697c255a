//! Questions as links to pages, for clients that open them.

use planrun_core::journal::SubmittedAnswer;
use planrun_runs::runs::{Addressee, RunFilter};

use super::*;

const THINKS: Duration = Duration::from_millis(1100);

/// Returns a person whose client opens pages, and also displays forms if requested.
fn opens<const N: usize>(shows_forms: bool, answers: [(&str, Duration); N]) -> Person {
    Person::Opens {
        answers: answers
            .map(|(action, after)| (json!({ "action": action }), after))
            .into(),
        shows_forms,
        sends: "decision=yes",
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_opens_pages_is_given_the_address_and_the_model_is_not() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let desk = TicketProject::new();
        let person = opens(false, [("accept", THINKS)]);
        let mut client = desk.client(revision, person).await;
        let done = client.call("run", json!({ "plan": TIDY })).await;
        assert_eq!(done["structuredContent"]["reply"], 3, "{revision}: {done}");
        assert_eq!(desk.log().len(), 3);
        let question = client.questions[0].clone();
        assert_eq!(question["mode"], "url");
        let page = question["url"].as_str().unwrap();
        assert!(page.starts_with("http://127.0.0.1:"), "{page}");
        assert!(
            client.asked[0].contains("- desk.close: 5 times"),
            "{question}"
        );
        assert!(!done.to_string().contains(page), "{done}");
        if revision == "2025-11-25" {
            let done = client
                .notification("notifications/elicitation/complete")
                .await;
            assert_eq!(done["elicitationId"], question["elicitationId"]);
            assert!(
                question["elicitationId"]
                    .as_str()
                    .is_some_and(|id| !id.is_empty())
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_opens_no_page_is_told_of_it_and_a_no_to_it_is_final() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let desk = TicketProject::new();
        let person = opens(false, [("cancel", Duration::ZERO), ("decline", THINKS)]);
        let mut client = desk.client(revision, person).await;
        let (text, is_error) = client.call_text("run", json!({ "plan": TIDY })).await;
        let page = client.questions[0]["url"].as_str().unwrap().to_owned();
        assert!(
            !is_error && text.contains(&format!("answer at {page} or")),
            "{text}"
        );
        let (text, is_error) = client.call_text("run", json!({ "plan": TIDY })).await;
        assert!(is_error && text.contains("denied.human"), "{text}");
        assert!(desk.log().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_from_elsewhere_ends_a_page_that_is_open() {
    let desk = TicketProject::new();
    let person = Person::Opens {
        answers: [(json!({ "action": "accept" }), THINKS)].into(),
        shows_forms: false,
        sends: "",
    };
    let mut client = desk.client("2025-11-25", person).await;
    let planrun = desk.mode.planrun().clone();
    tokio::spawn(async move {
        let run = loop {
            tokio::time::sleep(THINKS * 2).await;
            let runs = planrun.list(&RunFilter::default()).unwrap_or_default();
            if let Some(run) = runs.into_iter().find(|run| run.status() == "paused") {
                break run.run.clone();
            }
        };
        let yes = SubmittedAnswer {
            path: "approval".into(),
            value: json!(true),
            by: None,
            note: None,
        };
        planrun.answer(Addressee::Run(&run), &[yes]).unwrap();
    });
    let done = client.call("run", json!({ "plan": TIDY })).await;
    assert_eq!(done["structuredContent"]["reply"], 3, "{done}");
    client
        .notification("notifications/elicitation/complete")
        .await;
    let page = client.questions[0]["url"].as_str().unwrap();
    let gone = browser().get(page).send().await.unwrap();
    assert_eq!(gone.status(), 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_that_nobody_has_seen_is_followed_by_the_page() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let desk = TicketProject::new();
        let person = opens(true, [("decline", Duration::ZERO), ("accept", THINKS)]);
        let mut client = desk.client(revision, person).await;
        let done = client.call("run", json!({ "plan": TIDY })).await;
        assert_eq!(done["structuredContent"]["reply"], 3, "{revision}: {done}");
        let modes: Vec<&Json> = client
            .questions
            .iter()
            .map(|asked| &asked["mode"])
            .collect();
        assert_eq!(modes, ["form", "url"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_form_has_is_asked_on_the_page_at_once() {
    const PLAN: &str = r#"step given = input "Which?" -> { ids: string[] } reply size(given.ids)"#;
    for revision in ["2025-11-25", "2026-07-28"] {
        let desk = TicketProject::new();
        let person = Person::Opens {
            answers: [(json!({ "action": "accept" }), Duration::ZERO)].into(),
            shows_forms: true,
            sends: "decision=yes&field.ids=%5B%22a%22%2C%22b%22%5D",
        };
        let mut client = desk.client(revision, person).await;
        let done = client.call("read", json!({ "plan": PLAN })).await;
        assert_eq!(done["structuredContent"]["reply"], 2, "{revision}: {done}");
        assert_eq!(client.questions[0]["mode"], "url");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn constants_in_a_question_are_listed_as_a_person_would() {
    const PLAN: &str = r#"use desk plan several() -> int {
        step all = each id in ["a", "b", "c", "d", "e"] max 5 { step c = desk.close(id: id, by: "me") yield c }
        reply size(all)
    }"#;
    let desk = TicketProject::new();
    let person = Person::answering([json!({ "action": "decline" })]);
    let mut client = desk.client("2025-11-25", person).await;
    let (text, _) = client.call_text("run", json!({ "plan": PLAN })).await;
    let question = client.asked.first().unwrap_or(&text);
    assert!(
        question.contains(r#"id is "a", "b" or one of 3 more, by = "me""#),
        "{question}"
    );
}

/// A project whose tool `desk.hold` answers only after `desk.free` was called.
fn holding() -> TicketProject {
    let desk = TicketProject::new();
    let freed = Arc::new(tokio::sync::Notify::new());
    let waiting = freed.clone();
    let hold = tool::from_async("tool desk.hold() -> string read", move |_: Json| {
        let waiting = waiting.clone();
        async move {
            waiting.notified().await;
            Ok::<_, CallError>("held")
        }
    });
    let free = tool::from_fn(
        "tool desk.free(by: string) -> string read",
        move |asked: Json| {
            freed.notify_one();
            Ok::<_, CallError>(asked["by"].clone())
        },
    );
    let planrun = Planrun::open(desk.folder.path()).unwrap();
    let tools: Vec<Tool> = [hold, free].map(Result::unwrap).into();
    TicketProject {
        mode: PlanMode::new(planrun.with_tools(tools)),
        ..desk
    }
}

/// The call ends only after the answer.
const HELD: &str = r#"use desk
plan held() -> string {
    parallel {
        step long = desk.hold()
        step free = do {
            step who = input "Who frees it?" -> { name: string }
            step freed = desk.free(by: who.name)
            yield freed
        }
    }
    reply "${long} for ${free}"
}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_beside_a_call_that_goes_on_is_asked() {
    let desk = holding();
    let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
    for revision in ["2025-11-25", "2026-07-28"] {
        let person = Person::answering([answer.clone()]);
        let mut client = desk.client(revision, person).await;
        let (text, is_error) = client.call_text("read", json!({ "plan": HELD })).await;
        assert!(!is_error && text.contains("held for Ada"), "{text}");
        assert_eq!(client.asked.len(), 1, "{:?}", client.asked);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_cannot_ask_is_told_of_a_question_beside_a_call() {
    let desk = holding();
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    let (text, _) = client.call_text("read", json!({ "plan": HELD })).await;
    assert!(text.contains("waits for the person"), "{text}");
    assert!(text.contains("Who frees it?"), "{text}");
    let run = text.split(' ').nth(1).unwrap().to_owned();
    let given = SubmittedAnswer::new("free.who", json!({ "name": "Bo" }));
    let planrun = desk.mode.planrun();
    planrun.answer(Addressee::Run(&run), &[given]).unwrap();
    let wait = json!({ "id": run, "wait_s": 45 });
    let (text, is_error) = client.call_text("runs", wait).await;
    assert!(!is_error && text.contains("held for Bo"), "{text}");
}
