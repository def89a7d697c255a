//! Text to tree: snapshots of trees, recovery, damaged files.
