//! What can befall a run: a call that fails, a process that dies, somebody who says no or nothing.

use std::fmt;
use std::sync::Arc;

use planrun_lang::types::{ErrorClass, Signature};

use super::super::responder::Instead;
use super::super::world::{Call, Reaction, Response, Source, failure};

/// One thing that befalls a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Every attempt of a step fails, or only the first.
    Fails {
        path: Arc<str>,
        class: ErrorClass,
        always: bool,
    },
    /// The process dies with the first attempt of a step; whoever knows says then whether the call happened.
    Crashes { path: Arc<str>, after: bool },
    /// Somebody says no, or nothing.
    Gate { path: Arc<str>, instead: Instead },
    /// Ready steps are taken in another order.
    Order(u64),
    /// What is made up stands at an edge of its contract: empty, longest, largest, absent.
    Edge(u64),
}

impl Fault {
    /// The path of the step, without what belongs to its question.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::Fails { path, .. } | Self::Crashes { path, .. } | Self::Gate { path, .. } => path,
            Self::Order(_) | Self::Edge(_) => "",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fails {
                path,
                class,
                always: true,
            } => write!(f, "`{path}` fails with {class}"),
            Self::Fails {
                path,
                class,
                always: false,
            } => write!(f, "`{path}` fails once with {class}"),
            Self::Crashes { path, after: false } => {
                write!(f, "the process dies before `{path}` goes out")
            }
            Self::Crashes { path, after: true } => {
                write!(f, "the process dies after `{path}` happened")
            }
            Self::Gate {
                path,
                instead: Instead::Refuse,
            } => write!(f, "`{path}` is refused"),
            Self::Gate {
                path,
                instead: Instead::Expire,
            } => write!(f, "`{path}` expires"),
            Self::Edge(edge) => write!(f, "what is made up stands at edge {edge} of its contract"),
            Self::Order(seed) => write!(f, "ready steps are taken in the order of seed {seed}"),
        }
    }
}

/// Makes a fault happen to calls.
pub struct Trouble(pub Fault);

impl Source for Trouble {
    fn answer(&self, call: &Call<'_>) -> Option<Response> {
        let reaction = match &self.0 {
            Fault::Fails {
                path,
                class,
                always,
            } if **path == *call.request.path && (*always || call.occurrence == 0) => {
                Reaction::Answer(Err(failure(class.clone(), None, &call.request.signature)))
            }
            Fault::Crashes { path, after }
                if **path == *call.request.path && call.occurrence == 0 =>
            {
                Reaction::Crash { after: *after }
            }
            Fault::Fails { .. }
            | Fault::Crashes { .. }
            | Fault::Gate { .. }
            | Fault::Order(_)
            | Fault::Edge(_) => {
                return None;
            }
        };
        Some(Response {
            reaction,
            delay: std::time::Duration::ZERO,
        })
    }

    fn knows(&self, _: &Signature) -> bool {
        false
    }
}
