//! Expands requests, rules and skills before the model reads them: makes their calls, and includes the content of
//! their references.

use planrun_models::arguments::ReadCall;
use planrun_models::model::{Message, ToolCall};
use planrun_runs::runs::new_run_id;
use planrun_tools::tools::BoxFuture;
use serde_json::{Map, Value as Json};

use super::round::join_bounded;
use super::{Agent, Ended, Event};
use crate::markup::Macros;
use crate::references::{CallResults, Inlining, calls_of, expanded};
use crate::rules;
use crate::session::{Pending, Session, SessionError};
use crate::toolbox::{Called, DISPATCH, OWN_TOOLS, TASK_FINISH};

impl Agent {
    /// Returns a request whose calls have not been made.
    pub(super) fn pending(&self, request: &str, macros: &Macros) -> Pending {
        let host = self.setup.planrun.host();
        let calls = calls_of(request, macros).into_iter();
        Pending {
            request: request.to_owned(),
            calls: calls.map(|call| (call, new_run_id(&**host))).collect(),
        }
    }

    /// Turns the pending request into a message with everything that it includes. If one of its calls waits for an
    /// answer, it stays pending.
    pub(super) async fn submit_pending(
        &self,
        session: &mut Session,
    ) -> Result<Option<Ended>, SessionError> {
        let Some(pending) = session.pending.clone() else {
            return Ok(None);
        };
        let results = match self.make_calls(&pending).await {
            Ok(results) => results,
            Err(waits) => return Ok(Some(waits)),
        };
        let before = session.messages.iter().filter_map(|message| match message {
            Message::User { text } => Some(&**text),
            Message::System { .. } | Message::Assistant { .. } | Message::Tool { .. } => None,
        });
        let before: Vec<&str> = before.collect();
        let files = self.toolbox.files();
        let request = &pending.request;
        let text = expanded(request, &before, &mut session.macros, files, &results);
        let text = self.toolbox.redacted(text);
        session.messages.push(Message::User { text });
        session.pending = None;
        self.save(session)?;
        Ok(None)
    }

    /// Makes the calls of a request, and returns their results. Calls that an earlier process started are not repeated.
    /// Returns an error if one of them waits for an answer.
    async fn make_calls(&self, pending: &Pending) -> Result<CallResults, Ended> {
        let (mut results, mut calls) = (CallResults::new(), Vec::new());
        for (written, run) in &pending.calls {
            if self.toolbox.planrun().run(run).is_ok() {
                let called = self.recover_call(run).await;
                results.insert(written.clone(), call_result(called)?);
                continue;
            }
            match read(written) {
                Ok((call, arguments)) => calls.push(ReadCall {
                    call,
                    arguments: Ok(arguments),
                }),
                Err(why) => {
                    results.insert(written.clone(), Err(why));
                }
            }
        }
        let runs = pending.calls.iter().cloned().collect();
        let called = self.execute(&calls, &runs).await;
        for (one, called) in calls.into_iter().zip(called) {
            results.insert(one.call.id, call_result(called.called)?);
        }
        Ok(results)
    }

    /// Expands rules and skills, given with the paths of their files, as the model reads them.
    pub(super) async fn expand_texts(&self, texts: Vec<(String, &str)>) -> Vec<String> {
        let files = self.toolbox.files();
        let inlined = |inlining: &mut Inlining<'_>| -> Vec<String> {
            let texts = texts.iter();
            texts
                .map(|(path, text)| self.toolbox.redacted(inlining.inlined(path, text)))
                .collect()
        };
        let mut inlining = Inlining::of(rules::FOLDER, files, CallResults::new());
        let expanded = inlined(&mut inlining);
        let open = inlining.open_calls();
        if open.is_empty() {
            return expanded;
        }
        let calls = open.iter().map(|written| {
            let call: BoxFuture<'_, Result<String, String>> =
                Box::pin(self.call_read_only(written));
            call
        });
        let results = join_bounded(calls.collect()).await;
        let results = open.iter().cloned().zip(results).collect();
        inlined(&mut Inlining::of(rules::FOLDER, files, results))
    }

    /// Makes a call of a rule or skill. It must be read-only, because every agent makes it again.
    async fn call_read_only(&self, written: &str) -> Result<String, String> {
        let (call, arguments) = read(written)?;
        let name = &*call.name;
        if OWN_TOOLS.contains(&name) || !self.toolbox.only_reads(name) {
            return Err("rules and skills can call only read-only tools".to_owned());
        }
        let run = new_run_id(&**self.setup.planrun.host());
        let cancel = &self.setup.cancel;
        let result = match self.toolbox.call(name, arguments, &run, cancel).await {
            Called::Answered(text) => Ok(text),
            Called::Failed(why) => Err(why),
            Called::Waits { question, .. } => Err(question),
        };
        let (Ok(text) | Err(text)) = &result;
        (self.setup.watch)(Event::Called {
            call: &call,
            text,
            is_error: result.is_err(),
        });
        result
    }
}

/// Parses a call from the text between its brackets: a name, and an object of arguments.
fn read(written: &str) -> Result<(ToolCall, Map<String, Json>), String> {
    let (name, arguments) = written.split_at(written.find('{').unwrap_or(written.len()));
    if [DISPATCH, TASK_FINISH].contains(&name) {
        return Err("only the model can call this".to_owned());
    }
    let read = serde_json::from_str(arguments)
        .map_err(|error| format!("its arguments are not a JSON object: {error}"))?;
    let call = ToolCall {
        id: written.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    };
    Ok((call, read))
}

fn call_result(called: Called) -> Result<Result<String, String>, Ended> {
    match called {
        Called::Answered(text) => Ok(Ok(text)),
        Called::Failed(why) => Ok(Err(why)),
        Called::Waits { run, question } => Err(Ended::Waits { run, question }),
    }
}
