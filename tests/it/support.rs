//! What tests share: the built program, the folder of cases, fixtures.

use std::path::PathBuf;

/// The root of the project.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of cases that others wrote, named by `PLANRUN_CASES`, by default `../shared/data`; `None`, with a line
/// that says so, where it is absent.
pub fn cases(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("PLANRUN_CASES").map_or_else(|| root().join("../shared/data"), PathBuf::from);
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    println!("left out: no cases at {}; set PLANRUN_CASES to their folder", path.display());
    None
}
