//! An HTTP server that records every call with its idempotency key, and plans that call it through the built program.

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

/// Every kind of step that needs no model.
const EVERY: &str = r#"
use shop, sys
use "./inner.plan" as inner

plan order(customers: string[]) -> { paid: int, drafts: int[], who: string, shipped: int, inner: int, at: bool } {
    policy { concurrency: 3, retry: { attempts: 4, delay: 5ms, jitter: none }, budget: { calls: 500 } }
    task packed "Packed" { id: int }
    listener tell on packed is done { step told = shop.pay(name: "told", of: packed.id) }
    step who = input "Who?" -> { name: string }
    step opened = shop.open(name: who.name) confirm "Open it?" undo shop.close(name: "undo")
    step shipped = shop.ship(name: "box")
        verify shop.sent(name: "box") every 5ms within 200ms as found => found.id > 0 gives { id: 4 }
    step later = wait 5ms
    step fast = race { one: shop.look(name: "a"), two: shop.look(name: "b") } after later
    step matched = match who.name {
        "desk" => shop.pay(name: "matched", of: fast.id),
        _ => shop.pay(name: "other", of: opened.id),
    }
    step drafts = repeat n = 0 max 5 {
        step written = shop.pay(name: "draft ${n}", of: opened.id)
        yield n
        next n + 1 when n < 2
        next null when n >= 2
    }
    step both = do {
        step paid = shop.pay(name: "do", of: opened.id)
        yield paid.id
    }
    step called = inner.paid(of: opened.id)
    set packed done { id: opened.id }
    step end = wait for tell is completed
    step time = sys.now()
    reply {
        paid: both + matched.id, drafts: drafts, who: who.name, shipped: shipped.id, inner: called, at: time == time,
    }
}
"#;

const INNER: &str = r#"
use shop

plan paid(of: int) -> int {
    step one = shop.pay(name: "inner", of: of)
    reply one.id
}
"#;

/// A plan whose effects are undone.
const UNDONE: &str = r#"
use shop

plan order(customers: string[]) -> int {
    step one = shop.open(name: "one") undo shop.close(name: "undo one")
    step many = each customer in customers max 20 by customer {
        step paid = shop.pay(name: customer, of: one.id) undo shop.close(name: "undo ${customer}")
        yield paid.id
    }
    step bad = shop.broken(name: "bad") after many
    reply bad.id
}
"#;

/// One call: the tool, its arguments, its idempotency key.
pub type Call = (String, String, String);

/// A server that answers a repeated idempotency key with the same result.
#[derive(Clone, Default)]
pub struct Shop {
    calls: Arc<Mutex<Vec<Call>>>,
    disturbance: Arc<Mutex<Option<Disturbance>>>,
}

/// An action to take before a call is answered. The number of the call counts from 1.
struct Disturbance(usize, Box<dyn FnOnce() + Send>);

impl Shop {
    /// Starts the server. Returns a project with the plan `order.plan` that calls it.
    pub async fn open(&self) -> TempDir {
        let address = self.clone().serve().await;
        let (app, project) = (
            app(&address),
            "apps: [shop.yaml]\nallow: { net: [\"127.0.0.1:*\"] }\n",
        );
        folder([
            ("order.plan", PLAN),
            ("every.plan", EVERY),
            ("inner.plan", INNER),
            ("undone.plan", UNDONE),
            ("shop.yaml", app.as_str()),
            ("planrun.yaml", project),
        ])
    }

    async fn serve(self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/tool", listener.local_addr().unwrap());
        let router = Router::new().route(
            "/tool",
            post(move |headers: HeaderMap, body: String| self.answer(headers, body)),
        );
        tokio::spawn(async move { axum::serve(listener, router).await });
        address
    }

    async fn answer(self, headers: HeaderMap, body: String) -> axum::Json<Json> {
        let body: Json = serde_json::from_str(&body).unwrap();
        let tool = body["tool"].as_str().unwrap().to_owned();
        let key = headers
            .get("idempotency-key")
            .map(|key| key.to_str().unwrap().to_owned())
            .unwrap_or_default();
        let (looks, ships) = {
            let mut calls = self.calls.lock().unwrap();
            calls.push((tool.clone(), body["args"].to_string(), key));
            let mut disturbance = self.disturbance.lock().unwrap();
            if disturbance
                .as_ref()
                .is_some_and(|disturbance| disturbance.0 == calls.len())
                && let Some(Disturbance(_, disturb)) = disturbance.take()
            {
                disturb();
            }
            let count = |name: &str| calls.iter().filter(|call| call.0 == name).count();
            (count(&tool), count("ship"))
        };
        tokio::time::sleep(Duration::from_millis(8)).await;
        axum::Json(match tool.as_str() {
            "look" => {
                json!({"success": true, "data": {"id": if looks > 2 { 3 } else { looks }}, "message": "ok"})
            }
            "sent" => json!({"success": true, "data": {"id": ships}, "message": "ok"}),
            "broken" => {
                json!({"success": false, "error": "sold out", "reason": "sold_out", "message": "no"})
            }
            _ => json!({"success": true, "data": {"id": tool.len()}, "message": "ok"}),
        })
    }

    pub fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    /// Clears the recorded calls; the next one is number 1.
    pub fn forget(&self) {
        self.calls.lock().unwrap().clear();
    }

    /// Runs a function before the call with this number, counted from 1, is answered.
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
        ("ship", "effect", ""),
        ("sent", "read", ""),
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

/// Starts the program with `order.plan` as the run with this id, which is either new or resumed.
pub fn start(folder: &Path, run: &str) -> Child {
    command(folder, run).spawn().unwrap()
}

pub fn command(folder: &Path, run: &str) -> Command {
    command_of(folder, "order.plan", run)
}

/// Returns the program with one of the plans, with answers to all of its questions.
pub fn command_of(folder: &Path, plan: &str, run: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_planrun"));
    command.args(["run", plan, "--format", "json", "--run-id", run, "-i"]);
    command.arg(r#"customers=["ann","bob","张伟","dan"]"#);
    if plan == "every.plan" {
        command.args([
            "--answer",
            r#"who={"name":"desk"}"#,
            "--answer",
            "opened.confirm=true",
        ]);
    }
    command
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Returns the idempotency keys of each call of an effect, by tool and arguments.
fn keys(calls: &[Call]) -> BTreeMap<(&str, &str), BTreeSet<&str>> {
    let mut keys: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (tool, arguments, key) in calls
        .iter()
        .filter(|call| !["look", "sent"].contains(&call.0.as_str()))
    {
        keys.entry((tool.as_str(), arguments.as_str()))
            .or_default()
            .insert(key.as_str());
    }
    keys
}

/// Asserts that every effect was called with exactly one idempotency key.
pub fn assert_one_key_each(calls: &[Call], when: &str) {
    for (call, keys) in keys(calls) {
        assert_eq!(keys.len(), 1, "{when}: {call:?} has two keys");
        assert!(
            keys.iter().all(|key| !key.is_empty()),
            "{when}: {call:?} has no key"
        );
    }
}
