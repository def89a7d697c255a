//! The command line: one file per subcommand.

pub mod eval;
pub mod mock;
