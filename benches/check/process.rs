//! The memory of a process that checks one file.

use std::path::Path;
use std::process::{Command, ExitCode};

use planrun_lang::source::SourceFile;
use planrun_runs::runs::Workspace;

use crate::MAX_BYTES_PER_BYTE;
use crate::corpus::{self, Corpus};
use crate::report::cold_start::{folder, write};
use crate::report::{Table, Target};

/// The word by which this program calls itself for one check in a process of its own.
const MEMORY: &str = "memory-of";

/// The file to check, where this process is such a call.
pub fn asked_for_memory(arguments: &[String]) -> Option<&Path> {
    let [word, path] = arguments else { return None };
    (word == MEMORY).then_some(Path::new(path))
}

/// Checks one file and prints the most bytes that this process ever had in memory.
pub fn check_and_tell_memory(path: &Path) -> ExitCode {
    let checked = || {
        let workspace = Workspace::open(&corpus::folder().join("x.plan"), None)
            .map_err(|error| error.to_string())?;
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        let name = corpus::folder()
            .join("x.plan")
            .to_string_lossy()
            .into_owned();
        let checked = workspace.check(&SourceFile::new(name, text));
        let peak = peak_bytes()?;
        drop(checked);
        Ok::<_, String>(peak)
    };
    match checked() {
        Ok(peak) => {
            println!("{peak}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// What the system says of this process; only Linux tells it in this way.
fn peak_bytes() -> Result<usize, String> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<usize>().ok());
    kilobytes
        .map(|kilobytes| kilobytes * 1024)
        .ok_or_else(|| "the system does not tell memory".to_owned())
}

/// The memory of one check beyond that of a check of nearly nothing.
///
/// # Errors
/// When a process cannot be run.
#[expect(
    clippy::cast_precision_loss,
    reason = "far fewer bytes than a double counts exactly"
)]
pub fn memory(corpus: &Corpus, table: &mut Table) -> Result<(), String> {
    let folder = folder()?;
    let nothing = write(
        &folder,
        "nothing.plan",
        "plan nothing() {\n    reply 1\n}\n",
    )?;
    let text = corpus.files.first().map_or("", SourceFile::text);
    let large = write(&folder, "large.plan", text)?;
    let taken = peak_of(&large)?.saturating_sub(peak_of(&nothing)?);
    let ratio = taken as f64 / corpus.bytes as f64;
    let target = Target::at_most(ratio, MAX_BYTES_PER_BYTE);
    table.row(
        corpus.name,
        &taken.to_string(),
        &corpus.bytes.to_string(),
        ratio,
        Some(&target),
    );
    Ok(())
}

fn peak_of(path: &Path) -> Result<usize, String> {
    let ourselves = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(ourselves)
        .arg(MEMORY)
        .arg(path)
        .output()
        .map_err(|error| error.to_string())?;
    let told = String::from_utf8_lossy(&output.stdout);
    told.trim()
        .parse()
        .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())
}
