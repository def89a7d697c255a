//! A tool double that records when each call begins and ends. Its answers depend only on the call itself.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use planrun_lang::call::{Answer, CallError};
use planrun_lang::protocol::Sent;
use planrun_lang::types::ErrorClass;
use planrun_tools::tools::{BoxFuture, Conversation, Described, Request, Transport, described};
use serde_json::{Value as Json, json};
use tokio::time::Instant;

use crate::generate::Dice;

/// One call, or a wait of the plan, as observed from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub path: String,
    /// The dotted name; `wait` for a wait.
    pub tool: String,
    pub arguments: String,
    /// Number of calls at this path so far, including this one.
    pub attempt: u32,
    /// The position among all beginnings and ends, and the time in milliseconds.
    pub begins: (usize, u128),
    pub ends: Option<(usize, u128)>,
}

/// The calls, in order.
#[derive(Default)]
pub struct CallLog {
    pub calls: Vec<Seen>,
    marks: usize,
}

/// The parameters that determine the answers.
#[derive(Clone, Copy, Debug)]
pub struct DoubleSettings {
    pub seed: u64,
    /// Whether calls sometimes fail.
    pub fallible: bool,
}

pub struct Double {
    pub settings: DoubleSettings,
    /// The seed of the delays of answers.
    pub delays: u64,
    pub begun: Instant,
    pub call_log: Arc<Mutex<CallLog>>,
}

impl CallLog {
    pub fn begin(&mut self, path: &str, tool: &str, arguments: &str, at: u128) -> usize {
        let attempt = self.calls.iter().filter(|call| call.path == path).count() + 1;
        let begins = (self.mark(), at);
        let (path, tool, arguments) = (path.to_owned(), tool.to_owned(), arguments.to_owned());
        let attempt = u32::try_from(attempt).unwrap();
        self.calls.push(Seen {
            path,
            tool,
            arguments,
            attempt,
            begins,
            ends: None,
        });
        self.calls.len() - 1
    }

    pub fn end(&mut self, call: usize, at: u128) {
        let mark = self.mark();
        self.calls[call].ends = Some((mark, at));
    }

    fn mark(&mut self) -> usize {
        self.marks += 1;
        self.marks
    }
}

/// Returns the answer of a tool to an attempt.
pub fn answer(
    settings: DoubleSettings,
    path: &str,
    tool: &str,
    attempt: u32,
) -> Result<Json, (ErrorClass, Sent)> {
    let call = [path, tool].concat();
    let hash = call.bytes().fold(u64::from(attempt), |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(u64::from(byte))
    });
    let mut dice = Dice::new(settings.seed ^ hash.wrapping_mul(0x9e37_79b9));
    let kinds: &[(&str, Sent)] = match tool {
        "w.make" => &[
            ("tool.busy", Sent::Refused),
            ("tool.gone", Sent::Refused),
            ("transient.unavailable", Sent::No),
            ("auth.authorization", Sent::Answered),
        ],
        "w.send" | "w.drop" => &[
            ("tool.busy", Sent::Refused),
            ("transient.unavailable", Sent::No),
        ],
        "w.put" => &[
            ("transient.network", Sent::Maybe),
            ("transient.unavailable", Sent::No),
        ],
        "w.risk" => &[("transient.timeout", Sent::Maybe)],
        "w.miss" => &[("tool.gone", Sent::Refused)],
        _ => &[],
    };
    let one_in = match tool {
        "w.miss" => 1,
        "w.risk" => 3,
        "w.put" => 4,
        _ => 7,
    };
    let fails = (settings.fallible || tool == "w.miss") && !kinds.is_empty() && dice.one_in(one_in);
    if fails {
        let (class, sent) = *dice.pick(kinds);
        return Err((ErrorClass::find(class).unwrap(), sent));
    }
    Ok(json!(dice.below(6)))
}

impl Transport for Double {
    fn call(&self, request: Request) -> Conversation {
        let (path, tool) = (request.path.to_string(), request.signature.path());
        let arguments = request.arguments.to_json().to_string();
        let now = |begun: Instant| begun.elapsed().as_millis();
        // Reads are not recorded, and their answers depend only on the arguments, because reads have no order.
        let is_read = matches!(&*tool, "w.look" | "w.miss");
        let number = (!is_read).then(|| {
            self.call_log
                .lock()
                .unwrap()
                .begin(&path, &tool, &arguments, now(self.begun))
        });
        let attempt = number.map_or(1, |number| {
            self.call_log.lock().unwrap().calls[number].attempt
        });
        let by = if is_read { &arguments } else { &path };
        let outcome = answer(self.settings, by, &tool, attempt)
            .map(Answer::Json)
            .map_err(|(class, sent)| {
                let message = format!("made up: {class}");
                CallError::new(class, message, sent)
            });
        let hash = path.bytes().fold(self.delays, |hash, byte| {
            hash.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        let wait = *Dice::new(hash).pick(&[0, 0, 10, 10, 25, 60, 1500]);
        let (call_log, begun) = (self.call_log.clone(), self.begun);
        if wait == 0 && hash.is_multiple_of(2) {
            if let Some(number) = number {
                call_log.lock().unwrap().end(number, now(begun));
            }
            return Conversation::Now(outcome);
        }
        Conversation::from_future(async move {
            tokio::time::sleep(Duration::from_millis(wait)).await;
            if let Some(number) = number {
                call_log.lock().unwrap().end(number, now(begun));
            }
            outcome
        })
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([])
    }
}
