//! The folders and environment of the project's programs.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use planrun_lang::permission::ReachedProgram;
use planrun_lang::secrets::credentials_in;
use tokio::process::Command;

use crate::host::Host;
use crate::tools::Identity;

/// The environment variables that every program gets: the search path, and the home folder for caches and settings.
const INHERITED: [&str; 2] = ["PATH", "HOME"];

/// The folders and environment of a program of the project. Variables have been filled in.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ProgramContext {
    /// The folder that a program with a slash in its name is relative to.
    pub root: PathBuf,
    /// The working directory.
    pub folder: PathBuf,
    /// The environment in addition to the search path and the home folder.
    pub environment: Vec<(String, String)>,
}

impl ProgramContext {
    /// Returns the command of a program, with pipes, ready to be started.
    pub(in crate::tools) fn command(&self, program: &str, host: &dyn Host) -> Command {
        let inherited = INHERITED
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), host.variable(name)?)));
        // A program with a slash is the same file whatever its working directory.
        let mut command = command(ReachedProgram::of(host, &self.root, program).path());
        command
            .current_dir(&self.folder)
            .envs(inherited)
            .envs(self.environment.iter().cloned());
        command
    }

    /// Returns true if a program cannot be started because it does not exist: neither its file, nor a file of its name in
    /// the search path.
    pub fn lacks(&self, program: &str, host: &dyn Host) -> bool {
        let program = ReachedProgram::of(host, &self.root, program);
        let own = self.environment.iter().filter(|(name, _)| name == "PATH");
        let own = own.map(|(_, path)| path.clone());
        let search = own.chain(host.variable("PATH"));
        is_missing(program.path(), search, (host, &self.folder))
    }

    /// Returns the credentials in its environment, as far as names and addresses show them.
    pub(crate) fn credentials(&self) -> Vec<String> {
        let variables = self.environment.iter();
        let secrets = variables.flat_map(|(name, value)| credentials_in(name, value));
        secrets.collect()
    }

    /// Adds everything that determines the answers of the program.
    pub(in crate::tools) fn identify(&self, identity: &mut Identity) {
        for (name, value) in &self.environment {
            identity.add(name.as_bytes());
            identity.add(value.as_bytes());
        }
        for path in [&self.root, &self.folder] {
            identity.add(path.as_os_str().as_encoded_bytes());
        }
    }
}

impl std::fmt::Debug for ProgramContext {
    /// Leaves out the values of variables, which may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.environment.iter().map(|(name, _)| name);
        f.debug_struct("ProgramContext")
            .field("root", &self.root)
            .field("folder", &self.folder)
            .field("environment", &names.collect::<Vec<_>>())
            .finish()
    }
}

/// The folders that the system searches if there is no search path.
const DEFAULT_SEARCH_PATH: &str = "/bin:/usr/bin";

/// Returns true if no program exists at a path, or below a folder of a search path if it is only a name.
fn is_missing(
    program: &Path,
    search: impl Iterator<Item = String>,
    (host, folder): (&dyn Host, &Path),
) -> bool {
    let is_absent = |path: &Path| {
        let kind = host.kind(path);
        kind.is_err_and(|problem| problem.kind() == ErrorKind::NotFound)
    };
    if program.components().count() > 1 {
        return is_absent(program);
    }
    let search = search.chain([DEFAULT_SEARCH_PATH.to_owned()]);
    search.collect::<Vec<_>>().iter().all(|path| {
        let mut folders = std::env::split_paths(path);
        folders.all(|own| is_absent(&folder.join(own).join(program)))
    })
}

/// Returns a command with pipes and an empty environment.
pub(super) fn command(path: &Path) -> Command {
    let mut command = Command::new(path);
    command
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}
