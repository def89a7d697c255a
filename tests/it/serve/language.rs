//! The prompt with the language description, and completion of arguments.

use planrun_runs::runs::{CancelOptions, InputReader};

use super::*;

async fn completions(client: &mut Peer, of: Json, name: &str, typed: &str) -> Vec<String> {
    let argument = json!({ "name": name, "value": typed });
    let params = json!({ "ref": of, "argument": argument });
    let completed = client.request("completion/complete", params).await;
    serde_json::from_value(completed["completion"]["values"].clone()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_gives_a_model_the_card_and_a_page() {
    for revision in super::REVISIONS {
        let desk = TicketProject::new();
        let mut client = desk.client(revision, Person::Nobody).await;
        let listed = client.request("prompts/list", json!({})).await;
        let prompt = &listed["prompts"][0];
        assert_eq!(
            (&prompt["name"], &prompt["arguments"][0]["name"]),
            (&json!("language"), &json!("page"))
        );
        let card = planrun_serve::discovery::CARD.trim_end();
        for (arguments, page) in [
            (json!({}), None),
            (json!({ "page": "" }), None),
            (
                json!({ "page": "people" }),
                Some("planrun://language/people"),
            ),
            (
                json!({ "page": "maybe-absent" }),
                Some("planrun://language/maybe-absent"),
            ),
        ] {
            let get = json!({ "name": "language", "arguments": arguments });
            let given = client.request("prompts/get", get).await;
            let messages = given["messages"].as_array().unwrap();
            assert_eq!(messages[0]["content"]["text"], card);
            let uri = messages
                .get(1)
                .map(|page| page["content"]["resource"]["uri"].as_str());
            assert_eq!(uri.map(Option::unwrap), page, "{arguments}");
        }
        for wrong in [
            json!({ "name": "nothing" }),
            json!({ "name": "language", "arguments": { "page": "nothing" } }),
            json!({ "name": "language", "arguments": { "pages": "people" } }),
        ] {
            let refused = client.answer_to("prompts/get", wrong).await;
            assert_eq!(refused["error"]["code"], -32602, "{refused}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_and_runs_are_completed() {
    let desk = TicketProject::new();
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    let prompt = json!({ "type": "ref/prompt", "name": "language" });
    let page = json!({ "type": "ref/resource", "uri": "planrun://language/{+topic}" });
    let run = json!({ "type": "ref/resource", "uri": "planrun://runs/{id}" });
    let found = completions(&mut client, prompt.clone(), "page", "peop").await;
    assert!(found[0].starts_with("peop"), "{found:?}");
    assert!(
        found.iter().all(|topic| topic.contains("peop")),
        "{found:?}"
    );
    assert_eq!(completions(&mut client, page, "topic", "peop").await, found);
    assert!(
        completions(&mut client, run.clone(), "id", "")
            .await
            .is_empty()
    );
    let done = client.call("read", json!({ "plan": SEE })).await;
    let id = done["structuredContent"]["run"].as_str().unwrap();
    assert_eq!(
        completions(&mut client, run.clone(), "id", &id[..4]).await,
        [id]
    );
    assert!(completions(&mut client, run, "id", "x").await.is_empty());
    let params = json!({ "ref": prompt, "argument": { "name": "pages", "value": "" } });
    let refused = client.answer_to("completion/complete", params).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_only_plans_call_is_answered_with_a_plan_that_makes_that_call() {
    let desk = TicketProject::new();
    let mut client = desk.client("2025-11-25", Person::yes()).await;
    let (text, is_error) = client.call_text("desk.list", json!({})).await;
    let read =
        "Nothing was called. Plans call desk.list: read(plan: \"step r = desk.list() reply r\")";
    assert_eq!((&*text, is_error), (read, true));
    let id = "C:\\temp ${by}\n\"7\"";
    let given = json!({ "id": id, "by": "me" });
    let (text, _) = client.call_text("desk.close", given).await;
    let (_, plan) = text.split_once("run(plan: ").unwrap();
    let plan: Json = serde_json::from_str(plan.strip_suffix(')').unwrap()).unwrap();
    let (text, is_error) = client.call_text("run", json!({ "plan": plan })).await;
    assert!(!is_error, "{text}");
    assert_eq!(desk.log(), [format!("close {id}")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_in_a_code_fence_is_read() {
    let desk = TicketProject::new();
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    for plan in [
        format!("```plan\n{SEE}\n```"),
        format!("\n```\n{SEE}```\n"),
        SEE.to_owned(),
    ] {
        let (text, is_error) = client.call_text("read", json!({ "plan": plan })).await;
        assert!(!is_error && text.contains("\"reply\":3"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_under_the_name_that_clients_give_it_is_recognised() {
    let desk = TicketProject::new();
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    for (plan, code) in [
        ("step l = desk_list()\nreply l", "unknown-function"),
        ("step l = mcp__desk__list()\nreply l", "unknown-function"),
        (
            "step l = desk_close(id: \"1\", by: \"me\")\nreply l",
            "unknown-plan",
        ),
    ] {
        let (text, _) = client.call_text("read", json!({ "plan": plan })).await;
        let lists = format!("{code}] there is no");
        assert!(text.contains(&lists), "{text}");
        let own = if plan.contains("list") {
            "desk.list"
        } else {
            "desk.close"
        };
        assert!(text.contains(&format!("write `{own}`")), "{text}");
        assert!(!text.contains("main"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_a_person_cancelled_is_not_to_be_corrected() {
    let desk = TicketProject::new();
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    let plan = "use desk\nplan w() -> int { step a = desk.list() step f = input \"How many?\" -> { n: int } reply f.n }";
    let (text, _) = client.call_text("read", json!({ "plan": plan })).await;
    let run = text.split(' ').nth(1).unwrap().to_owned();
    let planrun = desk.mode.planrun();
    let cancelled = planrun.cancel(&run, CancelOptions::default(), ResumeOptions::default());
    let cancelled = cancelled.unwrap().expect("nobody drives it");
    cancelled.drive(&mut Silence).await.unwrap();
    let wait = json!({ "id": run, "wait_s": 30 });
    let (text, is_error) = client.call_text("runs", wait).await;
    assert!(
        is_error && text.contains("A person has cancelled it"),
        "{text}"
    );
    assert!(!text.contains("Correct the plan"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_of_a_single_call_is_listed_with_its_arguments() {
    let desk = TicketProject::new();
    let planrun = desk.mode.planrun();
    let workspace = Arc::new(planrun.workspace().unwrap());
    let catalog = workspace.catalog(None);
    let list = catalog
        .signatures()
        .find(|tool| &*tool.name == "close")
        .unwrap();
    let checked = workspace.clone().checked_call(list, &["id", "by"]);
    let plan = checked.plan(None).unwrap();
    let mut inputs = InputReader::new(&plan.plan);
    let given = json!({ "id": "t7", "by": "me" });
    inputs
        .take_object(given.as_object().unwrap().clone())
        .unwrap();
    let started = planrun.start(&plan, inputs.finish().unwrap(), RunOptions::default());
    started.unwrap().drive(&mut Silence).await.unwrap();
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    let (text, _) = client.call_text("runs", json!({})).await;
    let listed = "completed desk.close {\"by\":\"me\",\"id\":\"t7\"}";
    assert!(text.contains(listed), "{text}");
}
