//! Pure expression evaluation.
