//! What is printed for shells and for `man`, read by what it is for: a shell completes real command lines, and groff sets the pages.

use std::io::Write as _;
use std::process::{Command, Stdio};

use clap::CommandFactory as _;
use planrun::cli::CommandLine;
use regex::Regex;

use crate::support::{folder, left_out, planrun};

/// Every command with the words that lead to it and its long options, as the parser knows them.
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
        let shown = |inner: &&clap::Command| !inner.is_hide_set() && inner.get_name() != "help";
        for inner in command.get_subcommands().filter(shown) {
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

/// What a program makes of an input; nothing, with a line that says so, where it is not on this machine.
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
    // A program that has read enough closes its end.
    let _ = writing.join().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (told, complaint) = (text(output.stdout), text(output.stderr));
    Some((output.status.success(), told, complaint))
}

fn completions(shell: &str) -> String {
    let output = planrun(["completions", shell]).run();
    assert_eq!((output.status, &*output.stderr), (0, ""), "{shell}");
    output.stdout
}

/// What bash completes at the ends of these command lines, one line each.
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
    let (fine, told, complaint) = filtered("bash", &["--norc", "-s"], &script)?;
    assert!(fine && complaint.is_empty(), "{complaint}");
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
    Some(told.lines().map(words).collect())
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

#[test]
fn other_shells_read_their_scripts_and_complete_with_them() {
    let fish = completions("fish");
    if filtered("fish", &["--no-execute"], &fish).is_some_and(|(fine, _, told)| {
        assert!(fine, "{told}");
        fine
    }) {
        let script =
            format!("{fish}\ncomplete -C 'planrun che'\ncomplete -C 'planrun check --unsafe'\n");
        let (fine, told, complaint) = filtered("fish", &["--no-config"], &script).unwrap();
        let words: Vec<&str> = told
            .lines()
            .filter_map(|line| line.split('\t').next())
            .collect();
        assert!(
            fine && words == ["check", "--unsafe-fix"],
            "{told}{complaint}"
        );
    }
    let zsh = completions("zsh");
    if let Some((fine, _, told)) = filtered("zsh", &["-n"], &zsh) {
        assert!(fine && told.is_empty(), "{told}");
        left_out("zsh completes in a terminal only; its script was parsed");
    }
    // What can be held without them: the script is for this program, and knows each command.
    assert!(zsh.starts_with("#compdef planrun\n"));
    for (words, _) in commands().iter().filter(|(words, _)| words.len() == 1) {
        let name = &words[0];
        assert!(zsh.contains(&format!("'{name}:")), "zsh: {name}");
        assert!(fish.contains(&format!(" -a \"{name}\" ")), "fish: {name}");
    }
    assert_eq!(planrun(["completions", "cmd"]).run().status, 2);
}

/// Every page as a reader of `man` sees it: groff finds nothing wrong in it, and each option of the command is on it.
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
        // The page is justified and hyphenated, so that what is looked for may be spread over lines.
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

/// What is wrong with the structure of a page, without a program that sets it.
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
    let unknown = planrun(["man", "chekc"]).run();
    assert!(
        unknown.stderr.contains("did you mean `check`?"),
        "{}",
        unknown.stderr
    );
}
