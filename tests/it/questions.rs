//! The number of questions that a server or an agent may ask during a call. A question that is one too many is not asked.

use std::sync::Arc;

use planrun_lang::call::{Answer, CallOutcome};
use planrun_lang::protocol::Sent;
use planrun_lang::types::Effect;
use planrun_lang::value::Value;
use planrun_tools::contract::{Lock, LockedServer};
use planrun_tools::host::{Host, RealHost};
use planrun_tools::project::{Location, Project, ToolSource};
use planrun_tools::tools::a2a::{AgentAddress, AgentServer};
use planrun_tools::tools::mcp::McpServer;
use planrun_tools::tools::{CallEvent, Conversation, PinnedTool, Request, Server};
use serde_json::{Value as Json, json};

use crate::a2a::Agent;
use crate::mcp::served;

/// The documented number of questions.
const MOST: usize = 15;

/// Calls a tool and answers each question with `given`. Returns the number of questions and the outcome.
async fn call(
    server: Arc<dyn Server>,
    tool: &str,
    arguments: &Json,
    given: &Json,
) -> (usize, CallOutcome) {
    let offered = server.offered().await.unwrap();
    let name = server.name().clone();
    let signature = Arc::new(offered.tools[tool].signature(&name, tool, Effect::Effect));
    let mut lock = Lock::default();
    let pinned = LockedServer::default().renewed(offered);
    lock.servers.insert(name.to_string(), pinned);
    let pinned = PinnedTool {
        signature: signature.clone(),
        lock: Arc::new(lock),
    };
    let called = server.clone().transport(pinned).call(Request::new(
        "given",
        signature,
        Value::from_json(arguments),
        "key",
    ));
    let Conversation::Later(mut events) = called else {
        panic!("it asks something")
    };
    let mut questions = 0;
    loop {
        match events.next().await {
            Some(CallEvent::Ask(ask)) => {
                questions += 1;
                ask.answer(given.clone());
            }
            Some(CallEvent::Done(outcome)) => {
                server.close().await;
                return (questions, outcome);
            }
            Some(_) => {}
            None => panic!("it ended without an outcome"),
        }
    }
}

fn text(outcome: CallOutcome) -> String {
    match outcome.unwrap() {
        Answer::Value(value) => value.to_json().to_string(),
        Answer::Json(json) => json.to_string(),
    }
}

fn refused(outcome: CallOutcome) {
    let error = outcome.unwrap_err();
    assert_eq!(error.sent, Sent::Maybe);
    assert_eq!(error.class.to_string(), "validation.result");
    let message = "asked more than 15 questions without";
    assert!(error.message.contains(message), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_may_ask_as_often_as_documented() {
    for (asks, is_allowed) in [(MOST, true), (MOST + 1, false)] {
        let agent = Agent::default();
        let address = AgentAddress {
            url: agent.open().await,
            headers: Vec::new(),
        };
        let host: Arc<dyn Host> = Arc::new(RealHost);
        let server = AgentServer::new("desk".into(), address, None, host);
        let (arguments, given) = (
            json!({ "text": asks.to_string() }),
            json!({ "answer": "a" }),
        );
        let (questions, outcome) = call(Arc::new(server), "quiz", &arguments, &given).await;
        assert_eq!(questions, MOST);
        if is_allowed {
            assert!(text(outcome).contains("it is over"));
        } else {
            refused(outcome);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_may_ask_as_often_as_documented() {
    let Some(place) = served("modern.py", &[], "") else {
        return;
    };
    let host: Arc<dyn Host> = Arc::new(RealHost);
    let location = Location::of(&*host, None, Some(place.path())).unwrap();
    let (project, _) = Project::open(&*host, &location).unwrap();
    let ToolSource::Mcp(address) = &project.servers[0].source else {
        panic!("it is a server")
    };
    for (asks, is_allowed) in [(MOST, true), (MOST + 1, false)] {
        let limit = project.limit(&*host);
        let (name, address) = ("notes".into(), address.clone());
        let server = McpServer::new(name, address, limit, host.clone());
        let (arguments, given) = (json!({ "questions": asks }), json!({ "colour": "blue" }));
        let (questions, outcome) = call(Arc::new(server), "quiz", &arguments, &given).await;
        assert_eq!(questions, MOST);
        if is_allowed {
            assert!(text(outcome).contains("after 15"));
        } else {
            refused(outcome);
        }
    }
}
