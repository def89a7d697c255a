//! Logging in to MCP servers: which responses are trusted, where tokens are stored, and the message of a run without
//! one.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::mcp::{calling, served};
use crate::support::{Output, planrun, root};

/// A project with a server that requires a login.
struct Guarded {
    place: TempDir,
    process: Child,
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // Fails if the process has already exited.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Guarded {
    fn new() -> Option<Self> {
        let place = served("guarded.py", &[], &calling("notes.whisper()"))?;
        let mut process = Command::new("python3")
            .arg(root().join("tests/peers/mcp/guarded.py"))
            .arg(place.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut port = String::new();
        let output = process.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut port).unwrap();
        let url = format!("http://127.0.0.1:{}/mcp", port.trim());
        let settings =
            format!("tools: {{ notes: {{ mcp: {{ url: \"{url}\", auth: oauth }} }} }}\n");
        std::fs::write(place.path().join("planrun.yaml"), settings).unwrap();
        Some(Self { place, process })
    }

    fn touch(&self, name: &str) {
        std::fs::write(self.place.path().join(name), "").unwrap();
    }

    fn asked(&self) -> String {
        std::fs::read_to_string(self.place.path().join("asked")).unwrap_or_default()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let program = planrun(arguments).within(self.place.path());
        program.variable("XDG_DATA_HOME", self.place.path()).run()
    }

    /// Logs in like a user whose browser follows the link.
    fn login(&self, more: &[&str]) -> Output {
        let mut child = Command::new(env!("CARGO_BIN_EXE_planrun"))
            .args(["tools", "login", "notes"])
            .args(more)
            .env("XDG_DATA_HOME", self.place.path())
            .env("NO_COLOR", "1")
            .current_dir(self.place.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut printed = String::new();
        while stdout.read_line(&mut printed).unwrap() > 0 {
            let link = printed
                .lines()
                .last()
                .filter(|line| line.starts_with("http"));
            let Some(link) = link else { continue };
            let back = location(&visit(link));
            // A request from another party does not interrupt the login.
            let other = back.replace("state=", "state=other");
            assert!(visit(&other).starts_with("HTTP/1.1 404"));
            assert!(visit(&back).starts_with("HTTP/1.1 200"));
            break;
        }
        stdout.read_to_string(&mut printed).unwrap();
        let mut stderr = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut stderr)
            .unwrap();
        let status = child.wait().unwrap().code().unwrap_or(-1);
        Output {
            status,
            stdout: printed,
            stderr,
        }
    }

    /// Returns the paths of the token files.
    fn logins(&self) -> Vec<PathBuf> {
        let within = |folder: PathBuf| {
            let files = std::fs::read_dir(folder).into_iter().flatten();
            files.map(|file| file.unwrap().path())
        };
        let servers = within(self.place.path().join("planrun/logins"));
        let files = servers.flat_map(within);
        files
            .filter(|path| path.extension().is_some_and(|kind| kind == "json"))
            .collect()
    }
}

