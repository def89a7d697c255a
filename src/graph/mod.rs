//! Checked plan to petgraph DAG, and its drawings.

pub mod draw;
