//! Plan mode from the view of an MCP client: over streams, with or without a person who answers.

mod app;
mod asking;
mod changes;
mod driving;
mod ends;
mod http;
mod language;
mod repairs;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use planrun::tool::{self, CallError, Tool};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{Denied, ErrorClass};
use planrun_runs::driver::Silence;
use planrun_runs::runs::{Inputs, PlanText, Planrun, ResumeOptions, RunOptions};
use planrun_serve::mcp::Server;
use planrun_serve::mode::PlanMode;
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::time::timeout;

const TIDY: &str = r#"
use desk

plan tidy() -> int {
    policy { on_failure: undo }
    step open = desk.list()
    step closed = each id in open max 5 {
        step c = desk.close(id: id, by: "planrun") undo desk.reopen(id: id)
        yield c
    }
    reply size(closed)
}
"#;

const SEE: &str = "use desk plan see() -> int { step open = desk.list() reply size(open) }";

/// The calls on tickets, in order.
type Log = Arc<Mutex<Vec<String>>>;

/// A project with a ticket service, and a record of its calls.
struct TicketProject {
    folder: TempDir,
    mode: Arc<PlanMode>,
    log: Log,
}

fn desk_tools(log: &Log, refuses: Option<&'static str>) -> Vec<Tool> {
    let list = tool::from_fn(
        "/// Lists the open tickets. All of them.\ntool desk.list() -> string[] read",
        |_: Json| Ok::<_, CallError>(vec!["t1", "t2", "t3"]),
    );
    let done = log.clone();
    let close = tool::from_fn(
        "/// Closes a ticket.\ntool desk.close(id: string, by: string) -> string effect",
        move |asked: Json| {
            let id = asked["id"].as_str().unwrap_or_default().to_owned();
            if refuses == Some(&*id) {
                let class = ErrorClass::Denied(Denied::Policy);
                return Err(CallError::new(class, "the ticket is locked", Sent::No));
            }
            done.lock().unwrap().push(format!("close {id}"));
            Ok(id)
        },
    );
    let done = log.clone();
    let reopen = tool::from_fn(
        "tool desk.reopen(id: string) -> string effect",
        move |asked: Json| {
            let id = asked["id"].as_str().unwrap_or_default().to_owned();
            done.lock().unwrap().push(format!("reopen {id}"));
            Ok::<_, CallError>(id)
        },
    );
    [list, close, reopen].map(Result::unwrap).into()
}

impl TicketProject {
    fn new() -> Self {
        Self::refusing(None)
    }

    fn refusing(refuses: Option<&'static str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::default();
        let planrun = Planrun::open(folder.path())
            .unwrap()
            .with_tools(desk_tools(&log, refuses));
        let mode = PlanMode::new(planrun);
        Self { folder, mode, log }
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// Returns a client with this protocol revision, with a person who answers its questions.
    async fn client(&self, revision: &'static str, person: Person) -> Peer {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let server = Server::new(self.mode.clone());
        tokio::spawn(server.serve_over(tokio::io::split(theirs)));
        Peer::new(tokio::io::split(ours), revision, person).await
    }
}

/// The person at a client, and the capabilities of the client.
enum Person {
    /// The client cannot ask questions.
    Nobody,
    /// The client cannot ask questions, but displays panels next to results.
    SeesPanels,
    /// The answer to each question, and its delay.
    Answers(VecDeque<(Json, Duration)>),
    /// The same, with a client that opens pages, and also displays forms if `shows_forms`. `sends` is posted to the
    /// opened page, unless it is empty.
    Opens {
        answers: VecDeque<(Json, Duration)>,
        shows_forms: bool,
        sends: &'static str,
    },
}

impl Person {
    fn answering<const N: usize>(answers: [Json; N]) -> Self {
        let thinks = Duration::from_millis(1100);
        Self::Answers(answers.into_iter().map(|answer| (answer, thinks)).collect())
    }