/// Sends a GET request. Returns the whole response, including its head.
fn visit(address: &str) -> String {
    let rest = address.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn location(answer: &str) -> String {
    let line = answer
        .lines()
        .find_map(|line| line.strip_prefix("location: "));
    line.unwrap_or_else(|| panic!("no way back in {answer}"))
        .to_owned()
}

#[test]
fn a_server_is_called_in_the_name_of_whoever_has_logged_in() {
    let Some(server) = Guarded::new() else { return };
    let refused = server.run(&["tools", "lock"]);
    assert_eq!(refused.status, 3, "{refused:?}");
    assert!(
        refused.stderr.contains("`planrun tools login notes`"),
        "{refused:?}"
    );
    let done = server.login(&[]);
    assert_eq!(done.status, 0, "{done:?}");
    assert_eq!(
        server.asked(),
        "authorize notes S256\ntoken authorization_code\n"
    );
    let files = server.logins();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode =
            |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (mode(&files[0]), mode(files[0].parent().unwrap())),
            (0o600, 0o700)
        );
    }
    assert_eq!(files.len(), 1);
    assert_eq!(server.run(&["tools", "lock", "--accept", "all"]).status, 0);
    let ran = server.run(&["run", "a.plan"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(
        ran.stdout.contains("it is ") && !ran.stdout.contains("secret-token"),
        "{ran:?}"
    );
    std::fs::remove_file(&files[0]).unwrap();
    let ran = server.run(&["run", "a.plan"]);
    assert_ne!(ran.status, 0, "{ran:?}");
    assert!(
        ran.stderr.contains("`planrun tools login notes`"),
        "{ran:?}"
    );
}

#[test]
fn a_token_that_has_run_out_or_is_refused_is_renewed() {
    let Some(server) = Guarded::new() else { return };
    server.touch("short");
    assert_eq!(server.login(&[]).status, 0);
    std::fs::remove_file(server.place.path().join("short")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(server.run(&["tools", "lock", "--accept", "all"]).status, 0);
    let renewals = || server.asked().matches("token refresh_token").count();
    assert_eq!(renewals(), 1);
    assert_eq!(server.run(&["run", "a.plan"]).status, 0);
    assert_eq!(renewals(), 1, "what was renewed is kept");
    let server = Guarded::new().unwrap();
    assert_eq!(server.login(&[]).status, 0);
    server.touch("revoked");
    assert_eq!(server.run(&["tools", "lock", "--accept", "all"]).status, 0);
    assert_eq!(server.asked().matches("token refresh_token").count(), 1);
}

#[test]
fn an_authorization_server_that_answers_for_another_one_or_has_no_page_is_refused() {
    for (mode, message) in [
        ("other-answer", "the answer is from https://evil.example"),
        ("other-metadata", "issuer"),
        ("script", "not a web address"),
    ] {
        let Some(server) = Guarded::new() else { return };
        server.touch(mode);
        let done = server.login(&[]);
        assert_eq!(done.status, 3, "{done:?}");
        assert!(done.stderr.to_lowercase().contains(message), "{done:?}");
        assert!(!server.asked().contains("token"), "{}", server.asked());
        assert!(server.logins().is_empty());
    }
}

#[test]
fn tokens_of_one_issuer_are_not_used_at_another() {
    let Some(server) = Guarded::new() else { return };
    assert_eq!(server.login(&[]).status, 0);
    server.touch("moved");
    let refused = server.run(&["tools", "lock"]);
    assert_eq!(refused.status, 3, "{refused:?}");
    assert!(
        refused.stderr.contains("not logged in at") && refused.stderr.contains("/as2"),
        "{refused:?}"
    );
    assert_eq!(server.login(&[]).status, 0);
    assert_eq!(server.logins().len(), 2);
    assert_eq!(server.run(&["tools", "lock"]).status, 0);
}

#[test]
fn a_call_that_needs_more_says_for_what_to_log_in_again() {
    let Some(server) = Guarded::new() else { return };
    assert_eq!(server.login(&[]).status, 0);
    assert_eq!(server.run(&["tools", "lock", "--accept", "all"]).status, 0);
    server.touch("wider");
    let ran = server.run(&["run", "a.plan"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    let remedy = "`planrun tools login notes --scope notes:write`";
    assert!(
        ran.stderr.contains("denied.policy") && ran.stderr.contains(remedy),
        "{ran:?}"
    );
    assert_eq!(server.login(&["--scope", "notes:write"]).status, 0);
    assert!(
        server.asked().contains("authorize notes notes:write S256"),
        "{}",
        server.asked()
    );
}

#[test]
fn a_login_that_is_refused_or_does_not_come_keeps_nothing() {
    let Some(server) = Guarded::new() else { return };
    server.touch("refusing");
    let done = server.login(&[]);
    assert_eq!(done.status, 3, "{done:?}");
    assert!(
        done.stderr.contains("refused the login: access_denied"),
        "{done:?}"
    );
    let late = server.run(&["tools", "login", "notes", "--wait", "0"]);
    assert_eq!(late.status, 3, "{late:?}");
    assert!(
        late.stderr.contains("was not completed within 0 s"),
        "{late:?}"
    );
    assert!(server.logins().is_empty());
}

#[test]
fn only_a_server_that_wants_it_is_logged_in_to() {
    let Some(server) = Guarded::new() else { return };
    let login_error = |settings: &str, name: &str| {
        std::fs::write(server.place.path().join("planrun.yaml"), settings).unwrap();
        let output = server.run(&["tools", "login", name]);
        (output.status, output.stderr)
    };
    let plain = "tools: { notes: { mcp: { url: \"http://127.0.0.1:9/mcp\" } } }\n";
    let (status, text) = login_error(plain, "notes");
    assert!(status == 2 && text.contains("add `auth: oauth`"), "{text}");
    let (status, text) = login_error(plain, "desk");
    assert!(
        status == 2 && text.contains("there is no server `desk`"),
        "{text}"
    );
    let denied = format!(
        "allow: {{ net: [example.com] }}\n{}",
        plain.replace("mcp\" }", "mcp\", auth: oauth }")
    );
    let (status, text) = login_error(&denied, "notes");
    assert!(
        status == 3 && text.contains("add \"127.0.0.1:9\" to `allow.net`"),
        "{text}"
    );
    let wrong = plain.replace("mcp\" }", "mcp\", auth: basic }");
    std::fs::write(server.place.path().join("planrun.yaml"), wrong).unwrap();
    let checked = server.run(&["check", "--format", "short"]);
    assert!(
        checked.stdout.contains("`auth` must be `oauth`"),
        "{checked:?}"
    );
}

/// The hosts that a server names are limited by `allow` like any other.
#[test]
fn a_login_reaches_only_hosts_that_the_project_permits() {
    for mode in ["away", "away-token"] {
        let Some(server) = Guarded::new() else { return };
        let file = server.place.path().join("planrun.yaml");
        let settings = std::fs::read_to_string(&file).unwrap();
        let port = settings.split("127.0.0.1:").nth(1).unwrap();
        let port = port.split('/').next().unwrap();
        let allow = |hosts: &str| {
            std::fs::write(&file, format!("allow: {{ net: [{hosts}] }}\n{settings}")).unwrap();
        };
        let own = format!("\"127.0.0.1:{port}\"");
        allow(&own);
        server.touch(mode);
        let refused = server.run(&["tools", "login", "notes", "--wait", "0"]);
        assert_eq!(refused.status, 3, "{refused:?}");
        let remedy = format!("add \"localhost:{port}\" to `allow.net`");
        assert!(refused.stderr.contains(&remedy), "{mode}: {refused:?}");
        assert_eq!(server.asked(), "", "{mode}");
        allow(&format!("{own}, \"localhost:{port}\""));
        let done = server.login(&[]);
        assert_eq!(done.status, 0, "{mode}: {done:?}");
        assert_eq!(server.run(&["tools", "lock", "--accept", "all"]).status, 0);
        // Renewing a token, or using a login, reaches the same hosts.
        allow(&own);
        let refused = server.run(&["run", "a.plan"]);
        assert_eq!(refused.status, 3, "{mode}: {refused:?}");
        assert!(refused.stderr.contains(&remedy), "{mode}: {refused:?}");
    }
}
