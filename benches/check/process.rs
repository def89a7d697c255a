//! The memory of a process that checks one file.

use std::path::Path;
use std::process::{Command, ExitCode};

use planrun_lang::source::SourceFile;
use planrun_runs::runs::Workspace;

use crate::MAX_BYTES_PER_BYTE;
use crate::corpus::{self, Corpus};
use crate::report::cold_start::{folder, write};
use crate::report::{Table, Target};

/// The argument with which this program starts itself as a separate process for one check.
const MEMORY: &str = "memory-of";

/// Returns the file to check if this process was started for it.
pub fn asked_for_memory(arguments: &[String]) -> Option<&Path> {
    let [word, path] = arguments else { return None };
    (word == MEMORY).then_some(Path::new(path))
}

/// Checks one file and prints the peak memory of this process, in bytes.
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

/// Reads the peak memory from the system, which works only on Linux.
fn peak_bytes() -> Result<usize, String> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<usize>().ok());
    kilobytes
        .map(|kilobytes| kilobytes * 1024)
        .ok_or_else(|| "the system does not tell memory".to_owned())
}

/// Returns the memory of one check, minus that of a check of a minimal file.
///
/// # Errors
/// Returns an error if a process cannot be run.
#[expect(
    clippy::cast_precision_loss,
    reason = "the number of bytes is far below 2^53"
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
    let stdout = String::from_utf8_lossy(&output.stdout);
    stdout
        .trim()
        .parse()
        .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())
}
