//! The output for shells and for `man`, read by the real programs: a shell completes command lines, and groff formats
//! the pages.

use std::io::Write as _;
use std::process::{Command, Stdio};

use clap::CommandFactory as _;
use planrun::cli::CommandLine;
use regex::Regex;

use crate::support::{folder, left_out, planrun};

/// Returns every command as its words and its long options, from the command-line parser.
fn commands() -> Vec<(Vec<String>, Vec<String>)> {
    fn walk(
        command: &clap::Command,
        words: &[String],
        found: &mut Vec<(Vec<String>, Vec<String>)>,
    ) {
        let visible = |argument: &&clap::Arg| !argument.is_hide_set();
        let long = |argument: &clap::Arg| argument.get_long().map(|long| format!("--{long}"));
        let options = command.get_arguments().filter(visible).filter_map(long);
        found.push((words.to_vec(), options.collect()));
        let listed = |inner: &&clap::Command| !inner.is_hide_set() && inner.get_name() != "help";
        for inner in command.get_subcommands().filter(listed) {
            walk(
                inner,
                &[words, &[inner.get_name().to_owned()]].concat(),
                found,
            );
        }
    }
    let mut command = CommandLine::command();
    command.build();
    let mut found = Vec::new();
    walk(&command, &[], &mut found);
    found
}

/// Pipes an input through a program. `None` if the program is not installed, which is reported.
fn filtered(program: &str, arguments: &[&str], input: &str) -> Option<(bool, String, String)> {
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        left_out(format_args!("there is no program `{program}`"));
        return None;
    };
    let mut stdin = child.stdin.take().unwrap();
    let text = input.to_owned();
    let writing = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    // A program may close its input before reading all of it.
    let _ = writing.join().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (stdout, complaint) = (text(output.stdout), text(output.stderr));
    Some((output.status.success(), stdout, complaint))
}

fn completions(shell: &str) -> String {
    let output = planrun(["completions", shell]).run();
    assert_eq!((output.status, &*output.stderr), (0, ""), "{shell}");
    output.stdout
}

/// Returns bash's completions at the end of each of these command lines.
fn completed_by_bash(lines: &[Vec<String>]) -> Option<Vec<Vec<String>>> {
    let mut script = completions("bash");
    for words in lines {
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let (last, before) = (words.len() - 1, &words[words.len() - 2]);
        let call = format!(
            "COMP_WORDS=({}); COMP_CWORD={last}; _planrun planrun '{}' '{before}'; echo \"${{COMPREPLY[*]}}\"\n",
            quoted.join(" "),
            words[last],
        );
        script.push_str(&call);
    }
    let (fine, stdout, complaint) = filtered("bash", &["--norc", "-s"], &script)?;
    assert!(fine && complaint.is_empty(), "{complaint}");
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
    Some(stdout.lines().map(words).collect())
}

fn line(words: &str) -> Vec<String> {
    let words = words.split(' ').map(str::to_owned);
    std::iter::once("planrun".to_owned()).chain(words).collect()
}

#[test]
fn bash_completes_commands_options_and_values() {
    let lines = [
        "che",
        "runs sh",
        "check --unsafe",
        "check --format ",
        "completions fi",
    ];
    let Some(completed) = completed_by_bash(&lines.map(line)) else {
        return;
    };
    let expected = [
        "check",
        "show",
        "--unsafe-fix",
        "human short json sarif github junit",
        "fish",
    ];
    let expected: Vec<Vec<&str>> = expected.map(|words| words.split(' ').collect()).to_vec();
    assert_eq!(completed, expected);
}

#[test]
fn bash_completes_every_command_and_every_option() {
    let commands = commands();
    assert!(commands.len() > 25, "{}", commands.len());
    let lines = commands.iter().map(|(words, _)| {
        let name = std::iter::once("planrun".to_owned());
        name.chain(words.clone()).chain(["--".to_owned()]).collect()
    });
    let Some(completed) = completed_by_bash(&lines.collect::<Vec<_>>()) else {
        return;
    };
    assert_eq!(completed.len(), commands.len());
    for ((words, options), completed) in commands.iter().zip(completed) {
        for option in options {
            assert!(
                completed.contains(option),
                "{words:?}: {option}: {completed:?}"
            );
        }
    }
}

/// Longer lines would be wrapped in the middle of a command.
#[test]
fn every_example_fits_on_a_line_of_its_help() {
    let mut line = CommandLine::command();
    line.build();
    let mut open = vec![line];
    let mut count = 0;
    while let Some(command) = open.pop() {
        open.extend(command.get_subcommands().cloned());
        let help = command.get_after_help().map(ToString::to_string);
        for example in help.iter().flat_map(|help| help.lines()) {
            if example.starts_with("  planrun ") {
                count += 1;
                assert!(example.chars().count() <= 100, "{example}");
            }
        }
    }
    assert!(count > 50, "{count}");
}

