//! Loops against a scripted model over HTTP, with tools that write down what they are called with.

use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use planrun_core::journal::Given;
use planrun_core::run::Asking;
use planrun_lang::call::{Answer, CallError};
use planrun_lang::permission::Grant;
use planrun_lang::protocol::Sent;
use planrun_lang::sema::declared_tools;
use planrun_lang::source::SourceFile;
use planrun_lang::types::ErrorClass;
use planrun_models::client::Models;
use planrun_models::double::{DoubleOptions, ModelDouble, Script};
use planrun_models::model::{ErrorKind, Message, StopReason};
use planrun_runs::driver::Asker;
use planrun_runs::runs::{Addressee, Planrun};
use planrun_tools::host::{Host, MemoryHost, RealHost, VirtualHost};
use planrun_tools::project::{Location, Project};
use planrun_tools::tools::{
    BoxFuture, Conversation, Described, Request, Tool, Transport, described,
};
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;

use super::{Agent, Ended, Event, Options, Outcome, Setup};
use crate::session::{Session, Sessions};
use crate::toolbox::{Called, Toolbox};

const TOOLS: &str = "
tool desk.find(customer: string) -> int[] read
tool desk.broken(why: string) -> int read fails lost
tool desk.meet(who: string) -> string read
tool desk.close(id: int) -> string effect
tool desk.enter(key: secret, door: int) -> string effect
";

/// A tool that writes down what it is called with.
struct Desk {
    signature: Arc<planrun_lang::types::Signature>,
    calls: Arc<Mutex<Vec<String>>>,
    meeting: Arc<Barrier>,
}

impl Transport for Desk {
    fn call(&self, request: Request) -> Conversation {
        if let Err(error) = request.begins() {
            return Conversation::Now(Err(error));
        }
        let name = request.signature.name.clone();
        let arguments = request.arguments.to_json();
        self.calls
            .lock()
            .unwrap()
            .push(format!("{name} {arguments}"));
        let meeting = self.meeting.clone();
        Conversation::from_future(async move {
            let answer = match &*name {
                "find" => json!([1, 2]),
                "enter" => json!("in"),
                "close" => json!(format!("closed {}", arguments["id"])),
                "meet" => {
                    meeting.wait().await;
                    arguments["who"].clone()
                }
                _ => {
                    let class = ErrorClass::Tool("lost".into());
                    return Err(CallError::new(class, "it is lost", Sent::Answered));
                }
            };
            Ok(Answer::Json(answer))
        })
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([self.signature.clone()])
    }
}

/// Somebody who says the same to every question, and counts them.
struct Says {
    value: Json,
    note: Option<&'static str>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Asker for Says {
    fn ask(&self, asking: Asking) -> Pin<Box<dyn Future<Output = Option<Given>> + Send>> {
        self.asked
            .lock()
            .unwrap()
            .push(asking.question.text.to_string());
        let given = Given {
            path: asking.path,
            value: self.value.clone(),
            by: None,
            note: self.note.map(Into::into),
        };
        Box::pin(async move { Some(given) })
    }
}

/// A project with a desk, and a model that plays a script.
struct Bench {
    place: TempDir,
    double: ModelDouble,
    calls: Arc<Mutex<Vec<String>>>,
    asked: Arc<Mutex<Vec<String>>>,
    setup: Setup,
}

