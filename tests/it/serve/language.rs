//! The prompt with the language description, and completion of arguments.

use serde_json::{Value as Json, json};

use super::{Peer, Person, SEE, TicketProject};

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
