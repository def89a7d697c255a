//! Whether something is done twice: a call that may have happened is sent again only if that does no harm, or if somebody
//! has found out that it did not happen, and one that has completed is made again only after it was undone.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_core::run::CallRequest;
use serde_json::Value as Json;

use super::gates::arguments;

/// The calls of a run.
#[derive(Default)]
pub struct Sends {
    /// The calls that may have happened, and whose outcomes are not on disk, by path.
    open: BTreeMap<String, Sent>,
    /// The handles on disk of calls that have not ended, by path.
    handles: BTreeMap<String, Json>,
    /// The arguments of the latest call that changes something, by path.
    announced: BTreeMap<String, Json>,
    /// The calls that have changed something and were not undone: their paths and arguments.
    done: Vec<(String, Json)>,
    /// Number of calls that were sent again or reattached to, and of results that a retried step has kept.
    pub again: u64,
    pub reattached: u64,
    pub kept: u64,
}

/// A call that was sent.
struct Sent {
    key: Arc<str>,
    arguments: Json,
}

impl Sends {
    /// Takes the next event of the journal. Returns an error if it announces what has been done.
    pub fn take(&mut self, event: &Json) -> Result<(), String> {
        let path = event["path"].as_str().unwrap_or_default();
        let is_open = event["error"]["sent"] == "maybe";
        match event["event"].as_str().unwrap_or_default() {
            "step.running" if event["execution"].is_number() => {
                return self.announced(path, event);
            }
            "step.settled" => {
                self.handles.remove(path);
                let arguments = self.announced.remove(path);
                let is_done = self.done.iter().any(|(done, _)| done == path);
                self.kept += u64::from(is_done && event["attempt"] == 0);
                if event["status"] == "completed" && event["recovered"] != true {
                    let done = arguments.map(|arguments| (path.to_owned(), arguments));
                    self.done.extend(done);
                }
                let is_unknown = matches!(event["status"].as_str(), Some("cancelled" | "unknown"));
                if !is_open && !is_unknown && event["recovered"] != true {
                    self.open.remove(path);
                }
                let undone = path.strip_suffix(".undo");
                if let Some(step) = undone.filter(|_| event["status"] == "completed") {
                    self.open.retain(|open, _| !is_inside(open, step));
                }
                // What a check has found out is not an event of its own.
                if let Some((checked, _)) = path.rsplit_once(".verify") {
                    self.open.remove(checked);
                }
            }
            "step.waiting" | "step.recovering" => {
                if event["for"] != "peer" {
                    self.handles.remove(path);
                }
                if event["error"].is_object() && !is_open {
                    self.open.remove(path);
                }
            }
            "answer.given" => {
                self.open.remove(path);
            }
            "handle.given" => {
                self.handles
                    .insert(path.to_owned(), event["handle"].clone());
            }
            _ => {}
        }
        Ok(())
    }

    fn announced(&mut self, path: &str, event: &Json) -> Result<(), String> {
        for (end, undo) in path.match_indices(".undo") {
            let (step, undo) = (&path[..end], &path[..end + undo.len()]);
            self.done
                .retain(|(done, _)| !is_inside(done, step) || is_inside(done, undo));
        }
        if event["effect"] == "pure" || event["effect"] == "read" {
            return Ok(());
        }
        let call = (path.to_owned(), arguments(event));
        if self.done.contains(&call) {
            return Err(format!("`{path}` is done again, with the same arguments"));
        }
        // Each execution of a step has an `undo` of its own.
        let undo = format!("{path}.undo");
        self.done.retain(|(done, _)| !is_inside(done, &undo));
        self.open.retain(|open, _| !is_inside(open, &undo));
        self.announced.insert(call.0, call.1);
        Ok(())
    }

    /// Returns an error if a call must not be made.
    pub fn call(&mut self, request: &CallRequest) -> Result<(), String> {
        let (path, effect) = (&*request.path, request.signature.effect);
        if let Some(handle) = &request.handle {
            self.reattached += 1;
            return if self.handles.get(path) == Some(handle) {
                Ok(())
            } else {
                Err(format!("`{path}` is reattached to {handle}"))
            };
        }
        if effect.is_read_only() {
            // The end of its last attempt need not be on disk.
            return Ok(());
        }
        if self.handles.contains_key(path) {
            return Err(format!("`{path}` has a handle, and is sent again"));
        }
        let arguments = request.arguments.to_json();
        let sent = Sent {
            key: request.key.clone(),
            arguments,
        };
        if let Some(before) = self.open.get(path) {
            if !effect.repeatable() {
                return Err(format!("`{path}` may have happened, and is sent again"));
            }
            if before.key != sent.key || before.arguments != sent.arguments {
                return Err(format!(
                    "`{path}` may have happened, and is sent differently"
                ));
            }
            self.again += 1;
        }
        self.open.insert(path.to_owned(), sent);
        Ok(())
    }
}

/// Returns true if a step is this one or inside of it.
fn is_inside(path: &str, outer: &str) -> bool {
    let rest = path.strip_prefix(outer);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