    fn yes() -> Self {
        Self::answering([json!({ "action": "accept", "content": { "approve": true } })])
    }
}

/// A minimal client of the protocol.
struct Peer {
    reader: tokio::io::Lines<BufReader<Box<dyn AsyncRead + Send + Unpin>>>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    revision: &'static str,
    person: Person,
    last: u64,
    /// The texts of the questions, the whole questions, and the notifications.
    asked: Vec<String>,
    questions: Vec<Json>,
    notified: Vec<Json>,
}

impl Peer {
    async fn new<R, W>((reader, writer): (R, W), revision: &'static str, person: Person) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let reader: Box<dyn AsyncRead + Send + Unpin> = Box::new(reader);
        let mut peer = Self {
            reader: BufReader::new(reader).lines(),
            writer: Box::new(writer),
            revision,
            person,
            last: 0,
            asked: Vec::new(),
            questions: Vec::new(),
            notified: Vec::new(),
        };
        if !peer.is_stateless() {
            let own = json!({
                "protocolVersion": revision,
                "capabilities": peer.capabilities(),
                "clientInfo": { "name": "tester", "version": "1" },
            });
            let result = peer.request("initialize", own).await;
            assert_eq!(result["protocolVersion"], revision);
            peer.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
                .await;
        }
        peer
    }

    fn is_stateless(&self) -> bool {
        self.revision == "2026-07-28"
    }

    fn capabilities(&self) -> Json {
        match self.person {
            Person::Nobody => json!({}),
            Person::SeesPanels => {
                let html = json!({ "mimeTypes": ["text/html;profile=mcp-app"] });
                json!({ "extensions": { "io.modelcontextprotocol/ui": html } })
            }
            Person::Answers(_) => json!({ "elicitation": { "form": {} } }),
            Person::Opens {
                shows_forms: true, ..
            } => json!({ "elicitation": { "form": {}, "url": {} } }),
            Person::Opens { .. } => json!({ "elicitation": { "url": {} } }),
        }
    }

    async fn send(&mut self, message: &Json) {
        let line = format!("{message}\n");
        self.writer.write_all(line.as_bytes()).await.unwrap();
    }

    /// Sends a request. Returns its id.
    async fn begin(&mut self, method: &str, mut params: Json) -> u64 {
        self.last += 1;
        let id = self.last;
        let mut meta = json!({ "progressToken": id });
        if self.is_stateless() {
            meta["io.modelcontextprotocol/protocolVersion"] = self.revision.into();
            meta["io.modelcontextprotocol/clientInfo"] =
                json!({ "name": "tester", "version": "1" });
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities();
        }
        params["_meta"] = meta;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
        id
    }

    /// Returns the next response or notification. Questions of the server are answered in between.
    async fn next(&mut self) -> Json {
        loop {
            // Without a bound, a message that never comes would stop all tests.
            let line = timeout(Duration::from_mins(2), self.reader.next_line());
            let line = line.await.expect("a message within two minutes").unwrap();
            let message: Json = serde_json::from_str(&line.expect("the server is there")).unwrap();
            if message["method"] != "elicitation/create" {
                return message;
            }
            let answer = self.answer(&message["params"]).await;
            let reply = json!({ "jsonrpc": "2.0", "id": message["id"], "result": answer });
            self.send(&reply).await;
        }
    }

    /// Sends a request. Returns its response: a result or an error.
    async fn answer_to(&mut self, method: &str, params: Json) -> Json {
        let id = self.begin(method, params).await;
        loop {
            let message = self.next().await;
            if message["method"].is_string() {
                self.notified.push(message);
            } else if message["id"] == id {
                return message;
            }
        }
    }

