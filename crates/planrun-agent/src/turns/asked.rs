//! What requests, rules and skills bring along is there before the model reads them: their calls are made, and their references
//! followed.

use planrun_models::arguments::ReadCall;
use planrun_models::model::{Message, ToolCall};
use planrun_runs::runs::new_run_id;
use planrun_tools::tools::BoxFuture;
use serde_json::{Map, Value as Json};

use super::round::side_by_side;
use super::{Agent, Ended, Event};
use crate::markup::Macros;
use crate::references::{Came, Inlining, calls_of, expanded};
use crate::rules;
use crate::session::{Pending, Session, SessionError};
use crate::toolbox::{Called, DISPATCH, OWN_TOOLS, TASK_FINISH};

impl Agent {
    /// A request whose calls have not been made.
    pub(super) fn pending(&self, request: &str, macros: &Macros) -> Pending {
        let host = self.setup.planrun.host();
        let calls = calls_of(request, macros).into_iter();
        Pending {
            request: request.to_owned(),
            calls: calls.map(|call| (call, new_run_id(&**host))).collect(),
        }
    }

    /// Makes a pending request a message, with all that it brings along. Where one of its calls waits for somebody, it stays
    /// pending.
    pub(super) async fn ask(&self, session: &mut Session) -> Result<Option<Ended>, SessionError> {
        let Some(pending) = session.pending.clone() else {
            return Ok(None);
        };
        let came = match self.made(&pending).await {
            Ok(came) => came,
            Err(waits) => return Ok(Some(waits)),
        };
        let before = session.messages.iter().filter_map(|message| match message {
            Message::User { text } => Some(&**text),
            Message::System { .. } | Message::Assistant { .. } | Message::Tool { .. } => None,
        });
        let before: Vec<&str> = before.collect();
        let files = self.toolbox.files();
        let request = &pending.request;
        let text = expanded(request, &before, &mut session.macros, files, &came);
        session.messages.push(Message::User { text });
        session.pending = None;
        self.save(session)?;
        Ok(None)
    }

    /// What the calls of a request came to. Those that an earlier process began are not made again.
    ///
    /// # Errors
    /// One of them waits for somebody.
    async fn made(&self, pending: &Pending) -> Result<Came, Ended> {
        let (mut came, mut wanted) = (Came::new(), Vec::new());
        for (written, run) in &pending.calls {
            if self.toolbox.planrun().run(run).is_ok() {
                let called = self.left_behind(run).await;
                came.insert(written.clone(), told(called)?);
                continue;
            }
            match read(written) {
                Ok((call, arguments)) => wanted.push(ReadCall {
                    call,
                    arguments: Ok(arguments),
                }),
                Err(why) => {
                    came.insert(written.clone(), Err(why));
                }
            }
        }
        let runs = pending.calls.iter().cloned().collect();
        let called = self.execute(&wanted, &runs).await;
        for (one, called) in wanted.into_iter().zip(called) {
            came.insert(one.call.id, told(called.called)?);
        }
        Ok(came)
    }

    /// Rules and skills, with the paths of their files, as the model reads them.
    pub(super) async fn in_place(&self, texts: Vec<(String, &str)>) -> Vec<String> {
        let files = self.toolbox.files();
        let inlined = |inlining: &mut Inlining<'_>| -> Vec<String> {
            let texts = texts.iter();
            texts
                .map(|(path, text)| inlining.inlined(path, text))
                .collect()
        };
        let mut inlining = Inlining::of(rules::FOLDER, files, Came::new());
        let told = inlined(&mut inlining);
        let wanted = inlining.open_calls();
        if wanted.is_empty() {
            return told;
        }
        let calls = wanted.iter().map(|written| {
            let call: BoxFuture<'_, Result<String, String>> = Box::pin(self.look(written));
            call
        });
        let came = side_by_side(calls.collect()).await;
        let came = wanted.iter().cloned().zip(came).collect();
        inlined(&mut Inlining::of(rules::FOLDER, files, came))
    }

    /// A call of a rule or of a skill. It has to be one that only reads, because every agent makes it anew.
    async fn look(&self, written: &str) -> Result<String, String> {
        let (call, arguments) = read(written)?;
        let name = &*call.name;
        if OWN_TOOLS.contains(&name) || !self.toolbox.only_reads(name) {
            return Err("rules and skills call only tools that read".to_owned());
        }
        let run = new_run_id(&**self.setup.planrun.host());
        let cancel = &self.setup.cancel;
        let came = match self.toolbox.call(name, arguments, &run, cancel).await {
            Called::Answered(text) => Ok(text),
            Called::Failed(why) => Err(why),
            Called::Waits { question, .. } => Err(question),
        };
        let (Ok(text) | Err(text)) = &came;
        (self.setup.watch)(Event::Called {
            call: &call,
            text,
            is_error: came.is_err(),
        });
        came
    }
}

/// A call as it stands between its brackets: a name, and an object of arguments.
fn read(written: &str) -> Result<(ToolCall, Map<String, Json>), String> {
    let (name, arguments) = written.split_at(written.find('{').unwrap_or(written.len()));
    if [DISPATCH, TASK_FINISH].contains(&name) {
        return Err("only the model calls this".to_owned());
    }
    let read = serde_json::from_str(arguments)
        .map_err(|error| format!("its arguments are no JSON object: {error}"))?;
    let call = ToolCall {
        id: written.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    };
    Ok((call, read))
}

fn told(called: Called) -> Result<Result<String, String>, Ended> {
    match called {
        Called::Answered(text) => Ok(Ok(text)),
        Called::Failed(why) => Ok(Err(why)),
        Called::Waits { run, question } => Err(Ended::Waits { run, question }),
    }
}
