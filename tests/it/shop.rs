//! A shop behind HTTP that notes every call with its key, and a plan that calls it through the built program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::http::HeaderMap;
use axum::routing::post;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::support::folder;

const PLAN: &str = r#"
use shop, sys

plan order(customers: string[]) -> { paid: int, last: string, polled: int } {
    policy { concurrency: 3, retry: { attempts: 4, delay: 5ms, jitter: none } }
    step opened = shop.open(name: "order")
    step each_one = each customer in customers max 20 parallel 2 by customer {
        step paid = shop.pay(name: customer, of: opened.id)
        yield paid.id
    }
    step status = shop.look(name: "status") until status.id > 2 every 5ms within 1m
    step gone = shop.broken(name: "gone") recover tool => shop.pay(name: "instead", of: opened.id)
    step closed = shop.close(name: "order ${opened.id}") after each_one
    reply { paid: size(each_one) + size(string(gone.id)), last: "${closed.id}", polled: status.id }
}
"#;

/// One call: the tool, its arguments, its key.
pub type Call = (String, String, String);

/// A server that answers a key again as it did before, which is what a key is for.
#[derive(Clone, Default)]
pub struct Shop {
    calls: Arc<Mutex<Vec<Call>>>,
    disturbance: Arc<Mutex<Option<Disturbance>>>,
}

/// What happens when a call comes, by its number from 1, before it is answered.
struct Disturbance(usize, Box<dyn FnOnce() + Send>);

impl Shop {
    /// Opens it; gives a project with the plan `order.plan` that calls it.
    pub async fn open(&self) -> TempDir {
        let address = self.clone().serve().await;
        let (app, project) = (app(&address), "apps: [shop.yaml]\nallow: { net: [\"127.0.0.1:*\"] }\n");
        folder([("order.plan", PLAN), ("shop.yaml", app.as_str()), ("planrun.yaml", project)])
    }

    async fn serve(self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/tool", listener.local_addr().unwrap());
        let router =
            Router::new().route("/tool", post(move |headers: HeaderMap, body: String| self.answer(headers, body)));
        tokio::spawn(async move { axum::serve(listener, router).await });
        address
    }

    async fn answer(self, headers: HeaderMap, body: String) -> axum::Json<Json> {
        let body: Json = serde_json::from_str(&body).unwrap();
        let tool = body["tool"].as_str().unwrap().to_owned();
        let key = headers.get("idempotency-key").map(|key| key.to_str().unwrap().to_owned()).unwrap_or_default();
        let looks = {
            let mut calls = self.calls.lock().unwrap();
            calls.push((tool.clone(), body["args"].to_string(), key));
            let mut disturbance = self.disturbance.lock().unwrap();
            if disturbance.as_ref().is_some_and(|disturbance| disturbance.0 == calls.len())
                && let Some(Disturbance(_, disturb)) = disturbance.take()
            {
                disturb();
            }
            calls.iter().filter(|call| call.0 == tool).count()
        };
        tokio::time::sleep(Duration::from_millis(8)).await;
        axum::Json(match tool.as_str() {
            "look" => json!({"success": true, "data": {"id": if looks > 2 { 3 } else { looks }}, "message": "ok"}),
            "broken" => json!({"success": false, "error": "sold out", "reason": "sold_out", "message": "no"}),
            _ => json!({"success": true, "data": {"id": tool.len()}, "message": "ok"}),
        })
    }

    pub fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    /// Forgets every call; the next one is the first.
    pub fn forget(&self) {
        self.calls.lock().unwrap().clear();
    }

    /// Does this when that call comes, counted from 1, before it is answered.
    pub fn disturb(&self, call: usize, disturb: impl FnOnce() + Send + 'static) {
        *self.disturbance.lock().unwrap() = Some(Disturbance(call, Box::new(disturb)));
    }
}

fn app(address: &str) -> String {
    let tools = [
        ("open", "idempotent", ""),
        ("pay", "idempotent", ", of: { type: integer }"),
        ("look", "read", ""),
        ("close", "idempotent", ""),
        ("broken", "idempotent", ""),
    ];
    let tools = tools.map(|(tool, effect, more)| {
        format!(
            "  - name: {tool}
    description: A tool.
    endpoint: {address}
    effect: {effect}
    parameters: {{ type: object, properties: {{ name: {{ type: string }}{more} }}, required: [name] }}
    returns: {{ type: object, properties: {{ id: {{ type: integer }} }}, required: [id] }}
    errors: [{{ reason: sold_out, class: tool.sold_out, happened: \"no\" }}]
"
        )
    });
    format!("name: shop\ntools:\n{}", tools.concat())
}

/// The program with the plan, as the run of this id: a new one, or one that goes on.
pub fn start(folder: &Path, run: &str) -> Child {
    command(folder, run).spawn().unwrap()
}

pub fn command(folder: &Path, run: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_planrun"));
    command.args(["run", "order.plan", "--format", "json", "--run-id", run, "-i"]);
    command.arg(r#"customers=["ann","bob","张伟","dan"]"#);
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The keys of each call of an effect, by tool and arguments.
fn keys(calls: &[Call]) -> BTreeMap<(&str, &str), BTreeSet<&str>> {
    let mut keys: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (tool, arguments, key) in calls.iter().filter(|call| call.0 != "look") {
        keys.entry((tool.as_str(), arguments.as_str())).or_default().insert(key.as_str());
    }
    keys
}

/// No effect was called with two keys, or without one.
pub fn assert_one_key_each(calls: &[Call], when: &str) {
    for (call, keys) in keys(calls) {
        assert_eq!(keys.len(), 1, "{when}: {call:?} has two keys");
        assert!(keys.iter().all(|key| !key.is_empty()), "{when}: {call:?} has no key");
    }
}