    /// Sends a request. Returns its result.
    async fn request(&mut self, method: &str, params: Json) -> Json {
        let answer = self.answer_to(method, params).await;
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// Waits for a notification, unless it has already arrived. Returns its parameters.
    async fn notification(&mut self, method: &str) -> Json {
        loop {
            let of = |one: &Json| one["method"] == method;
            if let Some(index) = self.notified.iter().position(of) {
                return self.notified.remove(index)["params"].clone();
            }
            let message = self.next().await;
            self.notified.push(message);
        }
    }

    async fn answer(&mut self, question: &Json) -> Json {
        self.asked
            .push(question["message"].as_str().unwrap().to_owned());
        self.questions.push(question.clone());
        let (Person::Answers(answers) | Person::Opens { answers, .. }) = &mut self.person else {
            panic!("nobody can be asked");
        };
        let (answer, after) = answers.pop_front().expect("a question too many");
        tokio::time::sleep(after).await;
        if let (Person::Opens { sends, .. }, Some(page)) = (&self.person, question["url"].as_str())
            && answer["action"] == "accept"
            && !sends.is_empty()
        {
            // The person reads the page first, while the server waits.
            let (page, sends) = (page.to_owned(), *sends);
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(300)).await;
                let sent = browser().post(page).body(sends).send().await.unwrap();
                assert_eq!(sent.status(), 200);
            });
        }
        answer
    }

    /// Calls a tool. Returns its result. With 2026-07-28, the call is repeated with the answers.
    async fn call(&mut self, tool: &str, arguments: Json) -> Json {
        let call = json!({ "name": tool, "arguments": arguments });
        let mut result = self.request("tools/call", call.clone()).await;
        while result["resultType"] == "input_required" {
            let mut answers = json!({});
            for (name, asked) in result["inputRequests"].as_object().unwrap().clone() {
                answers[name] = self.answer(&asked["params"]).await;
            }
            let mut again = call.clone();
            again["inputResponses"] = answers;
            again["requestState"] = result["requestState"].clone();
            result = self.request("tools/call", again).await;
        }
        result
    }

    /// Calls a tool. Returns the text of the result, and whether it is an error.
    async fn call_text(&mut self, tool: &str, arguments: Json) -> (String, bool) {
        let result = self.call(tool, arguments).await;
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        (text, result["isError"] == true)
    }
}

/// Returns the HTTP client for opening pages.
fn browser() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// Returns the address of a page in a message to a model.
fn page_of(text: &str) -> String {
    let (_, page) = text.split_once(" at ").unwrap();
    page.split(' ').next().unwrap().to_owned()
}

