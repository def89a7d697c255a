//! The function library: one descriptor per function.