impl Bench {
    async fn new(turns: &str) -> Self {
        let source = SourceFile::new("script.yaml", format!("turns:\n{turns}"));
        let script = Script::read(&source).unwrap();
        let host: Arc<dyn Host> = Arc::new(MemoryHost::default());
        let double = ModelDouble::start(script, DoubleOptions::default(), host)
            .await
            .unwrap();
        let file = format!(
            "models: {{ m: {{ base_url: '{}', model: tiny }} }}",
            double.base_url()
        );
        let host = MemoryHost::default().with_file("/p/planrun.yaml", file);
        let host: Arc<dyn Host> = Arc::new(VirtualHost::new(host));
        let location = Location::of(&*host, None, Some(Path::new("/p"))).unwrap();
        let (project, _) = Project::open(&*host, &location).unwrap();
        let model = Arc::new(Models::of(&project, &host).open(None).unwrap());

        let place = tempfile::tempdir().unwrap();
        let allow = "allow: { read: [notes], write: [notes] }\n";
        std::fs::write(place.path().join("planrun.yaml"), allow).unwrap();
        std::fs::create_dir_all(place.path().join("notes/deep")).unwrap();
        std::fs::write(place.path().join("notes/a.md"), "one\r\ntwo\r\n").unwrap();
        std::fs::write(place.path().join("notes/deep/b.txt"), "two\n").unwrap();
        std::fs::write(place.path().join("secret.txt"), "hunter2").unwrap();
        let calls: Arc<Mutex<Vec<String>>> = Arc::default();
        let (declared, found) = declared_tools(&SourceFile::new("tools", TOOLS));
        assert!(found.is_empty(), "{found:?}");
        let meeting = Arc::new(Barrier::new(2));
        let tools = declared.into_iter().map(|signature| Tool {
            transport: Arc::new(Desk {
                signature: signature.clone(),
                calls: calls.clone(),
                meeting: meeting.clone(),
            }),
            signature,
        });
        let planrun = Planrun::in_memory(place.path()).unwrap().with_tools(tools);
        Self {
            place,
            double,
            calls,
            asked: Arc::default(),
            setup: Setup {
                planrun,
                model,
                asker: None,
                sessions: None,
                watch: Arc::new(|_| {}),
                cancel: CancellationToken::new(),
                options: Options::default(),
            },
        }
    }

    /// With somebody who says this to every question.
    fn answered(mut self, value: impl Into<Json>, note: Option<&'static str>) -> Self {
        self.setup.asker = Some(Arc::new(Says {
            value: value.into(),
            note,
            asked: self.asked.clone(),
        }));
        self
    }

    async fn go_on(&self, session: &mut Session, request: Option<&str>) -> Outcome {
        let agent = Agent::new(self.setup.clone(), request.unwrap_or_default()).unwrap();
        agent.run(session, request).await.unwrap()
    }

    async fn run(&self, request: &str) -> Outcome {
        self.go_on(&mut Session::new("s"), Some(request)).await
    }

    fn called(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }

    /// The bodies of the requests that the model got.
    fn sent(&self) -> Vec<Json> {
        let requests = self.double.requests().into_iter();
        requests.map(|request| request.body).collect()
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.place.path().join(name)).unwrap()
    }
}

fn done(text: &str) -> Ended {
    Ended::Done {
        text: text.to_owned(),
        stop: Some(StopReason::End),
    }
}

/// The results that stand in messages, and whether they are failures.
fn results(outcome: &Outcome) -> Vec<(&str, bool)> {
    let results = outcome.messages.iter().filter_map(|message| match message {
        Message::Tool { text, is_error, .. } => Some((&**text, *is_error)),
        _ => None,
    });
    results.collect()
}

fn user(text: &str) -> Message {
    Message::User {
        text: text.to_owned(),
    }
}

#[tokio::test]
async fn s4_1_without_calls_the_answer_is_the_end() {
    let bench = Bench::new("- { text: Hello! }").await;
    let outcome = bench.run("Hi").await;
    assert_eq!((outcome.ended.clone(), outcome.rounds), (done("Hello!"), 1));
    let [first, Message::Assistant { text, .. }] = &*outcome.messages else {
        panic!("{outcome:?}")
    };
    assert_eq!((first, &**text), (&user("Hi"), "Hello!"));
    assert!(outcome.usage.input > 0 && outcome.usage.output > 0);
}

