//! `planrun init`: creates a project that runs at once and whose tests pass.

use std::path::{Path, PathBuf};

use clap::Args;
use planrun_tools::host::{Host, RealHost};

use super::{Exit, Failure, Result, Terminal};

const EXAMPLES: &str = "\
Examples:
  planrun init            in this folder
  planrun init shop       in a new folder shop";

/// The files of a new project: path in the project, content.
const FILES: [(&str, &str); 6] = [
    ("planrun.yaml", include_str!("templates/planrun.yaml")),
    ("plans/tidy.plan", include_str!("templates/tidy.plan")),
    (
        "plans/tidy.plantest",
        include_str!("templates/tidy.plantest"),
    ),
    // Must match the name of the test's snapshot: CI does not accept new snapshots.
    (
        "plans/snapshots/tidy.plantest__what_is_solved_is_closed__trace.snap",
        include_str!("templates/tidy.snap"),
    ),
    ("apps/desk.yaml", include_str!("templates/desk.yaml")),
    (
        ".github/workflows/plans.yml",
        include_str!("templates/plans.yml"),
    ),
];

/// Create a project that runs at once, with a plan, its tests, an app file and a CI job
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Folder of the project, created if it does not exist
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
}

/// Writes a project, and prints the next commands to type. Returns an error if one of its files exists already, or
/// cannot be written.
pub fn run(arguments: &Arguments, terminal: Terminal) -> Result<Exit> {
    let folder = arguments.folder.as_path();
    let existing = FILES
        .iter()
        .filter(|(name, _)| RealHost.kind(&folder.join(name)).is_ok());
    let existing = existing
        .map(|(name, _)| format!("`{}`", display_path(&folder.join(name))))
        .collect::<Vec<_>>();
    if !existing.is_empty() {
        let (verb, them) = if existing.len() == 1 {
            ("exists", "it")
        } else {
            ("exist", "them")
        };
        return Err(Failure::Usage(format!(
            "{} already {verb}, so nothing was written; choose another folder, or move {them} away",
            existing.join(", ")
        )));
    }
    for (name, content) in FILES {
        let path = folder.join(name);
        let cannot = |error: std::io::Error| {
            Failure::Environment(format!(
                "cannot write `{}`: {}",
                display_path(&path),
                describe(&error)
            ))
        };
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| RealHost.write_file(&path, content.as_bytes()))
            .map_err(cannot)?;
    }
    terminal.print(&next(folder))?;
    Ok(Exit::Fine)
}

/// Returns the list of created files and the next commands.
fn next(folder: &Path) -> String {
    let files = FILES
        .iter()
        .map(|(name, _)| display_path(&folder.join(name)))
        .collect::<Vec<_>>()
        .join("\n  ");
    let enter = if folder == Path::new(".") {
        String::new()
    } else {
        format!("  cd {}\n", quoted(&display_path(folder)))
    };
    format!(
        "Created\n  {files}\n\nNext steps\n{enter}  planrun check\n  planrun test\n  planrun run plans/tidy.plan --mock -i \
         customer=Ada\n  planrun graph plans/tidy.plan --format mermaid\n"
    )
}

fn display_path(path: &Path) -> String {
    let path = path.strip_prefix(".").unwrap_or(path);
    path.to_string_lossy()
        .replace(std::path::MAIN_SEPARATOR, "/")
}

/// Quotes a word for a shell where necessary.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    if word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn describe(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        std::io::ErrorKind::NotADirectory => "a part of its path is a file".to_owned(),
        _ => error.to_string(),
    }
}
