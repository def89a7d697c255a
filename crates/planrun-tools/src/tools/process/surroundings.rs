//! Where programs of the project run, and what they get of the environment.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use crate::host::Host;
use crate::tools::Identity;

/// What a program gets of the environment whoever it is: where programs are, and where their caches and settings are.
const INHERITED: [&str; 2] = ["PATH", "HOME"];

/// Where a program of the project runs, and what it gets. Variables of the environment have been filled in.
#[derive(Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// Where a program with a slash is looked for.
    pub root: PathBuf,
    /// The folder in which it runs.
    pub folder: PathBuf,
    /// What it gets in its environment beside the search path and the home folder.
    pub environment: Vec<(String, String)>,
}

impl Surroundings {
    /// A program within them, still to be started, with pipes and the leader of a group of its own.
    pub(in crate::tools) fn command(&self, program: &str, host: &dyn Host) -> Command {
        let inherited = INHERITED
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), host.variable(name)?)));
        let mut command = command(program, &self.root, host);
        command
            .current_dir(&self.folder)
            .envs(inherited)
            .envs(self.environment.iter().cloned());
        command
    }

    /// Adds what decides the answer of whatever runs within them.
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

impl std::fmt::Debug for Surroundings {
    /// Without values of variables, which may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.environment.iter().map(|(name, _)| name);
        f.debug_struct("Surroundings")
            .field("root", &self.root)
            .field("folder", &self.folder)
            .field("environment", &names.collect::<Vec<_>>())
            .finish()
    }
}

/// A program with pipes and an empty environment, the leader of a group of its own. One with a slash means the same file
/// whatever the folder that it runs in.
pub(super) fn command(program: &str, root: &Path, host: &dyn Host) -> Command {
    let path = if program.contains('/') {
        // A relative path would begin at the folder that it runs in.
        let root = host.canonical(root).unwrap_or_else(|_| root.to_owned());
        root.join(program)
    } else {
        PathBuf::from(program)
    };
    let mut command = Command::new(path);
    command
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    command
}
