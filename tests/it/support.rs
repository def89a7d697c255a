//! Shared helpers: the built program, its mock, the folder of cases, temporary folders, blessed text.

mod model_project;
mod on_terminal;
pub mod scripted_transport;

use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use proptest::test_runner::Config;
use tempfile::TempDir;

pub use model_project::{ModelProject, last_words};

/// Returns the root of the project.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns a path in the folder of test cases from other projects, which is `PLANRUN_CASES`, by default
/// `../shared/data`. `None` if it does not exist, which is reported.
pub fn cases(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("PLANRUN_CASES")
        .map_or_else(|| root().join("../shared/data"), PathBuf::from);
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    left_out(format_args!(
        "no cases at {}; set PLANRUN_CASES to their folder",
        path.display()
    ));
    None
}

/// Reports what a test could not try on this machine. It bypasses the test harness, which hides the output of tests
/// that pass.
pub fn left_out(what: impl Display) {
    let test = std::thread::current();
    let test = test.name().unwrap_or("a test").to_owned();
    // If this cannot be written, the failure cannot be reported either.
    let _ = writeln!(std::io::stderr(), "left out of {test}: {what}");
}

/// Returns true if Python is available for test servers. Otherwise reports what is left out.
pub fn has_python(what: impl Display) -> bool {
    let python = Command::new("python3")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    let found = python.is_ok_and(|status| status.success());
    if !found {
        left_out(format_args!("{what}: there is no python3"));
    }
    found
}

/// Returns a configuration of property tests with this number of cases, unless `PROPTEST_CASES` is set.
pub fn on(usual: u32) -> Config {
    let defaults = Config::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() {
        defaults.cases
    } else {
        usual
    };
    Config {
        cases,
        failure_persistence: None,
        ..defaults
    }
}

/// A command of the built program. By default, it has no colour and no input, and runs in the root of the project.
pub struct Program {
    command: Command,
    stdin: Vec<u8>,
}

/// The result of a command.
#[derive(Debug)]
pub struct Output {
    /// The exit code, or -1 if a signal ended the process.
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Returns a command of the built program with these arguments.
pub fn planrun(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Program {
    let mut command = Command::new(env!("CARGO_BIN_EXE_planrun"));
    command
        .args(arguments)
        .current_dir(root())
        .env("NO_COLOR", "1");
    for variable in ["CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "COLUMNS"] {
        command.env_remove(variable);
    }
    Program {
        command,
        stdin: Vec::new(),
    }
}

impl Program {
    /// Sets the working directory.
    pub fn within(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Adds an argument.
    pub fn argument(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Sets the standard input.
    pub fn stdin(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.stdin = input.into();
        self
    }

    /// Sets an environment variable.
    pub fn variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Removes an environment variable.
    pub fn without_variable(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Starts it, waits this long, and kills it unless it has exited.
    pub fn killed_after(mut self, time: Duration) {
        let mut child = self
            .command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(time);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Runs it to its end.
    pub fn run(mut self) -> Output {
        self.command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || {
            // A program may close its input before reading all of it.
            let _ = input.write_all(&self.stdin);
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Output {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Output {
    /// Parses standard output as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }
}

/// A mock of the apps in `plans/apps`, in a separate process that is killed on drop.
pub struct Mock {
    process: Child,
    address: String,
    log: TempDir,
}

impl Mock {
    pub fn start<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        let apps = ["--apps", "plans/apps"].into_iter();
        Self::of(apps.chain(arguments))
    }

    /// Starts `planrun mock` with these arguments.
    pub fn of<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        let log = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_planrun"));
        command
            .arg("mock")
            .args(arguments)
            .args(["--bind", "127.0.0.1:0", "--log"])
            .arg(log.path().join("calls"));
        command
            .current_dir(root())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        Self {
            process,
            address: line.trim().to_owned(),
            log,
        }
    }

    /// Sets the addresses of these apps to this mock.
    pub fn answering(&self, program: Program, apps: &[&str]) -> Program {
        apps.iter().fold(program, |program, app| {
            program.variable(
                &format!("{}_URL", app.to_uppercase()),
                format!("{}/{app}", self.address),
            )
        })
    }

    /// Returns its address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the requests, in order.
    pub fn log(&self) -> Vec<serde_json::Value> {
        let log = std::fs::read_to_string(self.log.path().join("calls")).unwrap();
        let lines = log.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().unwrap()
    }

    /// Returns the names of the tools that were called, in order.
    pub fn calls(&self) -> Vec<String> {
        let calls = self.log().into_iter();
        calls
            .map(|call| call["tool"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Posts to a path of the mock, such as `/reset_failures`. Returns the answer.
    pub fn post(&self, path: &str, body: &str) -> String {
        let host = self.address.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        // Fails if the process has already exited.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns a temporary folder with these files; parent folders are created.
pub fn folder(files: impl IntoIterator<Item = (impl AsRef<Path>, impl AsRef<[u8]>)>) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    folder
}

/// Formats a value as a plan writes it.
pub fn literal(value: &serde_json::Value) -> String {
    value.to_string().replace("${", "\\${")
}

/// Splits a command into words like a shell, but only with blanks and quotes.
pub fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for character in command.chars() {
        match (quote, character) {
            (None, ' ') => {
                words.push(std::mem::take(&mut word));
            }
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), close) if open == close => quote = None,
            (_, plain) => word.push(plain),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// Compares `actual` with the text of a file. With `PLANRUN_BLESS=1` the file is written instead.
pub fn compare(expected: &Path, actual: &str) -> Result<(), String> {
    if std::env::var_os("PLANRUN_BLESS").is_some() {
        std::fs::write(expected, actual).unwrap();
        return Ok(());
    }
    let name = expected.strip_prefix(root()).unwrap_or(expected).display();
    match std::fs::read_to_string(expected) {
        Ok(text) if text == actual => Ok(()),
        Ok(text) => Err(format!(
            "{name} says\n{text}\nbut this came\n{actual}\nPLANRUN_BLESS=1 accepts it"
        )),
        Err(_) => Err(format!(
            "{name} is missing; PLANRUN_BLESS=1 writes it from\n{actual}"
        )),
    }
}

/// Runs one test as `cargo test` does, without the cases.
#[test]
fn cases_that_are_absent_are_left_out_visibly() {
    assert_eq!(cases("no such suite"), None);
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "syntax::cel_cases_parse_but_for_the_forms_left_out",
        ])
        .env("PLANRUN_CASES", "no such folder")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.contains("left out of syntax::cel_cases_parse_but_for_the_forms_left_out: no cases at no such folder"),
        "{stderr}"
    );
}
