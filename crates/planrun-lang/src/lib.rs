//! The language of planrun: plan text to checked plan to graph, without files, clock, network or environment.
//!
//! The road a plan travels: [`syntax`] reads text to a tree, [`sema`] checks it, [`lint`] finds what is well typed and
//! still fails, [`graph`] makes the DAG. What has to be known of the outside is handed in: tools as signatures, files by
//! [`sema::Files`], links of the file system by [`permission::PathResolver`].

pub mod bounds;
pub mod builtins;
pub mod call;
pub mod diag;
pub mod eval;
pub mod example;
pub mod format;
pub mod graph;
pub mod lint;
pub mod origin;
pub mod permission;
pub mod protocol;
pub mod secrets;
pub mod sema;
pub mod source;
pub mod syntax;
pub mod types;
pub mod value;
pub mod yaml;
