//! Faults of a run: a call fails, the process dies, a confirmation is refused or expires.

use std::fmt;
use std::sync::Arc;

use planrun_lang::types::{ErrorClass, Signature};

use super::super::responder::Replacement;
use super::super::world::{Call, Reaction, Response, Source, failure};

/// One fault of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Every attempt of a step fails, or only the first.
    Fails {
        path: Arc<str>,
        class: ErrorClass,
        always: bool,
    },
    /// The process dies at the first attempt of a step, before the call was sent or after it took effect. The question
    /// about the unknown outcome is answered accordingly.
    Crashes { path: Arc<str>, after: bool },
    /// A confirmation is refused, or expires.
    Gate {
        path: Arc<str>,
        replacement: Replacement,
    },
    /// Ready steps are started in another order.
    Order(u64),
    /// Generated results take an edge case of their contract: empty, longest, largest, absent.
    Edge(u64),
}

impl Fault {
    /// Returns the path of the step or question; empty for faults of the whole run.
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
                write!(f, "the process dies before `{path}` is sent")
            }
            Self::Crashes { path, after: true } => {
                write!(f, "the process dies after `{path}` took effect")
            }
            Self::Gate {
                path,
                replacement: Replacement::Refuse,
            } => write!(f, "`{path}` is refused"),
            Self::Gate {
                path,
                replacement: Replacement::Expire,
            } => write!(f, "`{path}` expires"),
            Self::Edge(edge) => write!(
                f,
                "generated results take boundary value {edge} of their contract"
            ),
            Self::Order(seed) => write!(f, "ready steps start in the order of seed {seed}"),
        }
    }
}

/// A source that injects a fault into calls.
pub struct FaultInjector(pub Fault);

impl Source for FaultInjector {
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
            fault: None,
        })
    }

    fn knows(&self, _: &Signature) -> bool {
        false
    }
}
