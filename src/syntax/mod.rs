//! Text to tree: grammar, tree, lowering, comments and recovery.

pub mod ast;