#[test]
fn other_shells_read_their_scripts_and_complete_with_them() {
    let fish = completions("fish");
    if filtered("fish", &["--no-execute"], &fish).is_some_and(|(fine, _, stdout)| {
        assert!(fine, "{stdout}");
        fine
    }) {
        let script =
            format!("{fish}\ncomplete -C 'planrun che'\ncomplete -C 'planrun check --unsafe'\n");
        let (fine, stdout, complaint) = filtered("fish", &["--no-config"], &script).unwrap();
        let words: Vec<&str> = stdout
            .lines()
            .filter_map(|line| line.split('\t').next())
            .collect();
        assert!(
            fine && words == ["check", "--unsafe-fix"],
            "{stdout}{complaint}"
        );
    }
    let zsh = completions("zsh");
    if let Some((fine, _, stdout)) = filtered("zsh", &["-n"], &zsh) {
        assert!(fine && stdout.is_empty(), "{stdout}");
        left_out("zsh completes in a terminal only; its script was parsed");
    }
    // Checks that need no shell: the script is for this program, and contains each command.
    assert!(zsh.starts_with("#compdef planrun\n"));
    for (words, _) in commands().iter().filter(|(words, _)| words.len() == 1) {
        let name = &words[0];
        assert!(zsh.contains(&format!("'{name}:")), "zsh: {name}");
        assert!(fish.contains(&format!(" -a \"{name}\" ")), "fish: {name}");
    }
    assert_eq!(planrun(["completions", "cmd"]).run().status, 2);
}

/// Formats every page with groff: there are no warnings, and each option of the command is on its page.
#[test]
fn man_sets_every_page_with_every_option() {
    let folder = folder([("readme.txt", "")]);
    let output = planrun(["man", "--out", "man1"])
        .within(folder.path())
        .run();
    assert_eq!(output.status, 0, "{}", output.stderr);
    let pages = std::fs::read_dir(folder.path().join("man1")).unwrap();
    assert_eq!(pages.count(), commands().len());
    let refers = Regex::new(r"planrun-[a-z-]+\(1\)").unwrap();
    for (words, options) in commands() {
        let name = std::iter::once("planrun".to_owned()).chain(words.clone());
        let name = name.collect::<Vec<_>>().join("-");
        let source = std::fs::read_to_string(folder.path().join(format!("man1/{name}.1"))).unwrap();
        assert_eq!(faults(&source, &name), [""; 0], "{name}");
        let set = filtered(
            "groff",
            &["-man", "-Kutf8", "-Tutf8", "-P-cbou", "-ww"],
            &source,
        );
        let Some((fine, page, complaint)) = set else {
            return;
        };
        assert!(fine && complaint.is_empty(), "{name}: {complaint}");
        // The page is justified and hyphenated, so a phrase may span several lines.
        let page = page.replace(['\u{2010}', '\u{2212}'], "-");
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        for page in refers.find_iter(&page).map(|found| found.as_str()) {
            let other = format!("man1/{}.1", page.trim_end_matches("(1)"));
            assert!(
                folder.path().join(&other).exists(),
                "{name} refers to {page}"
            );
        }
        for part in ["NAME ", " SYNOPSIS ", " DESCRIPTION "] {
            assert!(page.contains(part), "{name} has no{part}:\n{page}");
        }
        for option in options {
            assert!(page.contains(&option), "{name} has no {option}:\n{page}");
        }
    }
}

/// Checks the structure of a page without a formatter. Returns the faults.
fn faults(source: &str, name: &str) -> Vec<String> {
    let title = format!(".TH {name} 1 ");
    let mut faults = Vec::new();
    let mut lines = source.lines().filter(|line| {
        !line.starts_with(".\\\"") && !line.starts_with(".ie ") && !line.starts_with(".el ")
    });
    if !lines.next().is_some_and(|line| line.starts_with(&title)) {
        faults.push(format!("does not begin with {title}"));
    }
    let sections: Vec<&str> = source
        .lines()
        .filter_map(|line| line.strip_prefix(".SH "))
        .collect();
    if !sections.starts_with(&["NAME", "SYNOPSIS", "DESCRIPTION"]) {
        faults.push(format!("has the sections {sections:?}"));
    }
    for line in lines {
        let request = line
            .strip_prefix('.')
            .map(|rest| rest.split(' ').next().unwrap_or_default());
        if let Some(request) = request.filter(|request| {
            ![
                "SH", "SS", "TP", "RS", "RE", "IP", "PP", "br", "nf", "fi", "B", "I",
            ]
            .contains(request)
        }) {
            faults.push(format!("`{line}` makes the unknown request {request}"));
        }
    }
    faults
}

#[test]
fn one_page_is_printed_and_an_unknown_one_gets_a_suggestion() {
    let page = planrun(["man", "check"]).run();
    assert_eq!((page.status, &*page.stderr), (0, ""));
    assert_eq!(faults(&page.stdout, "planrun-check"), [""; 0]);
    for words in [&["man", "runs", "list"][..], &["man", "runs-list"]] {
        let page = planrun(words).run().stdout;
        let title = format!(
            ".TH planrun-runs-list 1  \"planrun {}\"",
            env!("CARGO_PKG_VERSION")
        );
        assert!(page.contains(&title), "{page}");
    }
    let unknown = planrun(["man", "chekc"]).run();
    assert!(
        unknown.stderr.contains("did you mean `check`?"),
        "{}",
        unknown.stderr
    );
}
