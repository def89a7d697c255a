//! Cold starts: a plan of one step against a program that prints one line.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The two programs.
pub struct Programs {
    pub ours: Command,
    pub plain: Command,
}

/// Writes the plan and builds the plain program beside it.
///
/// # Errors
/// What could not be written or built.
pub fn prepare() -> Result<Programs, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cold-start");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let plan = write(
        &folder,
        "one.plan",
        "use sys\n\nplan one() {\n    step a = sys.echo(value: \"hello\")\n    reply a\n}\n",
    )?;
    let source = write(&folder, "hello.rs", "fn main() {\n    println!(\"hello\");\n}\n")?;
    let built = folder.join("hello");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let status = Command::new(rustc).args(["-C", "opt-level=3", "-o"]).arg(&built).arg(&source).status();
    if !status.is_ok_and(|status| status.success()) {
        return Err("rustc cannot build a program of one line".to_owned());
    }
    let mut ours = Command::new(env!("CARGO_BIN_EXE_planrun"));
    ours.arg("run").arg(plan).args(["--format", "quiet"]);
    Ok(Programs { ours, plain: Command::new(built) })
}

fn write(folder: &Path, name: &str, text: &str) -> Result<PathBuf, String> {
    let path = folder.join(name);
    std::fs::write(&path, text).map_err(|error| error.to_string())?;
    Ok(path)
}

/// How long one start takes, to the end of the process.
///
/// # Errors
/// When the program does not print its line.
pub fn time(command: &mut Command) -> Result<Duration, String> {
    let begun = Instant::now();
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().map_err(|error| error.to_string())?;
    let taken = begun.elapsed();
    if output.status.success() && output.stdout == b"hello\n" {
        Ok(taken)
    } else {
        Err(format!("{command:?} printed {:?}", String::from_utf8_lossy(&output.stdout)))
    }
}
