//! Runs the graph.
