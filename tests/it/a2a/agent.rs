//! A scripted agent with the behaviour that clients have to cope with. The skill in a message selects it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use futures_core::Stream;
use serde_json::{Value as Json, json};
use tokio::sync::mpsc;

/// An agent that runs until its test ends.
#[derive(Clone, Default)]
pub struct Agent {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    /// The requests it got: method and parameters.
    asked: Vec<(String, Json)>,
    tasks: BTreeMap<String, Json>,
    /// Keys of its card that replace the defaults.
    card: BTreeMap<&'static str, Json>,
    /// The parts of its answer to a message without a skill. `None`: it echoes the message.
    answer: Option<Json>,
    address: String,
    /// Number of answers to its questions that it does not take.
    refusals: usize,
}

/// A stream of bytes from a channel.
struct Bytes(mpsc::Receiver<String>);

impl Stream for Bytes {
    type Item = Result<String, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|text| text.map(Ok))
    }
}

impl Agent {
    /// Starts it. Returns its address.
    pub async fn open(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        self.inner.lock().unwrap().address.clone_from(&address);
        let router = Router::new()
            .route("/.well-known/agent-card.json", get(card))
            .route("/rpc", post(answer))
            .with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        address
    }

    /// Sets a key of its card.
    pub fn says(&self, key: &'static str, value: Json) {
        self.inner.lock().unwrap().card.insert(key, value);
    }

    /// Sets the data of its answer to a message without a skill.
    pub fn answers(&self, data: &Json) {
        self.inner.lock().unwrap().answer = Some(json!([{ "data": data }]));
    }

    /// Does not take this number of answers to its questions.
    pub fn takes_no_answer(&self, times: usize) {
        self.inner.lock().unwrap().refusals = times;
    }

    /// Returns the parameters of the requests with this method.
    pub fn asked(&self, method: &str) -> Vec<Json> {
        let inner = self.inner.lock().unwrap();
        let asked = inner.asked.iter().filter(|(one, _)| one == method);
        asked.map(|(_, params)| params.clone()).collect()
    }

