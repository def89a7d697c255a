//! The program killed with SIGKILL at any moment, against a server that notes every call with its key.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::http::HeaderMap;
use axum::routing::post;
use serde_json::{Value as Json, json};

use crate::support::{folder, planrun};

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

/// Kills in CI; elsewhere a tenth. `PLANRUN_KILLS` sets another number.
const KILLS: usize = 300;

/// One call: the tool, its arguments, its key.
type Call = (String, String, String);

/// A server that answers a key again as it did before, which is what a key is for.
#[derive(Clone, Default)]
struct Server {
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Server {
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
            calls.iter().filter(|call| call.0 == tool).count()
        };
        tokio::time::sleep(Duration::from_millis(8)).await;
        axum::Json(match tool.as_str() {
            "look" => json!({"success": true, "data": {"id": if looks > 2 { 3 } else { looks }}, "message": "ok"}),
            "broken" => json!({"success": false, "error": "sold out", "reason": "sold_out", "message": "no"}),
            _ => json!({"success": true, "data": {"id": tool.len()}, "message": "ok"}),
        })
    }

    fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
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

fn start(folder: &Path, run: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_planrun"));
    command.args(["run", "order.plan", "--format", "json", "--run-id", run, "-i"]);
    command.arg(r#"customers=["ann","bob","张伟","dan"]"#);
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// A number that only the seed and the place decide.
fn drawn(place: usize, below: u64) -> u64 {
    let hash = blake3::hash(&place.to_le_bytes());
    u64::from_le_bytes(hash.as_bytes()[..8].try_into().unwrap()) % below
}

/// The keys of each call of an effect, by tool and arguments.
fn keys(calls: &[Call]) -> BTreeMap<(&str, &str), BTreeSet<&str>> {
    let mut keys: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (tool, arguments, key) in calls.iter().filter(|call| call.0 != "look") {
        keys.entry((tool.as_str(), arguments.as_str())).or_default().insert(key.as_str());
    }
    keys
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_program_killed_at_any_moment_goes_on_and_no_effect_has_two_keys() {
    let wanted = std::env::var("PLANRUN_KILLS").ok().and_then(|count| count.parse().ok());
    let wanted = wanted.unwrap_or(if std::env::var_os("CI").is_some() { KILLS } else { KILLS / 10 });
    let server = Server::default();
    let address = server.clone().serve().await;
    let (plan, apps, project) = (PLAN, app(&address), "apps: [shop.yaml]\nallow: { net: [\"127.0.0.1:*\"] }\n");
    let files = folder([("order.plan", plan), ("shop.yaml", apps.as_str()), ("planrun.yaml", project)]);
    let begun = std::time::Instant::now();
    let undisturbed = start(files.path(), "undisturbed").wait_with_output().unwrap();
    let usual = begun.elapsed();
    let told = String::from_utf8_lossy(&undisturbed.stderr).into_owned();
    assert!(undisturbed.status.success(), "{told}{}", String::from_utf8_lossy(&undisturbed.stdout));
    let expected: Json = serde_json::from_slice(&undisturbed.stdout).unwrap();
    let (mut kills, mut runs) = (0, 0);
    while kills < wanted {
        runs += 1;
        let run = format!("run-{runs}");
        let before = server.calls().len();
        let reply = loop {
            let mut child = start(files.path(), &run);
            let limit = u64::try_from(usual.as_micros()).unwrap().max(1000) * 5 / 4;
            tokio::time::sleep(Duration::from_micros(drawn(kills + runs, limit))).await;
            if child.try_wait().unwrap().is_none() && kills < wanted {
                child.kill().unwrap();
                child.wait().unwrap();
                kills += 1;
                continue;
            }
            let output = tokio::task::spawn_blocking(move || child.wait_with_output()).await.unwrap().unwrap();
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            if told.contains("died 3 times") {
                // Chance struck one place three times: the rule for that holds, and the run is not counted.
                break None;
            }
            assert!(output.status.success(), "{run} after {kills} kills: {told}");
            break Some(serde_json::from_slice::<Json>(&output.stdout).unwrap()["reply"].clone());
        };
        if let Some(reply) = reply {
            assert_eq!(reply, expected["reply"], "{run}");
        }
        let calls = server.calls()[before..].to_vec();
        for (call, keys) in keys(&calls) {
            assert_eq!(keys.len(), 1, "{run}: {call:?} has two keys");
            assert!(keys.iter().all(|key| !key.is_empty()), "{run}: {call:?} has no key");
        }
    }
    println!("{kills} kills in {runs} runs");
    let listed = planrun(["runs", "list", "--format", "json", "--limit", "1000"]).within(files.path()).run();
    assert_eq!(listed.json()["runs"].as_array().unwrap().len(), runs + 1, "{}", listed.stderr);
}
