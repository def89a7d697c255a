//! Programs: the tool `proc.run`, programs of the project as tools, and what is common to all started programs.

mod built_in;
mod context;
mod group;
mod program;
mod run;
mod word;

pub(in crate::tools) use built_in::{KEY_VARIABLE, ProcessTool, process_signature};
pub use context::ProgramContext;
pub(in crate::tools) use group::{GRACE, ProcessGroup};
pub use group::{kill_left_by, kill_programs};
pub(in crate::tools) use program::ProgramTransport;
pub use program::{Input, Output, Program, ProgramTool};
pub use run::Bounds;
pub(in crate::tools) use run::MAX_OUTPUT_BYTES;
pub use word::Word;
