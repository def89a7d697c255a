//! Checking expressions.
