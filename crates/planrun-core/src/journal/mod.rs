//! The journal of a run: versioned events, their one encoding, and the state from which another process resumes.

mod call;
pub mod deep;
mod event;
mod example;
mod external_input;
mod failure;
mod grant;
mod inbox_command;
mod kind_fields;
mod kind_writer;
mod line;
mod question;
mod questions;
mod read;
mod redaction;
mod replay_state;
mod summary;
mod wire;
mod words;

pub use call::{PeerQuestion, RecordedCall, RecordedPhase};
pub use event::{Dispatch, Event, EventKind, Used};
pub use external_input::{ExternalInput, ExternalInputKind};
pub use failure::StepError;
pub use grant::{APPROVE, Grant, GrantScope, GrantedCalls, SCOPE};
pub use inbox_command::{Cancel, InboxCommand, Move, Signal};
pub use line::{LineWriter, StoreBlob};
pub use question::{APPROVAL, Answer, AnswerError, FormField, Question, SubmittedAnswer};
pub use questions::{Accepted, Questions};
pub use read::{EventError, LoadBlob};
pub use redaction::{EventRedactor, paths_below};
pub use replay_state::{
    EndWithoutCall, MAX_CRASHES, RecordedProcesses, RecordedQuestion, RecordedStep, ReplayState,
    WithoutCall,
};
pub use summary::{Message, Summary};
pub use wire::{ARGUMENTS, OUTPUT, VALUE, instant};
pub use words::{Bound, EventName, Waiting};
