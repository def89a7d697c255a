//! What happened in a run: versioned events, their one encoding, and what another process needs to go on from them.

mod call;
mod event;
mod failure;
mod grant;
mod line;
mod news;
mod past;
mod question;
mod questions;
mod read;
mod said;
mod shown;
mod summary;
mod wire;
mod words;

pub use call::{PastCall, PastPhase, PeerQuestion};
pub use event::{Dispatch, Event, EventKind, Used};
pub use failure::StepError;
pub use grant::{APPROVE, Grant, GrantScope, GrantedCalls, SCOPE};
pub use line::Keep;
pub use news::{News, NewsKind};
pub use past::{MAX_CRASHES, Past, PastQuestion, PastStep};
pub use question::{APPROVAL, Answer, AnswerError, FormField, Given, Question};
pub use questions::{Accepted, Questions};
pub use read::{EventError, Kept};
pub use said::{Cancel, Move, Said, Signal};
pub use shown::{Shown, labelled, paths_below};
pub use summary::{Message, Summary};
pub use wire::{ARGUMENTS, OUTPUT, VALUE, instant};
pub use words::{Bound, EventName, Waiting};
