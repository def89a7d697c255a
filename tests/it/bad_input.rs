//! Files that are not plans at all: each gives a diagnostic or an error message, in bounded time and space.

use crate::support::{Output, folder, planrun};

const GOOD: &str = "plan p() -> int {\n    reply 1\n}\n";

/// Checks a file with these bytes.
fn check(bytes: &[u8]) -> Output {
    let folder = folder([("x.plan", bytes)]);
    planrun(["check", "--format", "short"])
        .within(folder.path())
        .run()
}

fn codes(output: &Output) -> Vec<&str> {
    output
        .stdout
        .lines()
        .filter_map(|line| line.split_once('[')?.1.split_once(']'))
        .map(|(code, _)| code)
        .collect()
}

#[test]
fn bytes_that_are_no_text() {
    assert_eq!(
        codes(&check(&[0xff, 0xfe, b'p', 0, b'l', 0])),
        ["not-utf8"],
        "UTF-16"
    );
    let nulls = check(&vec![0; 1 << 20]);
    assert_eq!(nulls.status, 1);
    assert_eq!(
        codes(&nulls),
        ["unexpected-token"],
        "one mistake is told once"
    );
    let mixed = check("\0a，".repeat(20_000).as_bytes());
    assert!(
        mixed.stdout.lines().count() <= 400,
        "{} lines",
        mixed.stdout.lines().count()
    );
    assert_eq!(check(b"").status, 0, "nothing is there to be wrong");
}

#[test]
fn an_error_is_told_behind_any_number_of_warnings() {
    let text = format!(
        "{}plan p() -> int {{\n    reply 1\n",
        "// \u{200b}\n".repeat(1000)
    );
    let output = check(text.as_bytes());
    assert_eq!(output.status, 1, "{}", output.stderr);
    assert!(
        codes(&output).contains(&"unclosed-delimiter"),
        "{}",
        output.stderr
    );
}

#[test]
fn text_with_other_line_ends_and_marks() {
    assert_eq!(check(GOOD.replace('\n', "\r\n").as_bytes()).status, 0);
    assert_eq!(
        check(b"plan p() -> int {\r\n    reply 1\n}\r\n").status,
        0,
        "mixed"
    );
    let marked = check(format!("\u{feff}{GOOD}").as_bytes());
    assert_eq!(marked.status, 0, "a byte order mark: {marked:?}");
    assert!(
        check(GOOD.replace('\n', "\r").as_bytes()).status < 2,
        "old line ends"
    );
}

#[test]
fn one_line_without_an_end() {
    let words = check("reply ".repeat(200_000).as_bytes());
    assert_eq!(words.status, 1);
    assert!(
        words.stdout.lines().all(|line| line.len() < 2000),
        "a finding does not repeat the file"
    );
    let text = check(
        format!(
            "plan p() -> string {{ reply \"{}\" }}\n",
            "x".repeat(3_000_000)
        )
        .as_bytes(),
    );
    assert_eq!(
        text.status,
        0,
        "{}",
        &text.stdout[..text.stdout.len().min(300)]
    );
}

#[test]
fn a_file_beyond_the_limit_is_not_read() {
    let folder = folder([("x.plan", "")]);
    let file = std::fs::File::options()
        .write(true)
        .open(folder.path().join("x.plan"))
        .unwrap();
    file.set_len(100 << 20).unwrap();
    let output = planrun(["check", "--format", "short"])
        .within(folder.path())
        .run();
    assert_eq!(codes(&output), ["file-too-large"]);
}

#[cfg(unix)]
#[test]
fn what_stands_there_and_is_no_file() {
    use std::os::unix::fs::symlink;
    let folder = folder([("good.plan", GOOD), ("deep/good.plan", GOOD)]);
    let path = |name: &str| folder.path().join(name);
    let made = std::process::Command::new("mkfifo")
        .arg(path("pipe.plan"))
        .status()
        .unwrap();
    assert!(made.success());
    symlink(folder.path(), path("deep/loop")).unwrap();
    symlink("self.plan", path("self.plan")).unwrap();
    symlink("deep", path("folder.plan")).unwrap();
    let output = planrun(["check", "--format", "short"])
        .within(folder.path())
        .run();
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (3, ""),
        "{output:?}"
    );
    let lines: Vec<_> = output.stderr.lines().collect();
    assert_eq!(lines.len(), 3, "{lines:#?}");
    assert_eq!(lines[0], "error: cannot read `folder.plan`: it is a folder");
    assert!(
        lines[1].starts_with("error: cannot read `self.plan`: "),
        "{lines:#?}"
    );
    for named in ["pipe.plan", "/dev/zero"] {
        let output = planrun(["check", named]).within(folder.path()).run();
        assert_eq!(output.status, 3, "{output:?}");
        assert!(
            output
                .stderr
                .contains("it is a pipe or a device; `-` reads from standard input"),
            "{output:?}"
        );
    }
    let shell = format!(
        "{} check --format short <(cat good.plan)",
        env!("CARGO_BIN_EXE_planrun")
    );
    if let Ok(output) = std::process::Command::new("bash")
        .args(["-c", &shell])
        .current_dir(folder.path())
        .output()
    {
        assert!(
            output.status.success(),
            "a stream that the shell made: {output:?}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_names() {
    use std::os::unix::ffi::OsStringExt as _;
    let folder = folder([("a\nb\t\u{202e}.plan", "plan p() -> int {\n    reply x\n}\n")]);
    std::fs::write(
        folder
            .path()
            .join(std::ffi::OsString::from_vec(b"\xff.plan".to_vec())),
        GOOD,
    )
    .unwrap();
    std::os::unix::fs::symlink("gone", folder.path().join("c\nd.plan")).unwrap();
    for format in ["human", "short", "json", "sarif", "github", "junit"] {
        let output = planrun(["check", "--format", format])
            .within(folder.path())
            .run();
        assert_eq!(output.status, 3, "{output:?}");
        let all = output.stdout.clone() + &output.stderr;
        assert!(
            all.chars()
                .all(|character| character == '\n'
                    || !character.is_control() && character != '\u{202e}'),
            "{all:?}"
        );
        assert_eq!(output.stderr.lines().count(), 2, "{output:?}");
        if format == "short" {
            assert_eq!(output.stdout.lines().count(), 1, "{output:?}");
        }
    }
}

#[test]
fn more_findings_than_anybody_reads_are_counted_and_not_drawn() {
    let lines = (0..500)
        .map(|number| format!("    ensure nobody{number} else \"no\"\n"))
        .collect::<Vec<_>>()
        .concat();
    let text = format!("plan p() -> int {{\n{lines}    reply 1\n}}\n");
    let output = planrun(["check", "-"]).stdin(text.as_str()).run();
    assert_eq!(output.stdout.matches("error[unknown-name]").count(), 200);
    assert!(
        output
            .stdout
            .contains("300 more diagnostics are not shown: --format short lists all of them"),
        "{}",
        output.stderr
    );
    let short = planrun(["check", "--format", "short", "-"])
        .stdin(text)
        .run();
    assert_eq!(short.stdout.lines().count(), 500);
}
