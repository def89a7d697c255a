//! Contracts of tools: how JSON Schemas become signatures, what servers say of their tools, and the file that pins it.

mod arguments;
mod documentation;
mod lock;
mod offered;

pub use arguments::Arguments;
pub use lock::{Lock, LockError, LockedServer, LockedTool};
pub use offered::{Annotations, OfferedServer, OfferedTool};
