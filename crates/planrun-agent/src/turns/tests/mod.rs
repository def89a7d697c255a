//! Tests of loops with a scripted model over HTTP and with tools that record their calls.

mod asked;
mod asking;
mod rounds;
mod sub_agents;
mod tools;

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use planrun_core::journal::SubmittedAnswer;
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
use planrun_runs::runs::{Addressee, Planrun, RunFilter};
use planrun_tools::host::{Host, MemoryHost, RealHost, VirtualHost};
use planrun_tools::project::{AgentTypes, Location, Project};
use planrun_tools::tools::{
    AskReply, BoxFuture, Conversation, Described, Question, Request, Tool, Transport, described,
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
tool desk.note(text: string, id: int) -> string effect
tool desk.ask(id: int) -> string effect
";

/// A tool that records its calls.
struct RecordingTool {
    signature: Arc<planrun_lang::types::Signature>,
    calls: Arc<Mutex<Vec<String>>>,
    meeting: Arc<Barrier>,
}

impl Transport for RecordingTool {
    fn call(&self, request: Request) -> Conversation {
        if let Err(error) = request.require_no_handle() {
            return Conversation::Now(Err(error));
        }
        let name = request.signature.name.clone();
        let arguments = request.arguments.to_json();
        self.calls.lock().push(format!("{name} {arguments}"));
        let meeting = self.meeting.clone();
        if &*name == "ask" {
            return Conversation::with_events(|mut events| async move {
                let schema = json!({
                    "type": "object", "properties": { "room": { "type": "string" } },
                    "required": ["room"],
                });
                let question = Question::new("Which room?".to_owned(), schema).unwrap();
                match events.ask(question).await {
                    AskReply::Given(content) => Ok(Answer::Json(content["room"].clone())),
                    AskReply::Declined | AskReply::Unanswered => Ok(Answer::Json(Json::Null)),
                }
            });
        }
        Conversation::from_future(async move {
            let answer = match &*name {
                "find" => json!([1, 2]),
                "enter" => json!("in"),
                "note" => json!("noted"),
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

/// An approver that gives the same answer to every question, and records the questions.
struct FixedAsker {
    value: Json,
    note: Option<&'static str>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Asker for FixedAsker {
    fn ask(&self, asking: Asking) -> Pin<Box<dyn Future<Output = Option<SubmittedAnswer>> + Send>> {
        self.asked.lock().push(asking.question.text.to_string());
        let given = SubmittedAnswer {
            path: asking.path,
            value: self.value.clone(),
            by: None,
            note: self.note.map(Into::into),
        };
        Box::pin(async move { Some(given) })
    }
}

/// A project with tools, and a model that plays a script.
struct Bench {
    place: TempDir,
    double: ModelDouble,
    calls: Arc<Mutex<Vec<String>>>,
    asked: Arc<Mutex<Vec<String>>>,
    setup: Setup,
}

impl Bench {
    /// Approves a run.
    fn approve(&self, run: &str) {
        let yes = SubmittedAnswer {
            path: "approval".into(),
            value: true.into(),
            by: None,
            note: None,
        };
        let planrun = &self.setup.planrun;
        planrun.answer(Addressee::Run(run), &[yes]).unwrap();
    }

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
            transport: Arc::new(RecordingTool {
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
                types: Arc::default(),
                agent_type: AgentTypes::default().types.remove(0),
                model,
                asker: None,
                sessions: None,
                watch: Arc::new(|_| {}),
                cancel: CancellationToken::new(),
                options: Options::default(),
            },
        }
    }

    /// Adds an approver that gives this answer to every question.
    fn answered(mut self, value: impl Into<Json>, note: Option<&'static str>) -> Self {
        self.setup.asker = Some(Arc::new(FixedAsker {
            value: value.into(),
            note,
            asked: self.asked.clone(),
        }));
        self
    }

    async fn resume(&self, session: &mut Session, request: Option<&str>) -> Outcome {
        let agent = Agent::new(self.setup.clone(), request.unwrap_or_default()).unwrap();
        agent.run(session, request).await.unwrap()
    }

    async fn run(&self, request: &str) -> Outcome {
        self.resume(&mut Session::new("s"), Some(request)).await
    }

    fn called(&self) -> Vec<String> {
        self.calls.lock().clone()
    }

    /// Returns the bodies of the requests that the model received.
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

/// Returns the results of calls in the messages, and whether they are errors.
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
