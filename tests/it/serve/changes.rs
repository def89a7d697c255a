//! Notifications of a client: saved plans that were edited by hand, and runs that it subscribed to.

use std::fs;

use serde_json::{Value as Json, json};

use super::{Peer, Person, SEE, TIDY, TicketProject, browser, page_of};

const CHANGED: &str = "notifications/tools/list_changed";
const UPDATED: &str = "notifications/resources/updated";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_before_the_subscription_is_told() {
    let desk = TicketProject::new();
    let mut client = desk.client("2026-07-28", Person::Nobody).await;
    assert_eq!(see(&mut client).await, None);
    let plans = desk.folder.path().join("plans");
    fs::create_dir(&plans).unwrap();
    fs::write(plans.join("see.plan"), SEE).unwrap();
    // This list is of another request, whose answer the listener need not know.
    assert!(see(&mut client).await.is_some());
    let filter = json!({ "toolsListChanged": true });
    let listen = json!({ "notifications": filter });
    client.begin("subscriptions/listen", listen).await;
    client.notification(CHANGED).await;
}

/// Returns the tool of the plan `see` in the list of tools.
async fn see(client: &mut Peer) -> Option<Json> {
    let listed = client.request("tools/list", json!({})).await;
    let mut tools = listed["tools"].as_array().unwrap().iter();
    tools.find(|tool| tool["name"] == "see").cloned()
}

/// Returns a client that listens to changes of tools, and of these resources.
async fn listening(desk: &TicketProject, revision: &'static str, uris: &[&str]) -> Peer {
    let mut client = desk.client(revision, Person::Nobody).await;
    if client.is_stateless() {
        let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": uris });
        client
            .begin("subscriptions/listen", json!({ "notifications": filter }))
            .await;
        let accepted = client
            .notification("notifications/subscriptions/acknowledged")
            .await;
        let accepted = &accepted["notifications"];
        assert_eq!(accepted["toolsListChanged"], true, "{accepted}");
        let accepted = accepted["resourceSubscriptions"].as_array();
        assert_eq!(accepted.map_or(0, Vec::len), uris.len());
    } else {
        for uri in uris {
            client
                .request("resources/subscribe", json!({ "uri": uri }))
                .await;
        }
    }
    client
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plans_that_are_changed_by_hand_are_told() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let desk = TicketProject::new();
        let mut client = listening(&desk, revision, &[]).await;
        assert_eq!(see(&mut client).await, None);
        let file = desk.folder.path().join("plans/see.plan");
        fs::create_dir(file.parent().unwrap()).unwrap();
        fs::write(&file, SEE).unwrap();
        client.notification(CHANGED).await;
        let before = see(&mut client).await.unwrap();
        assert_eq!(before["inputSchema"]["properties"], json!({}));

        fs::write(&file, SEE.replace("see()", "see(n: int, m: int = 2)")).unwrap();
        client.notification(CHANGED).await;
        let after = see(&mut client).await.unwrap();
        assert_eq!(after["inputSchema"]["required"], json!(["n"]));
        let default = &after["inputSchema"]["properties"]["m"]["default"];
        assert_eq!(*default, json!(2));

        // A change without an effect on tools is not reported.
        fs::write(file.with_file_name("wrong.plan"), "plan wrong( {").unwrap();
        fs::remove_file(&file).unwrap();
        client.notification(CHANGED).await;
        assert_eq!(see(&mut client).await, None);
        client.notified.retain(|one| one["method"] == CHANGED);
        assert_eq!(client.notified, Vec::<Json>::new());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_follows_a_run_hears_that_it_goes_on() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let desk = TicketProject::new();
        let mut model = desk.client("2025-11-25", Person::Nobody).await;
        let (text, _) = model.call_text("run", json!({ "plan": TIDY })).await;
        let run = text.split(' ').nth(1).unwrap().to_owned();
        let uri = format!("planrun://runs/{run}");
        let mut client = listening(&desk, revision, &[&uri]).await;
        let sent = browser().post(page_of(&text)).body("decision=yes");
        assert_eq!(sent.send().await.unwrap().status(), 200);
        assert_eq!(client.notification(UPDATED).await["uri"], uri.as_str());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_runs_are_followed() {
    let desk = TicketProject::new();
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    for uri in ["planrun://runs/nothing", "planrun://nothing"] {
        let refused = client
            .answer_to("resources/subscribe", json!({ "uri": uri }))
            .await;
        assert_eq!(refused["error"]["code"], -32002, "{refused}");
    }
    let unfollowed = json!({ "uri": "planrun://runs/nothing" });
    client.request("resources/unsubscribe", unfollowed).await;
}