#[tokio::test]
async fn s4_2_one_message_with_the_calls_and_one_for_each_result_in_their_order() {
    let bench = Bench::new(
        "- { reasoning: need it, calls: [{ id: a, name: desk_find, arguments: { customer: Li } }, { id: b, name: desk_broken, arguments: { why: x } }] }
- { text: Two. }",
    )
    .await;
    let outcome = bench.run("How many?").await;
    assert_eq!(outcome.ended, done("Two."));
    let sent = bench.sent();
    let messages = sent[1]["messages"].as_array().unwrap();
    assert_eq!(messages[0]["role"], "system");
    assert_eq!(messages[1], json!({"role": "user", "content": "How many?"}));
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    assert_eq!(
        messages[2],
        json!({"role": "assistant", "content": null, "reasoning_content": "need it", "tool_calls": [
            call("a", "desk_find", r#"{"customer":"Li"}"#), call("b", "desk_broken", r#"{"why":"x"}"#)
        ]})
    );
    assert_eq!(
        messages[3],
        json!({"role": "tool", "tool_call_id": "a", "name": "desk_find", "content": "[1,2]"})
    );
    let failed = "Error executing desk.broken: tool.lost: it is lost";
    assert_eq!(
        messages[4],
        json!({"role": "tool", "tool_call_id": "b", "name": "desk_broken", "content": failed})
    );
    assert_eq!(messages.len(), 5);
}

#[tokio::test]
async fn s4_3_the_last_round_is_told() {
    let mut bench = Bench::new(
        "- { calls: [{ name: desk_find, arguments: { customer: x } }], repeat: forever }",
    )
    .await;
    bench.setup.options.rounds = 3;
    let outcome = bench.run("Look").await;
    assert_eq!(
        (outcome.ended.clone(), outcome.rounds),
        (Ended::Limit(3), 3)
    );
    assert_eq!(results(&outcome), [("[1,2]", false); 3]);
    assert_eq!(Options::default().rounds, 30);
}

#[tokio::test]
async fn s4_4_a_round_that_says_nothing_is_told_and_recorded() {
    let bench = Bench::new("- { text: '' }").await;
    let outcome = bench.run("Hi").await;
    assert_eq!(outcome.ended, Ended::Empty);
    assert_eq!(outcome.messages.len(), 2);
}

#[tokio::test]
async fn s4_5_only_what_is_new_is_given_back_and_all_is_sent() {
    let bench = Bench::new("- { text: One }\n- { text: Two }").await;
    let mut session = Session::new("s");
    bench.go_on(&mut session, Some("first")).await;
    let before = session.messages.clone();
    let outcome = bench.go_on(&mut session, Some("second")).await;
    assert_eq!(outcome.messages[0], user("second"));
    assert_eq!(outcome.messages.len(), 2);
    assert!(session.messages.starts_with(&before) && session.messages.len() == 4);
    assert_eq!(bench.sent()[1]["messages"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn s4_6_a_stop_is_a_normal_end_and_every_call_has_an_answer() {
    let turn = "- { text: Wait, calls: [{ name: desk_close, arguments: { id: 1 } }, { name: desk_find, arguments: { customer: x } }] }";
    // After the first call, and while the model still speaks.
    for (when_called, results_of) in [(true, 2), (false, 0)] {
        let mut bench = Bench::new(turn).await.answered(true, None);
        let cancel = bench.setup.cancel.clone();
        bench.setup.watch = Arc::new(move |event| match event {
            Event::Called { .. } if when_called => cancel.cancel(),
            Event::Said(_) if !when_called => cancel.cancel(),
            _ => {}
        });
        let outcome = bench.run("Do it").await;
        assert_eq!(outcome.ended, Ended::Cancelled);
        let results = results(&outcome);
        assert_eq!(results.len(), results_of, "{results:?}");
        if when_called {
            assert_eq!(results[0], ("closed 1", false));
            assert!(
                results[1].0.starts_with("[Cancelled] Nothing was called"),
                "{results:?}"
            );
            assert_eq!(bench.called(), [r#"close {"id":1}"#]);
        }
    }
}

#[tokio::test]
async fn s4_6_a_model_that_fails_loses_nothing_that_was_said() {
    let bench = Bench::new(
        "- { text: Half, calls: [{ name: desk_find, arguments: { customer: x } }] }\n- { status: 400, error: no }\n- { text: Whole }",
    )
    .await;
    let mut session = Session::new("s");
    let outcome = bench.go_on(&mut session, Some("Hi")).await;
    let Ended::Failed(error) = &outcome.ended else {
        panic!("{outcome:?}")
    };
    assert_eq!(error.kind, ErrorKind::InvalidRequest);
    assert_eq!(outcome.messages.len(), 3);
    let outcome = bench.go_on(&mut session, None).await;
    assert_eq!(outcome.ended, done("Whole"));
}

#[tokio::test]
async fn s4_8_broken_arguments_and_names_that_mean_nothing_are_answered() {
    let bench = Bench::new(
        r#"- calls:
    - { name: desk_find, arguments: '{"customer":' }
    - { name: desk_fnd, arguments: {} }
    - { name: desk_find, arguments: '{"customer":"a"}{"customer":"b"}' }
    - { name: desk.find, arguments: { custmer: a } }
    - { name: task_finish, arguments: { context_summary: x } }
- { text: ok }"#,
    )
    .await;
    let outcome = bench.run("Go").await;
    let results = results(&outcome);
    for (index, told) in [
        (0, "the arguments are no JSON"),
        (1, "There is no tool `desk_fnd`. Was `desk_find` meant?"),
        (2, "[1,2]"),
        (3, "[1,2]"),
        (4, "custmer"),
        (5, "Tool 'task_finish' is only available for Sub-Agents."),
    ] {
        assert!(results[index].0.contains(told), "{told}: {results:?}");
    }
    assert_eq!(bench.called().len(), 2);
}

#[tokio::test]
async fn every_call_of_a_conversation_has_an_id_of_its_own() {
    let call = "{ id: a, name: desk_find, arguments: { customer: x } }";
    let bench = Bench::new(&format!(
        "- {{ calls: [{call}, {call}] }}\n- {{ calls: [{call}] }}\n- {{ text: ok }}"
    ))
    .await;
    let outcome = bench.run("Go").await;
    let ids = outcome.messages.iter().filter_map(|message| match message {
        Message::Tool { call, .. } => Some(call.clone()),
        _ => None,
    });
    let ids: Vec<String> = ids.collect();
    let unique: std::collections::BTreeSet<&String> = ids.iter().collect();
    assert_eq!((ids.len(), unique.len(), &*ids[0]), (3, 3, "a"));
}

#[tokio::test]
async fn reads_of_a_round_are_made_at_the_same_time() {
    // Each waits for the other.
    let bench = Bench::new(
        "- { calls: [{ name: desk_meet, arguments: { who: a } }, { name: desk_meet, arguments: { who: b } }] }\n- { text: ok }",
    )
    .await;
    let outcome = bench.run("Meet").await;
    assert_eq!(results(&outcome), [("a", false), ("b", false)]);
}

#[tokio::test]
async fn s4_17_what_changes_something_is_asked_for_once_and_a_no_is_told_with_its_reason() {
    let turns = "- { calls: [{ name: desk_close, arguments: { id: 7 } }] }\n- { text: ok }";
    for (value, note, told, calls) in [
        (true, None, "closed 7", 1),
        (
            false,
            None,
            "Rejected: somebody said no. Nothing was called.",
            0,
        ),
        (
            false,
            Some("it is mine"),
            "Rejected: somebody said no: it is mine. Nothing was called.",
            0,
        ),
    ] {
        let bench = Bench::new(turns).await.answered(value, note);
        let outcome = bench.run("Close 7").await;
        assert_eq!(outcome.ended, done("ok"));
        assert_eq!(results(&outcome), [(told, !value)]);
        assert_eq!(bench.called().len(), calls);
        let asked = bench.asked.lock().unwrap();
        assert_eq!(asked.len(), 1);
        assert!(
            asked[0].contains("desk.close") && asked[0].contains("id: 7"),
            "{asked:?}"
        );
    }
}

#[tokio::test]
async fn a_question_shows_no_secret() {
    let bench = Bench::new(
        "- { calls: [{ name: desk_enter, arguments: { key: hunter2, door: 7 } }] }\n- { text: ok }",
    )
    .await
    .answered(true, None);
    let outcome = bench.run("Go in").await;
    assert_eq!(results(&outcome), [("in", false)]);
    let asked = bench.asked.lock().unwrap();
    assert!(
        asked[0].contains("door: 7") && !asked[0].contains("hunter2"),
        "{asked:?}"
    );
}

#[tokio::test]
async fn a_standing_grant_is_asked_for_once() {
    let turns = "- { calls: [{ name: desk_close, arguments: { id: 7 } }, { name: desk_close, arguments: { id: 8 } }] }\n- { text: ok }";
    let yes = json!({ "approve": true, "scope": "plan" });
    let bench = Bench::new(turns).await.answered(yes, None);
    let outcome = bench.run("Close").await;
    assert_eq!(
        results(&outcome),
        [("closed 7", false), ("closed 8", false)]
    );
    assert_eq!(bench.asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn where_nobody_is_there_the_loop_waits_and_goes_on_after_the_answer() {
    let bench = Bench::new(
        "- { calls: [{ id: a, name: desk_close, arguments: { id: 7 } }, { id: b, name: desk_close, arguments: { id: 8 } }] }\n- { text: ok }",
    )
    .await;
    let mut session = Session::new("s");
    let outcome = bench.go_on(&mut session, Some("Close")).await;
    let Ended::Waits { run, question } = &outcome.ended else {
        panic!("{outcome:?}")
    };
    assert!(
        question.contains("desk.close") && question.contains(run.as_str()),
        "{question}"
    );
    assert_eq!(session.unanswered().len(), 1);
    // Nobody has answered yet.
    let again = bench.go_on(&mut session, None).await;
    assert_eq!(again.ended, outcome.ended);
    let yes = Given {
        path: "approval".into(),
        value: true.into(),
        by: None,
        note: None,
    };
    bench
        .setup
        .planrun
        .answer(Addressee::Run(run), &[yes])
        .unwrap();
    let outcome = bench.go_on(&mut session, None).await;
    assert_eq!(outcome.ended, done("ok"));
    assert_eq!(bench.called(), [r#"close {"id":7}"#]);
    let sent = bench.sent();
    let messages = sent[1]["messages"].as_array().unwrap();
    assert!(
        messages[3]["content"]
            .as_str()
            .unwrap()
            .contains("closed 7"),
        "{messages:?}"
    );
    assert!(
        messages[4]["content"]
            .as_str()
            .unwrap()
            .starts_with("Nothing was called")
    );
}

#[tokio::test]
async fn a_long_chain_is_a_plan_and_costs_one_turn() {
    let bench = Bench::new(
        r#"- { calls: [{ name: run, arguments: { plan: "step ids = desk.find(customer: \"Li\") step closed = each id in ids max 10 { step one = desk.close(id: id) yield one } reply closed" } }] }
- { text: ok }"#,
    )
    .await
    .answered(true, None);
    let outcome = bench.run("Close all of Li").await;
    let [(result, false)] = &*results(&outcome) else {
        panic!("{outcome:?}")
    };
    assert!(result.contains(r#"["closed 1","closed 2"]"#), "{result}");
    assert_eq!((outcome.rounds, bench.asked.lock().unwrap().len()), (2, 1));
}

#[tokio::test]
async fn findings_of_a_plan_and_lookups_are_results() {
    let bench = Bench::new(
        r#"- calls:
    - { name: search, arguments: { query: customer } }
    - { name: describe, arguments: { names: [desk.find] } }
- { calls: [{ name: run, arguments: { plan: "step a = desk.finde(customer: 1) reply a" } }] }
- { text: ok }"#,
    )
    .await;
    let outcome = bench.run("Look").await;
    let results = results(&outcome);
    assert!(
        results[0].0.contains("desk.find") && results[1].0.contains("customer"),
        "{results:?}"
    );
    assert!(
        results[2].1 && results[2].0.contains("desk.find"),
        "{results:?}"
    );
}

#[tokio::test]
async fn s4_12_a_sub_agent_finishes_only_by_a_call_that_succeeds_and_its_siblings_are_not_made() {
    let bench = Bench::new(
        r#"- { calls: [{ name: dispatch_subagents, arguments: { context_summary: about Li, sub_agents: [{ prompt: "Close the first ticket" }] } }] }
- { when: { user: Context Summary }, calls: [{ name: task_finish, arguments: {} }] }
- { when: { tool: missing }, calls: [{ name: task_finish, arguments: { context_summary: All done } }, { name: desk_close, arguments: { id: 1 } }] }
- { when: { tool: Finished }, text: ok }"#,
    )
    .await
    .answered(true, None);
    let outcome = bench.run("Go").await;
    assert_eq!(outcome.ended, done("ok"), "{outcome:?}");
    let expected = "### Sub-agent 'Close the first tick...' Finished:\nAll done";
    assert_eq!(results(&outcome), [(expected, false)]);
    assert_eq!(bench.called(), [""; 0]);
    let sent = bench.sent();
    let child = &sent[1]["messages"];
    assert_eq!(
        child[1]["content"],
        "## Context Summary\nabout Li\n\nClose the first ticket"
    );
    assert!(
        child[0]["content"]
            .as_str()
            .unwrap()
            .contains("You are a sub-agent")
    );
    let offers = |body: &Json| body["tools"].to_string().contains("\"task_finish\"");
    assert_eq!((offers(&sent[0]), offers(&sent[1])), (false, true));
}

#[tokio::test]
async fn s4_19_reports_are_joined_and_a_failure_is_one_of_them() {
    let bench = Bench::new(
        r"- { calls: [{ name: dispatch_subagents, arguments: { sub_agents: [{ prompt: one }, { prompt: two }] } }] }
- { when: { user: one }, text: First }
- { when: { user: two }, status: 400, error: broken }
- { when: { tool: Failed }, calls: [{ name: dispatch_subagents, arguments: { sub_agents: [] } }] }
- { when: { tool: empty }, text: ok }",
    )
    .await;
    let outcome = bench.run("Go").await;
    let results = results(&outcome);
    let (first, second) = results[0].0.split_once("\n\n----------------\n\n").unwrap();
    assert_eq!(first, "### Sub-agent 'one...' Finished:\nFirst");
    assert!(
        second.starts_with("### Sub-agent 'two...' Failed:\n"),
        "{second}"
    );
    assert_eq!(results[1], ("Error: sub_agents list empty.", true));
    assert_eq!(outcome.ended, done("ok"));
}

#[tokio::test]
async fn s4_19_a_sub_agent_reaches_at_most_what_its_parent_does() {
    let bench = Bench::new(
        r#"- { calls: [{ name: dispatch_subagents, arguments: { sub_agents: [{ prompt: child, allowed_uris: [notes/deep, /etc], tools: [desk_find, "fs.*"] }] } }] }
- when: { user: child }
  calls:
    - { name: fs_read, arguments: { path: notes/deep/b.txt } }
    - { name: fs_read, arguments: { path: notes/a.md } }
    - { name: fs_read, arguments: { path: /etc/hostname } }
    - { name: desk_meet, arguments: { who: x } }
    - { name: run, arguments: { plan: "use fs plan p() -> string { allow { read: [\"notes\"] } step t = fs.read(path: \"notes/a.md\") reply t }" } }
- { when: { tool: '' }, calls: [{ name: dispatch_subagents, arguments: { sub_agents: [{ prompt: grand, allowed_uris: [notes] }] } }] }
- { when: { user: grand }, calls: [{ name: fs_read, arguments: { path: notes/a.md } }] }
- { when: { tool: denied }, text: grand saw nothing }
- { when: { tool: saw nothing }, text: child is done }
- { when: { tool: is done }, text: ok }"#,
    )
    .await;
    let outcome = bench.run("Go").await;
    assert_eq!(
        outcome.ended,
        done("ok"),
        "{outcome:?}\n{:#?}",
        bench.sent().last()
    );
    let sent = bench.sent();
    let texts: Vec<&str> = sent[2]["messages"].as_array().unwrap()[3..]
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(texts[0], "two\n");
    for text in &texts[1..] {
        assert!(
            !text.contains("one") && !text.contains("two\n"),
            "{texts:?}"
        );
    }
    let offered = sent[1]["tools"].to_string();
    assert!(
        offered.contains("\"desk_find\"") && !offered.contains("\"desk_close\""),
        "{offered}"
    );
    assert_eq!(bench.called(), [""; 0]);
}

#[tokio::test]
async fn s4_19_nobody_waits_for_a_sub_agent_forever() {
    let mut bench = Bench::new(
        r"- { calls: [{ name: dispatch_subagents, arguments: { sub_agents: [{ prompt: slow }] } }] }
- { when: { user: slow }, text: late, delay: 3600s }
- { when: { tool: stopped }, text: ok }",
    )
    .await;
    bench.setup.options.child_time = Duration::from_millis(50);
    let outcome = bench.run("Go").await;
    assert_eq!(outcome.ended, done("ok"));
    assert!(
        results(&outcome)[0].0.contains("it was stopped after"),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn s4_23_a_session_goes_on_in_another_process_and_calls_of_a_killed_one_are_answered() {
    let bench = Bench::new("- { calls: [{ id: a, name: desk_find, arguments: { customer: x } }] }\n- { text: One }\n- { text: Two }").await;
    let sessions = Sessions::of(Arc::new(RealHost), bench.place.path().to_owned());
    let mut setup = bench.setup.clone();
    setup.sessions = Some(sessions.clone());
    let mut session = sessions.open("one").unwrap();
    let agent = Agent::new(setup.clone(), "").unwrap();
    agent.run(&mut session, Some("Hi")).await.unwrap();
    let kept = sessions.open("one").unwrap();
    assert_eq!(kept, session);

    // As a process leaves it that dies before its calls.
    let mut killed = kept;
    killed.messages.truncate(2);
    killed.runs.clear();
    sessions.save(&mut killed).unwrap();
    let mut session = sessions.open("one").unwrap();
    let outcome = agent.run(&mut session, Some("And?")).await.unwrap();
    assert_eq!(outcome.ended, done("Two"));
    let Message::Tool { call, text, .. } = &session.messages[2] else {
        panic!("{session:?}")
    };
    assert!(
        call == "a" && text.starts_with("[Interrupted] Nothing was called"),
        "{text}"
    );
}

#[tokio::test]
async fn s4_13_file_tools_reach_what_is_allowed_and_change_what_they_are_told() {
    let bench = Bench::new(
        r#"- calls:
    - { name: files_glob, arguments: { pattern: '**/*.*' } }
    - { name: files_grep, arguments: { pattern: '^t.o', path: notes } }
    - { name: files_outline, arguments: { path: notes } }
    - { name: files_grep, arguments: { pattern: hunter, path: . } }
    - { name: fs_read, arguments: { path: secret.txt } }
- calls:
    - { name: files_edit, arguments: { path: notes/a.md, edits: [{ search: "one\ntwo", replace: "$& 1\n2" }] } }
    - { name: files_mkdir, arguments: { path: notes/x/y } }
    - { name: files_mkdir, arguments: { path: other } }
    - { name: fs_write, arguments: { path: notes/x/y/z, content: new } }
    - { name: files_edit, arguments: { path: secret.txt, edits: [{ search: hunter2, replace: x }] } }
- { text: ok }"#,
    )
    .await
    .answered(true, None);
    let outcome = bench.run("See @[notes/a.md:2] and @[secret.txt]").await;
    assert_eq!(outcome.ended, done("ok"));
    let results = results(&outcome);
    let json = |index: usize| -> Json { serde_json::from_str(results[index].0).unwrap() };
    assert_eq!(
        json(0),
        json!({"paths": ["notes/a.md", "notes/deep/b.txt"], "more": false})
    );
    let found = |path: &str, line: u64| json!({"path": path, "line": line, "text": "two"});
    assert_eq!(
        json(1)["matches"],
        json!([found("notes/a.md", 2), found("notes/deep/b.txt", 1)])
    );
    assert_eq!(results[2].0, "notes/\n  a.md\n  deep/\n    b.txt\n");
    for index in [3, 4, 7, 9] {
        let (text, is_error) = results[index];
        assert!(
            is_error && text.contains("denied.policy"),
            "{index}: {results:?}"
        );
    }
    assert_eq!(json(5), json!({"edits": 1, "bytes": 9}));
    assert_eq!(bench.file("notes/a.md"), "$& 1\r\n2\r\n");
    assert_eq!(
        (
            bench.file("notes/x/y/z").as_str(),
            bench.file("secret.txt").as_str()
        ),
        ("new", "hunter2")
    );
    let request = &bench.sent()[0]["messages"][1]["content"];
    let request = request.as_str().unwrap();
    assert!(
        request.contains("```\ntwo\n```") && !request.contains("hunter2"),
        "{request}"
    );
}

#[tokio::test]
async fn s4_24_and_s4_26_rules_and_skills_are_told() {
    let bench = Bench::new(
        "- { calls: [{ name: skill, arguments: { name: pdf } }, { name: skill, arguments: { name: x } }] }\n- { text: ok }",
    )
    .await;
    let agents = bench.place.path().join(".agents");
    std::fs::create_dir_all(agents.join("rules")).unwrap();
    std::fs::create_dir_all(agents.join("skills/pdf")).unwrap();
    std::fs::write(agents.join("rules/a.md"), "Be brief.").unwrap();
    std::fs::write(
        agents.join("skills/pdf/SKILL.md"),
        "---\nname: pdf\ndescription: Reads PDFs\n---\nOpen it.",
    )
    .unwrap();
    let outcome = bench.run("Go").await;
    let system = bench.sent()[0]["messages"][0]["content"].to_string();
    for told in [
        "Be brief.",
        "pdf: Reads PDFs",
        "Current Allowed URIs: read [\\\"notes\\\"]",
    ] {
        assert!(system.contains(told), "{told}: {system}");
    }
    assert_eq!(results(&outcome)[0], ("Open it.", false));
    assert!(results(&outcome)[1].1);
}

#[tokio::test]
async fn what_a_run_may_reach_stays_narrow_whoever_resumes_it() {
    let bench = Bench::new("- { text: unused }").await;
    let grant = Grant {
        write: vec!["notes/deep".to_owned()],
        ..Grant::default()
    };
    let narrow = bench.setup.planrun.clone().confined([grant]);
    let wide = Toolbox::new(&bench.setup.planrun, None, "").unwrap();
    let narrow = Toolbox::new(&narrow, None, "").unwrap();
    let cancel = CancellationToken::new();
    let arguments = json!({ "path": "notes/a.md", "content": "new" });
    for (run, toolbox, is_denied) in [("wide", &wide, false), ("narrow", &narrow, true)] {
        let arguments = arguments.as_object().unwrap().clone();
        let called = toolbox.call("fs_write", arguments, run, &cancel).await;
        assert!(matches!(called, Called::Waits { .. }), "{called:?}");
        let yes = Given {
            path: "approval".into(),
            value: true.into(),
            by: None,
            note: None,
        };
        bench
            .setup
            .planrun
            .answer(Addressee::Run(run), &[yes])
            .unwrap();
        let called = wide.resume(run, &cancel).await.unwrap();
        let told = format!("{called:?}");
        assert_eq!(told.contains("denied.policy"), is_denied, "{told}");
    }
}

#[tokio::test]
async fn tools_beyond_the_first_are_told_once_they_were_described() {
    let bench = Bench::new(
        "- { calls: [{ name: describe, arguments: { names: [desk.close] } }] }\n- { text: ok }\n- { text: again }",
    )
    .await;
    let many: String = (0..60).fold(String::new(), |text, number| {
        text + &format!("tool many.t{number}(a: int) -> int read\n")
    });
    let (declared, _) = declared_tools(&SourceFile::new("tools", many));
    let tools = declared.into_iter().map(|signature| Tool {
        transport: Arc::new(Desk {
            signature: signature.clone(),
            calls: Arc::default(),
            meeting: Arc::new(Barrier::new(1)),
        }),
        signature,
    });
    let mut setup = bench.setup.clone();
    setup.planrun = setup.planrun.with_tools(tools);
    let mut session = Session::new("s");
    for request in ["many t7", "more"] {
        let agent = Agent::new(setup.clone(), request).unwrap();
        agent.run(&mut session, Some(request)).await.unwrap();
    }
    let sent = bench.sent();
    let offers =
        |body: &Json, name: &str| body["tools"].to_string().contains(&format!("\"{name}\""));
    let told: Vec<bool> = sent.iter().map(|body| offers(body, "desk_close")).collect();
    assert_eq!(told, [false, true, true]);
    assert!(sent[0]["tools"].as_array().unwrap().len() <= 48 + 5);
}
