//! `planrun init`: a project that runs at once, and whose tests pass.

use std::path::{Path, PathBuf};

use clap::Args;
use planrun_tools::host::{Host, RealHost};

use super::{Exit, Failure, Terminal};

const EXAMPLES: &str = "\
Examples:
  planrun init            in this folder
  planrun init shop       in the folder shop, which is made";

/// The files of a new project, by their path in it.
const FILES: [(&str, &str); 6] = [
    ("planrun.yaml", include_str!("templates/planrun.yaml")),
    ("plans/tidy.plan", include_str!("templates/tidy.plan")),
    (
        "plans/tidy.plantest",
        include_str!("templates/tidy.plantest"),
    ),
    // The name that the test's snapshot has: CI takes no new one.
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

/// Make a project that runs at once: a plan with its tests, an app file, a CI job.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The folder; it is made where it does not exist.
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
}

/// Writes a project, and says what to type next.
///
/// # Errors
/// When one of its files exists already, or cannot be written.
pub fn run(arguments: &Arguments, terminal: Terminal) -> Result<Exit, Failure> {
    let folder = arguments.folder.as_path();
    let there = FILES
        .iter()
        .filter(|(name, _)| RealHost.kind(&folder.join(name)).is_ok());
    let there = there
        .map(|(name, _)| format!("`{}`", shown(&folder.join(name))))
        .collect::<Vec<_>>();
    if !there.is_empty() {
        let (verb, them) = if there.len() == 1 {
            ("is", "it")
        } else {
            ("are", "them")
        };
        return Err(Failure::Usage(format!(
            "{} {verb} there already, so nothing was written; choose another folder, or move {them} away",
            there.join(", ")
        )));
    }
    for (name, content) in FILES {
        let path = folder.join(name);
        let cannot = |error: std::io::Error| {
            Failure::Environment(format!(
                "cannot write `{}`: {}",
                shown(&path),
                plain(&error)
            ))
        };
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| RealHost.write_file(&path, content.as_bytes()))
            .map_err(cannot)?;
    }
    terminal.print(&next(folder))?;
    Ok(Exit::Fine)
}

/// What was made, and the commands that follow.
fn next(folder: &Path) -> String {
    let files = FILES
        .iter()
        .map(|(name, _)| shown(&folder.join(name)))
        .collect::<Vec<_>>()
        .join("\n  ");
    let enter = if folder == Path::new(".") {
        String::new()
    } else {
        format!("  cd {}\n", quoted(&shown(folder)))
    };
    format!(
        "Made\n  {files}\n\nNext\n{enter}  planrun check\n  planrun test\n  planrun run plans/tidy.plan --mock -i customer=Ada\n  planrun graph plans/tidy.plan \
         --format mermaid\n"
    )
}

fn shown(path: &Path) -> String {
    let path = path.strip_prefix(".").unwrap_or(path);
    path.to_string_lossy()
        .replace(std::path::MAIN_SEPARATOR, "/")
}

/// The word as a shell takes it for one.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    if word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn plain(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        std::io::ErrorKind::NotADirectory => "a part of its path is a file".to_owned(),
        _ => error.to_string(),
    }
}
