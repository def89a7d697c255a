//! What happened: versioned events, append, read, replay; one file per store.

mod call;
mod entry;
mod event;
mod failure;
mod line;
mod log;
mod memory;
mod news;
mod past;
mod question;
mod said;
mod shown;
pub mod store;

pub use call::{PastCall, PastPhase};
pub use entry::{ARGUMENTS, Entry, EntryError, Kept, OUTPUT, VALUE};
pub use event::{Bound, Dispatch, Event, EventKind, EventName, Used, Waiting};
pub use failure::StepError;
pub use line::Keep;
pub(crate) use line::instant;
pub use log::{Log, Message, Summary};
pub use memory::MemoryLog;
pub use news::{News, NewsKind};
pub use past::{MOST_DEATHS, Past, PastQuestion, PastStep};
pub use question::{Accepted, Answer, AnswerError, FormField, Given, Question, Questions};
pub use said::{Cancel, Move, Said, Signal};
pub use shown::{Shown, labelled, paths_below};
