//! Every plan in `plans/` runs against its app files.
