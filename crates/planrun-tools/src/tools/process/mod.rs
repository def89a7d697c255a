//! Programs: the tool `proc.run`, programs of the project as tools, and what all programs have in common that are started here.

mod built_in;
mod group;
mod program;
mod run;
mod surroundings;
mod word;

pub(in crate::tools) use built_in::{KEY_VARIABLE, ProcessTool, process_signature};
pub use group::kill_programs;
pub(in crate::tools) use group::{GRACE, ProcessGroup};
pub(in crate::tools) use program::ProgramTransport;
pub use program::{Input, Output, Program, ProgramTool};
pub use run::Bounds;
pub(in crate::tools) use run::MAX_OUTPUT_BYTES;
pub use surroundings::Surroundings;
pub use word::Word;