const REVISIONS: [&str; 3] = ["2025-06-18", "2025-11-25", "2026-07-28"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_is_refused_mended_approved_once_and_done() {
    for revision in REVISIONS {
        let desk = TicketProject::new();
        let mut client = desk.client(revision, Person::yes()).await;
        let (found, _) = client
            .call_text("search", json!({ "query": "close tickets" }))
            .await;
        assert!(
            found.starts_with("desk.close(id, by) effect  Closes a ticket."),
            "{found}"
        );
        let (contract, _) = client
            .call_text("describe", json!({ "names": ["desk.close"] }))
            .await;
        assert!(contract.contains("tool desk.close(id: string, by: string) -> string effect"));

        let wrong = TIDY.replace("by: \"planrun\"", "from: \"planrun\"");
        let (refused, is_error) = client.call_text("run", json!({ "plan": wrong })).await;
        assert!(
            is_error && refused.starts_with("Nothing was called."),
            "{refused}"
        );
        assert!(refused.contains("unknown-argument"), "{refused}");
        assert!(desk.log().is_empty() && client.asked.is_empty());

        let done = client.call("run", json!({ "plan": TIDY })).await;
        assert_eq!(done["isError"], false, "{revision}: {done}");
        let value = &done["structuredContent"];
        assert_eq!(
            (&value["reply"], &value["state"]),
            (&json!(3), &json!("completed"))
        );
        assert_eq!(value["calls"], json!({ "read": 1, "effect": 3 }));
        let text: Json =
            serde_json::from_str(done["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(&text, value);
        assert_eq!(desk.log(), ["close t1", "close t2", "close t3"]);
        let [question] = &client.asked[..] else {
            panic!("{:?}", client.asked)
        };
        assert!(
            question
                .contains("- desk.close: 5 times (effect), id from desk.list, by = \"planrun\""),
            "{question}"
        );
        assert!(
            question.contains("undone by desk.reopen if the plan fails"),
            "{question}"
        );
        assert!(question.chars().count() <= 1_200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_no_is_final_and_nothing_happens() {
    for revision in REVISIONS {
        let desk = TicketProject::new();
        let person = Person::answering([json!({ "action": "decline" })]);
        let mut client = desk.client(revision, person).await;
        let (text, is_error) = client.call_text("run", json!({ "plan": TIDY })).await;
        assert!(is_error && text.contains("denied.human"), "{text}");
        assert!(text.contains("elicitation:tester` declined"), "{text}");
        assert!(text.contains("Do not run the same plan again"), "{text}");
        assert!(!text.contains("Correct the plan"), "{text}");
        assert!(desk.log().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_no_of_nobody_and_no_client_that_asks_lead_to_the_page_and_the_terminal() {
    for (revision, declines) in [
        ("2025-11-25", true),
        ("2026-07-28", true),
        ("2025-11-25", false),
    ] {
        let desk = TicketProject::new();
        let person = if declines {
            Person::Answers([(json!({ "action": "decline" }), Duration::ZERO)].into())
        } else {
            Person::Nobody
        };
        let mut client = desk.client(revision, person).await;
        let (text, is_error) = client.call_text("run", json!({ "plan": TIDY })).await;
        assert!(!is_error && text.contains("waits for the person"), "{text}");
        let page = page_of(&text);
        let run = text.split(' ').nth(1).unwrap().to_owned();
        assert!(
            text.contains(&format!(
                "`planrun runs answer {run} approval=true --resume`"
            )),
            "{text}"
        );
        assert!(desk.log().is_empty());

        // A person opens the page, reads the plan and approves.
        let browser = browser();
        let shown = browser
            .get(&page)
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap();
        assert!(shown.contains("desk.close: 5 times"), "{shown}");
        assert!(shown.contains("policy { on_failure: undo }"), "{shown}");
        let foreign = browser.post(&page).header("origin", "http://evil.example");
        let foreign = foreign.body("decision=yes").send().await.unwrap();
        assert_eq!(foreign.status(), 403);
        assert!(desk.log().is_empty());
        let sent = browser
            .post(&page)
            .body("decision=yes")
            .send()
            .await
            .unwrap();
        assert_eq!(sent.status(), 200);
        let (reply, is_error) = client
            .call_text("runs", json!({ "id": run, "wait_s": 20 }))
            .await;
        assert!(!is_error && reply.contains("\"reply\":3"), "{reply}");
        assert_eq!(desk.log().len(), 3);
        // The address accepts one answer.
        let again = browser
            .post(&page)
            .body("decision=no")
            .send()
            .await
            .unwrap();
        assert_eq!(again.status(), 404);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_reads_asks_nobody_and_read_takes_no_other() {
    let desk = TicketProject::new();
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    let (text, is_error) = client.call_text("read", json!({ "plan": SEE })).await;
    assert!(!is_error && text.contains("\"reply\":3"), "{text}");
    let (text, is_error) = client.call_text("read", json!({ "plan": TIDY })).await;
    assert!(is_error && text.contains("may call desk.close"), "{text}");
    assert!(desk.log().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_says_what_was_undone_and_the_mended_plan_takes_over_the_rest() {
    let desk = TicketProject::refusing(Some("t3"));
    let person = Person::answering([
        json!({ "action": "accept", "content": { "approve": true } }),
        json!({ "action": "accept", "content": { "approve": true } }),
    ]);
    let mut client = desk.client("2025-11-25", person).await;
    let (text, is_error) = client.call_text("run", json!({ "plan": TIDY })).await;
    assert!(is_error && text.contains("at closed[2].c"), "{text}");
    assert!(text.contains("the ticket is locked"), "{text}");
    assert!(text.contains("undone: closed[0].c, closed[1].c"), "{text}");
    assert_eq!(
        desk.log(),
        ["close t1", "close t2", "reopen t2", "reopen t1"]
    );
    let run = text.split(' ').nth(1).unwrap();
    let mended = TIDY.replace("in open max", "in open.filter(t, t != \"t3\") max");
    let (text, is_error) = client
        .call_text("run", json!({ "plan": mended, "base": run }))
        .await;
    assert!(!is_error && text.contains("\"reply\":2"), "{text}");
    assert_eq!(desk.log()[4..], ["close t1", "close t2"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s1_11_a_saved_plan_is_a_tool() {
    let desk = TicketProject::new();
    let mut client = desk.client("2025-11-25", Person::yes()).await;
    let (text, is_error) = client
        .call_text("save", json!({ "name": "see_open", "plan": SEE }))
        .await;
    assert!(!is_error, "{text}");
    let saved = std::fs::read_to_string(desk.folder.path().join("plans/see_open.plan")).unwrap();
    assert!(saved.contains("plan see_open() -> int {"), "{saved}");
    let tools = client.request("tools/list", json!({})).await;
    let tools = tools["tools"].as_array().unwrap().clone();
    let names: Vec<&str> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "search", "describe", "read", "run", "runs", "save", "see_open"
        ]
    );
    assert_eq!(tools[6]["annotations"]["readOnlyHint"], true);
    client
        .notification("notifications/tools/list_changed")
        .await;
    assert_eq!(
        client.call_text("see_open", json!({})).await,
        ("3".to_owned(), false)
    );
    let (text, _) = client
        .call_text("run", json!({ "plan": "plan:see_open" }))
        .await;
    assert!(text.contains("\"reply\":3"), "{text}");
    let (text, is_error) = client
        .call_text("save", json!({ "name": "see_open", "plan": TIDY }))
        .await;
    assert!(is_error && text.contains("there is another plan"), "{text}");
    let (text, is_error) = client.call_text("desk.close", json!({ "id": "t1" })).await;
    assert!(
        is_error && text.contains(r#"step r = desk.close(id: \"t1\") reply r"#),
        "{text}"
    );
    let call = json!({ "name": "serach", "arguments": {} });
    let refused = client.answer_to("tools/call", call).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let why = refused["error"]["message"].as_str().unwrap();
    assert!(
        why.contains("no tool `serach`. Did you mean `search`?"),
        "{why}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_client_carries_is_of_one_question_one_call_and_one_answer() {
    let desk = TicketProject::new();
    let mut client = desk.client("2026-07-28", Person::yes()).await;
    let call = json!({ "name": "run", "arguments": { "plan": TIDY } });
    let asked = client.request("tools/call", call.clone()).await;
    let state = asked["requestState"].as_str().unwrap().to_owned();
    let yes = json!({ "approval": { "action": "accept", "content": { "approve": true } } });
    let mut again = call.clone();
    again["inputResponses"] = yes.clone();
    for (tool, plan, state) in [
        ("read", TIDY, state.clone()),
        (
            "run",
            "step r = desk.close(id: \"t1\") reply r",
            state.clone(),
        ),
        ("run", TIDY, format!("{state}x")),
    ] {
        again["name"] = tool.into();
        again["arguments"]["plan"] = plan.into();
        again["requestState"] = state.into();
        let refused = client.answer_to("tools/call", again.clone()).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        assert!(
            refused["error"]["message"]
                .as_str()
                .unwrap()
                .contains("requestState")
        );
    }
    assert!(desk.log().is_empty());
    again["requestState"] = state.into();
    for _ in 0..2 {
        let done = client.request("tools/call", again.clone()).await;
        assert_eq!(done["structuredContent"]["reply"], 3, "{done}");
        // A different answer to the same question changes nothing.
        again["inputResponses"]["approval"] = json!({ "action": "decline" });
    }
    assert_eq!(desk.log().len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plans_of_models_reach_nothing_that_the_project_does_not_allow() {
    let desk = TicketProject::new();
    std::fs::write(desk.folder.path().join("secret.txt"), "s3cret").unwrap();
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    let plan = r#"use fs plan peek() -> string { allow { read: ["secret.txt"] } step text = fs.read(path: "secret.txt") reply text }"#;
    let (text, is_error) = client.call_text("read", json!({ "plan": plan })).await;
    assert!(is_error && !text.contains("s3cret"), "{text}");
    assert!(text.contains("permission-missing"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plans_of_models_do_not_weaken_contracts() {
    let desk = TicketProject::new();
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    let item = |signature: &str| {
        let call = "step closed = desk.close(id: \"t1\", by: \"me\") reply closed";
        format!("tool desk.close{signature}\n{call}")
    };
    for (signature, why) in [
        (
            "(id: string, by: string) -> string read",
            "lowers it to `read`",
        ),
        (
            "(id: string, by: string) -> string key id",
            "`id` is an idempotency key",
        ),
        ("(id: string, by: secret) -> string", "`by` is a secret"),
    ] {
        for tool in ["read", "run"] {
            let arguments = json!({ "plan": item(signature) });
            let (text, is_error) = client.call_text(tool, arguments).await;
            assert!(
                is_error && text.contains("error[weakened-contract]"),
                "{text}"
            );
            assert!(text.contains(why), "{text}");
        }
        let save = json!({ "name": "closing", "plan": item(signature) });
        let (text, is_error) = client.call_text("save", save).await;
        assert!(is_error && text.contains("weakened-contract"), "{text}");
    }
    assert!(desk.log().is_empty());
    // An item that keeps the class is accepted, and the person is asked.
    let arguments = json!({ "plan": item("(id: string, by: string) -> string effect") });
    let (text, _) = client.call_text("run", arguments).await;
    assert!(text.contains("desk.close: once (effect)"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_keeps_a_plan_from_running_is_in_the_reply() {
    let desk = TicketProject::new();
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    let plan = "tool desk.nothing() -> string read\nstep it = desk.nothing() reply it";
    for tool in ["read", "run"] {
        let (text, is_error) = client.call_text(tool, json!({ "plan": plan })).await;
        assert!(
            is_error && text.contains("error[unimplemented-tool]"),
            "{text}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_person_sees_the_inputs_that_a_model_gives() {
    const PLAN: &str = "use desk plan closing(id: string, by: secret) -> string { step closed = desk.close(id: id, by: by) \
                        reply closed }";
    let desk = TicketProject::new();
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    let inputs = json!({ "id": "t1\u{1b}[2J", "by": "hunter2hunter2" });
    let arguments = json!({ "plan": PLAN, "inputs": inputs });
    let (text, _) = client.call_text("run", arguments).await;
    let listed = "Its inputs:\n| id: \"t1\\u001b[2J\"\n| by: \"[redacted]\"\n";
    assert!(text.contains(listed), "{text}");
    let long = format!("begin{}end", "x".repeat(200));
    let inputs = json!({ "id": long, "by": "me" });
    let arguments = json!({ "plan": PLAN, "inputs": inputs });
    let (text, _) = client.call_text("run", arguments).await;
    let listed = text.lines().find(|line| line.starts_with("| id: "));
    let listed = listed.unwrap();
    assert!(listed.starts_with("| id: \"beginxxx"), "{text}");
    assert!(listed.ends_with("xxxend\" (210 bytes in total)"), "{text}");
    let command = text.lines().find(|line| line.starts_with("All of them: "));
    assert!(
        command.is_some_and(|line| line.contains(" --inputs")),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_resumes_only_runs_of_models() {
    const PLAN: &str = "use desk plan closing() -> string { step open = desk.list() step closed = desk.close(id: open[0], \
                        by: \"me\") reply closed }";
    let desk = TicketProject::new();
    let planrun = desk.mode.planrun();
    let location = planrun.location().clone();
    let own = Planrun::at(planrun.host().clone(), location).with_tools(desk_tools(&desk.log, None));
    let plan = own
        .check(PlanText::new("closing.plan", PLAN))
        .unwrap()
        .plan(None)
        .unwrap();
    let drive = ResumeOptions {
        until: Some("open".into()),
        ..ResumeOptions::default()
    };
    let options = RunOptions {
        drive,
        ..RunOptions::default()
    };
    let run = own.start(&plan, Inputs::default(), options).unwrap();
    let id = run.id().to_owned();
    run.drive(&mut Silence).await.unwrap();
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    for wait in [0, 5] {
        let arguments = json!({ "id": id, "wait_s": wait });
        let (text, _) = client.call_text("runs", arguments).await;
        let told =
            format!("run {id} is paused. Only a person can resume it: planrun runs resume {id}");
        assert_eq!(text, told);
    }
    assert!(desk.log().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_tells_of_runs_and_gives_the_parts_of_a_reply() {
    let desk = TicketProject::new();
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    let (text, _) = client.call_text("runs", json!({})).await;
    assert_eq!(text, "There are no runs yet.\n");
    let plan = "use desk plan see() -> { open: string[] } { step open = desk.list() reply { open: open } }";
    let done = client.call("read", json!({ "plan": plan })).await;
    let run = done["structuredContent"]["run"]
        .as_str()
        .unwrap()
        .to_owned();
    let (text, _) = client.call_text("runs", json!({})).await;
    assert_eq!(text, format!("{run} completed see\n"));
    let part = client
        .call("runs", json!({ "id": run, "path": "/open", "from": 1 }))
        .await;
    assert_eq!(
        part["structuredContent"]["value"],
        json!(["t2", "t3"]),
        "{part}"
    );
    let (text, is_error) = client.call_text("runs", json!({ "id": "nothing" })).await;
    assert!(is_error, "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn characters_that_nobody_sees_are_escapes_in_texts_and_themselves_in_values() {
    const ECHO: &str = "plan echo(t: string) -> { t: string } { reply { t: t } }";
    let desk = TicketProject::new();
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    let given = json!({ "t": "a\u{202e}b" });
    let read = json!({ "plan": ECHO, "inputs": given });
    let done = client.call("read", read).await;
    let run = done["structuredContent"]["run"].as_str().unwrap();
    let part = json!({ "id": run, "path": "/t" });
    let part = client.call("runs", part).await;
    let save = json!({ "name": "echo", "plan": ECHO });
    client.call("save", save).await;
    let own = client.call("echo", given.clone()).await;
    for (document, value) in [
        (&done, &done["structuredContent"]["reply"]["t"]),
        (&part, &part["structuredContent"]["value"]),
        (&own, &own["structuredContent"]["t"]),
    ] {
        let text = document["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(r#""a\u202eb""#), "{text}");
        assert_eq!(value, &given["t"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_cannot_be_read_is_not_replaced_by_a_saved_plan() {
    let desk = TicketProject::new();
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    let file = desk.folder.path().join("plans/see_open.plan");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, b"// caf\xe9").unwrap();
    let (text, is_error) = client
        .call_text("save", json!({ "name": "see_open", "plan": SEE }))
        .await;
    assert!(is_error && text.contains("cannot be read"), "{text}");
    assert_eq!(std::fs::read(&file).unwrap(), b"// caf\xe9");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_is_too_large_is_refused() {
    let desk = TicketProject::new();
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    let padded = |size: usize| format!("{SEE}//{}", "x".repeat(size - SEE.len() - 2));
    for tool in ["read", "run", "save"] {
        let mut arguments = json!({ "plan": padded(256 * 1024 + 1) });
        if tool == "save" {
            arguments["name"] = "see_open".into();
        }
        let (text, is_error) = client.call_text(tool, arguments).await;
        assert!(
            is_error && text.contains("the plan has 257 KiB, and at most 256 KiB are accepted"),
            "{text}"
        );
    }
    let (text, is_error) = client
        .call_text("read", json!({ "plan": padded(256 * 1024) }))
        .await;
    assert!(!is_error && text.contains("\"reply\":3"), "{text}");
}

#[test]
fn a_token_file_that_cannot_be_read_is_not_replaced() {
    let place = crate::support::folder([("planrun.yaml", "{}\n")]);
    let file = place.path().join("token");
    std::fs::write(&file, b"caf\xe9").unwrap();
    let arguments = ["serve", "--bind", "127.0.0.1:0", "--token-file", "token"];
    let output = crate::support::planrun(arguments)
        .within(place.path())
        .run();
    assert_eq!(output.status, 3, "{output:?}");
    assert!(
        output.stderr.contains("cannot use the token in"),
        "{output:?}"
    );
    assert_eq!(std::fs::read(&file).unwrap(), b"caf\xe9");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_is_saved_only_if_it_can_be_used_from_there() {
    let desk = TicketProject::new();
    let folder = desk.folder.path();
    std::fs::create_dir(folder.join("plans")).unwrap();
    std::fs::write(
        folder.join("plans/other.plan"),
        "plan other() -> int { reply 1 }\n",
    )
    .unwrap();
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    // The first path is right where the text is handed in, the second one where it is saved.
    let plan = |path: &str| {
        format!(
            "use \"{path}\" as o\n\n// plan main() is its name\nplan main() -> int {{\n    step one = o.other()\n    reply one\n}}\n"
        )
    };
    let save = json!({ "name": "mine", "plan": plan("./plans/other.plan") });
    let (text, is_error) = client.call_text("save", save).await;
    assert!(is_error && text.contains("unresolved-use"), "{text}");
    assert!(!folder.join("plans/mine.plan").exists());
    let save = json!({ "name": "mine", "plan": "// plan main( is its name\nplan main() -> int { reply 2 }" });
    let (text, is_error) = client.call_text("save", save).await;
    assert!(!is_error, "{text}");
    let done = client.call("mine", json!({})).await;
    assert_eq!(done["content"][0]["text"], "2", "{done}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_undo_are_in_the_question() {
    const PLAN: &str = r#"use desk plan p() -> string {
        step c = desk.close(id: "t1", by: "me") undo desk.reopen(id: "t7")
        reply c
    }"#;
    let desk = TicketProject::new();
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    let (text, _) = client.call_text("run", json!({ "plan": PLAN })).await;
    let line = r#"- desk.reopen: once (effect), id = "t7"; only if the plan fails"#;
    assert!(text.contains(line), "{text}");
}

/// A plan that is based on a run does not get its secrets as plain inputs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_of_a_run_are_not_inputs_of_the_next_one() {
    const LOGIN: &str =
        "plan login(pw: secret, name: string) -> string { reply name + string(size(pw)) }";
    let desk = TicketProject::new();
    let mut client = desk.client("2025-11-25", Person::Nobody).await;
    let inputs = json!({ "pw": "hunter2hunter2", "name": "ada" });
    let done = client
        .call("read", json!({ "plan": LOGIN, "inputs": inputs }))
        .await;
    let run = done["structuredContent"]["run"]
        .as_str()
        .unwrap()
        .to_owned();
    let plain = "plan m(pw: string, name: string) -> string { reply pw + name }";
    let (text, is_error) = client
        .call_text("run", json!({ "plan": plain, "base": run }))
        .await;
    assert!(
        is_error && text.contains("pw") && !text.contains("hunter2"),
        "{text}"
    );
    let done = client
        .call("run", json!({ "plan": LOGIN, "base": run }))
        .await;
    assert_eq!(done["structuredContent"]["reply"], "ada14", "{done}");
}

#[tokio::test]
async fn parameters_that_do_not_fit_are_told_apart_from_a_method_that_does_not_exist() {
    for revision in REVISIONS {
        let desk = TicketProject::new();
        let mut client = desk.client(revision, Person::Nobody).await;
        // The newest revision has no subscriptions to resources.
        let removed = if revision == "2026-07-28" {
            -32601
        } else {
            -32602
        };
        for (method, params, code) in [
            ("tools/call", json!({ "name": 7 }), -32602),
            (
                "tools/call",
                json!({ "name": "run", "arguments": [] }),
                -32602,
            ),
            ("prompts/get", json!({}), -32602),
            ("resources/subscribe", json!({}), removed),
            ("tools/burn", json!({}), -32601),
        ] {
            let answer = client.answer_to(method, params).await;
            assert_eq!(
                answer["error"]["code"], code,
                "{revision}: {method}: {answer}"
            );
        }
    }
}