    /// Waits until there were `times` requests with this method.
    pub async fn until_asked(&self, method: &str, times: usize) {
        while self.asked(method).len() < times {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Completes every task.
    pub fn finish(&self) {
        for task in self.inner.lock().unwrap().tasks.values_mut() {
            complete(task, &json!([{ "text": "done" }]));
        }
    }

    fn task(&self, id: &str) -> Json {
        self.inner.lock().unwrap().tasks[id].clone()
    }

    fn put(&self, task: &Json) {
        let id = task["id"].as_str().unwrap().to_owned();
        self.inner.lock().unwrap().tasks.insert(id, task.clone());
    }
}

fn complete(task: &mut Json, parts: &Json) {
    task["status"] = json!({ "state": "TASK_STATE_COMPLETED" });
    task["artifacts"] = json!([{ "artifactId": "a1", "name": "out", "parts": parts }]);
}

async fn card(State(agent): State<Agent>) -> Response {
    let inner = agent.inner.lock().unwrap();
    let skills = [
        "answer", "ask", "break", "draft", "endless", "fail", "file", "flood", "garbage", "login",
        "other", "quiz", "redirect", "reject", "slow",
    ];
    let skills =
        skills.map(|id| json!({ "id": id, "name": id, "description": format!("Does {id}.") }));
    let mut card = json!({
        "name": "scripted", "version": "1.2.3", "description": "Does what it is told.",
        "supportedInterfaces": [{ "url": format!("{}/rpc", inner.address), "protocolBinding": "JSONRPC",
            "protocolVersion": "1.0" }],
        "capabilities": { "streaming": true },
        "skills": skills,
    });
    for (key, value) in &inner.card {
        card[*key] = value.clone();
    }
    axum::Json(card).into_response()
}

async fn answer(State(agent): State<Agent>, headers: HeaderMap, body: String) -> Response {
    let request: Json = serde_json::from_str(&body).unwrap();
    let method = request["method"].as_str().unwrap().to_owned();
    let mut params = request["params"].clone();
    params["version"] = headers["a2a-version"].to_str().unwrap().into();
    agent
        .inner
        .lock()
        .unwrap()
        .asked
        .push((method.clone(), params.clone()));
    let id = params["id"].as_str().unwrap_or_default();
    let known = agent.inner.lock().unwrap().tasks.contains_key(id);
    match method.as_str() {
        "SendMessage" | "SendStreamingMessage" => send(agent, &params, method == "SendMessage"),
        _ if !known => result(
            &json!({ "code": -32001, "message": "Task not found" }),
            "error",
        ),
        "GetTask" => result(&agent.task(id), "result"),
        "SubscribeToTask" => stream(follow(agent, id.to_owned())),
        "CancelTask" => {
            let mut task = agent.task(id);
            task["status"] = json!({ "state": "TASK_STATE_CANCELED" });
            agent.put(&task);
            result(&task, "result")
        }
        _ => result(
            &json!({ "code": -32601, "message": "no such method" }),
            "error",
        ),
    }
}

fn result(content: &Json, kind: &str) -> Response {
    axum::Json(json!({ "jsonrpc": "2.0", "id": 1, kind: content })).into_response()
}

fn event(content: &Json) -> String {
    let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": content });
    format!("data: {answer}\r\n\r\n")
}

fn stream(pieces: mpsc::Receiver<String>) -> Response {
    let body = Body::from_stream(Bytes(pieces));
    ([("content-type", "text/event-stream")], body).into_response()
}

/// Streams the state of a task until it has ended.
fn follow(agent: Agent, id: String) -> mpsc::Receiver<String> {
    let (sender, pieces) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            let task = agent.task(&id);
            let state = task["status"]["state"].as_str().unwrap().to_owned();
            let is_over = !["TASK_STATE_WORKING", "TASK_STATE_SUBMITTED"].contains(&&*state);
            if sender.send(event(&json!({ "task": task }))).await.is_err() || is_over {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    pieces
}

/// Handles a message, which starts a task or continues one.
fn send(agent: Agent, params: &Json, at_once: bool) -> Response {
    let message = &params["message"];
    let skill = message["metadata"]["skillId"]
        .as_str()
        .unwrap_or("answer")
        .to_owned();
    let text = message["parts"][0]["text"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let id = message["taskId"]
        .as_str()
        .map_or_else(|| format!("task-{skill}"), str::to_owned);
    let mut task =
        json!({ "id": id, "contextId": "c1", "status": { "state": "TASK_STATE_WORKING" } });
    let asks = |state: &str, text: &str| {
        json!({ "state": state, "message": { "messageId": format!("q-{text}"), "role": "ROLE_AGENT",
            "parts": [{ "text": text }] } })
    };
    let continues = !message["taskId"].is_null();
    {
        let mut inner = agent.inner.lock().unwrap();
        if continues && inner.refusals > 0 {
            inner.refusals -= 1;
            return (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "0")], "").into_response();
        }
    }
    match (skill.as_str(), continues) {
        ("answer", _) => {
            let answer = agent.inner.lock().unwrap().answer.clone();
            let parts = answer.unwrap_or_else(|| message["parts"].clone());
            let message =
                json!({ "message": { "messageId": "m1", "role": "ROLE_AGENT", "parts": parts } });
            return if at_once {
                result(&message, "result")
            } else {
                one(&message)
            };
        }
        ("garbage", _) => return "what is that?".into_response(),
        ("redirect", _) => {
            let elsewhere = [("location", "http://127.0.0.2:9/rpc")];
            return (StatusCode::TEMPORARY_REDIRECT, elsewhere, "").into_response();
        }
        ("other", _) => {
            return one(&json!({ "statusUpdate": { "taskId": "t2", "status": {} }, "task": {} }));
        }
        ("flood" | "endless" | "draft" | "break", _) => return stream_updates(agent, skill, task),
        ("ask", false) => {
            task["status"] = asks("TASK_STATE_INPUT_REQUIRED", "Which colour?\u{1b}[2J");
        }
        // A second question with the same text is a different question.
        ("ask", true) if text == "mauve" => {
            task["status"] = asks("TASK_STATE_INPUT_REQUIRED", "Which colour?\u{1b}[2J");
            task["status"]["message"]["messageId"] = "again".into();
        }
        ("ask", true) => complete(&mut task, &json!([{ "text": text }])),
        // Asks the number of questions in the first message.
        ("quiz", _) => {
            let left = if continues {
                agent.task(&id)["metadata"]["left"].as_u64().unwrap() - 1
            } else {
                text.parse().unwrap()
            };
            task["metadata"] = json!({ "left": left });
            if left == 0 {
                complete(&mut task, &json!([{ "text": "it is over" }]));
            } else {
                task["status"] = asks("TASK_STATE_INPUT_REQUIRED", &left.to_string());
            }
        }
        ("login", false) => task["status"] = asks("TASK_STATE_AUTH_REQUIRED", "Let me in."),
        ("login", true) => complete(&mut task, &json!([{ "text": "in" }])),
        ("fail", _) => {
            task["status"] = asks("TASK_STATE_FAILED", "out of luck");
            let data = json!({ "data": { "left": 2.0 } });
            let parts = &mut task["status"]["message"]["parts"];
            parts.as_array_mut().unwrap().push(data);
        }
        ("reject", _) => task["status"] = asks("TASK_STATE_REJECTED", "not mine"),
        ("file", _) => {
            let file = json!({ "raw": "AQI=", "filename": "a.bin", "mediaType": "x/y" });
            complete(&mut task, &json!([file]));
        }
        _ => {}
    }
    agent.put(&task);
    if at_once {
        return result(&json!({ "task": task }), "result");
    }
    stream(follow(agent, id))
}

fn one(update: &Json) -> Response {
    ([("content-type", "text/event-stream")], event(update)).into_response()
}

/// Streams updates in pieces.
fn stream_updates(agent: Agent, skill: String, mut task: Json) -> Response {
    let (sender, pieces) = mpsc::channel(1);
    tokio::spawn(async move {
        agent.put(&task);
        let mut updates = vec![event(&json!({ "task": task }))];
        let id = task["id"].clone();
        let status = json!({ "statusUpdate": { "taskId": id, "contextId": "c1", "status": {
            "state": "TASK_STATE_WORKING", "message": { "parts": [{ "text": "thinking" }] } } } });
        updates.push(event(&status));
        let chunk = |text: &str, append: bool| {
            event(
                &json!({ "artifactUpdate": { "taskId": id, "append": append, "artifact": {
                "artifactId": "a1", "parts": [{ "text": text }] } } }),
            )
        };
        let completed = json!({ "statusUpdate": { "taskId": id, "status": { "state": "TASK_STATE_COMPLETED" } } });
        match skill.as_str() {
            "draft" => {
                updates.extend([
                    ": ping\r\n\r\n".to_owned(),
                    chunk("Hel", false),
                    chunk("lo", true),
                ]);
                updates.push(event(&completed));
            }
            // The stream ends in the middle of an update, while the task continues.
            "break" => {
                updates.push("data: {\"half".to_owned());
                let agent = agent.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    complete(&mut task, &json!([{ "data": { "count": 3.0 } }]));
                    agent.put(&task);
                });
            }
            _ => {}
        }
        for update in updates {
            if sender.send(update).await.is_err() {
                return;
            }
        }
        let more = match skill.as_str() {
            "flood" => "x".repeat(1 << 20),
            "endless" => event(&status),
            _ => return,
        };
        while sender.send(more.clone()).await.is_ok() {}
    });
    stream(pieces)
}
