//! The graph: edges and drawings.
