//! The panel next to a result, for clients that support it.

use serde_json::{Value as Json, json};

use super::{Person, REVISIONS, TIDY, TicketProject, browser};

/// Returns the panel of each tool in a list that has one.
fn panels(listed: &Json) -> Vec<(&str, &Json)> {
    let tools = listed["tools"].as_array().unwrap().iter();
    tools
        .filter(|tool| !tool["_meta"].is_null())
        .map(|tool| (tool["name"].as_str().unwrap(), &tool["_meta"]["ui"]))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_shows_panels_has_one_for_what_a_run_may_ask() {
    for revision in REVISIONS {
        let desk = TicketProject::new();
        let mut client = desk.client(revision, Person::SeesPanels).await;
        let listed = client.request("tools/list", json!({})).await;
        let panel = json!({ "resourceUri": "ui://planrun/question", "visibility": ["model"] });
        let all = ["read", "run", "runs"].map(|tool| (tool, &panel));
        assert_eq!(panels(&listed), all, "{revision}");

        let asked = client.call("run", json!({ "plan": TIDY })).await;
        let question = &asked["_meta"]["planrun/question"];
        let text = question["text"].as_str().unwrap();
        assert!(text.contains("- desk.close: 5 times"), "{question}");
        assert!(
            question["command"]
                .as_str()
                .unwrap()
                .starts_with("planrun runs answer "),
            "{question}"
        );
        assert!(desk.log().is_empty());

        // The page that the panel opens: a person approves, and the run continues.
        let page = question["page"].as_str().unwrap();
        let sent = browser()
            .post(page)
            .body("decision=yes")
            .send()
            .await
            .unwrap();
        assert_eq!(sent.status(), 200);
        let run = text.rsplit("planrun runs show ").next().unwrap();
        let run = run.split(' ').next().unwrap();
        let done = client
            .call("runs", json!({ "id": run, "wait_s": 45 }))
            .await;
        assert_eq!(done["structuredContent"]["reply"], 3, "{revision}: {done}");
        assert!(done["_meta"]["planrun/question"].is_null(), "{done}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_panel_is_html_that_loads_nothing_and_puts_no_text_into_its_markup() {
    let desk = TicketProject::new();
    let mut client = desk.client("2025-11-25", Person::SeesPanels).await;
    let uri = "ui://planrun/question";
    let read = client
        .request("resources/read", json!({ "uri": uri }))
        .await;
    let panel = &read["contents"][0];
    assert_eq!(panel["mimeType"], "text/html;profile=mcp-app");
    // It requests no permissions from the host.
    assert_eq!(panel["_meta"]["ui"], json!({ "prefersBorder": true }));
    let html = panel["text"].as_str().unwrap();
    for way in [
        "innerHTML",
        "outerHTML",
        "document.write",
        "eval(",
        "src=",
        "tools/call",
    ] {
        assert!(!html.contains(way), "{way}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_declares_no_panels_is_told_of_none() {
    let desk = TicketProject::new();
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    let listed = client.request("tools/list", json!({})).await;
    assert_eq!(panels(&listed), []);
}
