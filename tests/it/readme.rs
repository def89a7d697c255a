//! The README and the docs: their examples run.
