//! Contracts of tools: how JSON Schemas become signatures, what servers say of their tools, and the file that pins it.

mod arguments;
mod change;
mod documentation;
mod lock;
mod offered;
mod search;

pub use arguments::Arguments;
pub use change::Change;
pub use lock::{Lock, LockError, LockedServer, LockedTool, ObservedResults};
pub use offered::{Annotations, OfferedServer, OfferedTool};
pub use search::ToolIndex;
