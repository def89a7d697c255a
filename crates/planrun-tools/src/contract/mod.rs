//! Contracts of tools: how JSON Schemas become signatures, what servers declare about their tools, and the lock file
//! that pins it.

mod arguments;
mod change;
mod documentation;
mod lock;
mod offered;
mod redacted;
mod search;

pub use arguments::{Arguments, arguments_type};
pub use change::Change;
pub use lock::{Lock, LockError, LockedServer, LockedTool, ObservedResults, Pinned};
pub use offered::{Annotations, OfferedServer, OfferedTool, sounds_like_a_read};
pub use search::ToolIndex;
