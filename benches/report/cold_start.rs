//! Cold starts: a command on a plan with one step, compared with a program that prints one line.
//!
//! Both programs are copies, as installed programs are: a program starts more slowly from the file that the linker has
//! written.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{Table, Target, alternate, millis};

const PAIRS: usize = 40;

/// Measures `planrun COMMAND one.plan …`, from the start of the process to its exit. `most` is the target ratio.
///
/// # Errors
/// Returns an error if a file cannot be written, or a program cannot be built or run.
pub fn measure(
    command: &str,
    arguments: &[&str],
    most: Option<f64>,
    table: &mut Table,
) -> Result<(), String> {
    let folder = folder()?;
    let plan = "use sys\n\nplan one() {\n    step a = sys.echo(value: \"hello\")\n    reply a\n}\n\n\
                test \"one\" for one {\n    expect reply == \"hello\"\n}\n";
    let plan = write(&folder, "one.plan", plan)?;
    let mut ours = installed(Path::new(env!("CARGO_BIN_EXE_planrun")), &folder)?;
    ours.arg(command).arg(plan).args(arguments);
    let mut other = plain_program(&folder)?;
    let (ours, other) = alternate(PAIRS, || time(&mut ours), || time(&mut other))?;
    let ratio = ours.as_secs_f64() / other.as_secs_f64();
    let target = most.map(|most| Target::at_most(ratio, most));
    table.row(
        &format!("`planrun {command}`"),
        &millis(ours),
        &millis(other),
        ratio,
        target.as_ref(),
    );
    Ok(())
}

fn plain_program(folder: &Path) -> Result<Command, String> {
    let source = write(
        folder,
        "hello.rs",
        "fn main() {\n    println!(\"hello\");\n}\n",
    )?;
    let built = folder.join("hello");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let status = Command::new(rustc)
        .args(["-C", "opt-level=3", "-o"])
        .arg(&built)
        .arg(&source)
        .status();
    if status.is_ok_and(|status| status.success()) {
        installed(&built, folder)
    } else {
        Err("rustc cannot build a program of one line".to_owned())
    }
}

/// Returns a command that runs a copy of a program.
fn installed(program: &Path, folder: &Path) -> Result<Command, String> {
    let name = program.file_name().unwrap_or_default();
    let folder = folder.join("installed");
    let copy = folder.join(name);
    let copied = std::fs::create_dir_all(&folder).and_then(|()| std::fs::copy(program, &copy));
    copied.map_err(|error| error.to_string())?;
    Ok(Command::new(copy))
}

/// Returns the time of a command from its start to its exit.
///
/// # Errors
/// Returns an error if it cannot be run, or fails.
pub fn time(command: &mut Command) -> Result<Duration, String> {
    let begun = Instant::now();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let taken = begun.elapsed();
    if output.status.success() {
        Ok(taken)
    } else {
        Err(format!(
            "{command:?} said {:?}",
            String::from_utf8_lossy(&output.stderr)
        ))
    }
}

/// Returns the folder for files of measurements.
///
/// # Errors
/// Returns an error if it cannot be created.
pub fn folder() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("measured");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    Ok(folder)
}

/// Writes a file into a folder, and returns its path.
///
/// # Errors
/// Returns an error if it cannot be written.
pub fn write(folder: &Path, name: &str, text: &str) -> Result<PathBuf, String> {
    let path = folder.join(name);
    std::fs::write(&path, text).map_err(|error| error.to_string())?;
    Ok(path)
}
