//! `planrun test --review`: reviews the pending snapshots.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use owo_colors::OwoColorize as _;
use planrun_lang::diag::render::{Appearance, numbered_diff, visible_line, visible_text};
use planrun_tools::host::Host;

use super::{Exit, Failure, Result, Terminal, ask};
use planrun_test::plantest::snapshot::{Pending, pending};

/// Prints each pending snapshot of these plan files, and asks whether to accept it. Returns [`Exit::Fine`] if all were
/// accepted; a snapshot that was rejected or skipped still fails its test. Returns an error if snapshots are pending
/// and there is no interactive terminal, or a snapshot cannot be read or written.
pub fn review(host: &dyn Host, plan_files: &[PathBuf], terminal: Terminal) -> Result<Exit> {
    let waiting = pending(host, plan_files)?;
    let present = io::stdin().is_terminal() && terminal.is_watched();
    if !waiting.is_empty() && !present {
        return Err(no_terminal(waiting.len()));
    }
    let style = Appearance {
        color: terminal.color_messages,
        ..terminal.style
    };
    let mut session = Session {
        host,
        style,
        show: &mut |text| terminal.eprint(text),
        read: &mut ask::read_line,
    };
    let decisions = session.run(&waiting)?;
    Ok(print_summary(&waiting, &decisions, terminal))
}

/// The decision about a pending snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Decision {
    Accepted,
    Rejected,
    Skipped,
}

/// The user's answer to a prompt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    This(Decision),
    Remaining(Decision),
    Diff,
    Quit,
}

/// A review on a terminal, or in a test.
struct Session<'s> {
    host: &'s dyn Host,
    style: Appearance,
    show: &'s mut dyn FnMut(&str),
    /// Returns `None` at the end of the input, which skips the remaining snapshots.
    read: &'s mut dyn FnMut() -> Option<String>,
}

impl Session<'_> {
    /// Returns the decision about each snapshot, in order.
    fn run(&mut self, waiting: &[Pending]) -> Result<Vec<Decision>> {
        let mut decisions = Vec::with_capacity(waiting.len());
        let mut remaining = None;
        let mut diff = true;
        while let Some(one) = waiting.get(decisions.len()) {
            let answer = if let Some(decision) = remaining {
                Answer::This(decision)
            } else {
                (self.show)(&render(
                    one,
                    (decisions.len() + 1, waiting.len()),
                    diff,
                    self.style,
                ));
                self.ask(diff)
            };
            match answer {
                Answer::This(decision) => decisions.push(apply(one, decision, self.host)?),
                Answer::Remaining(decision) => remaining = Some(decision),
                Answer::Diff => diff = !diff,
                Answer::Quit => remaining = Some(Decision::Skipped),
            }
        }
        Ok(decisions)
    }

    /// Asks until the answer is valid.
    fn ask(&mut self, diff: bool) -> Answer {
        let other = if diff { "off" } else { "on" };
        loop {
            (self.show)(&format!(
                "a)ccept, r)eject, s)kip, d)iff {other}; A, R, S: all remaining; q)uit: "
            ));
            match (self.read)() {
                None => {
                    // Ends the line of the prompt, since the user did not.
                    (self.show)("\n");
                    return Answer::Quit;
                }
                Some(text) => {
                    if let Some(answer) = answer(&text) {
                        return answer;
                    }
                }
            }
        }
    }
}

fn answer(text: &str) -> Option<Answer> {
    Some(match text.trim() {
        "a" | "accept" => Answer::This(Decision::Accepted),
        "r" | "reject" => Answer::This(Decision::Rejected),
        "s" | "skip" => Answer::This(Decision::Skipped),
        "A" => Answer::Remaining(Decision::Accepted),
        "R" => Answer::Remaining(Decision::Rejected),
        "S" => Answer::Remaining(Decision::Skipped),
        "d" | "diff" => Answer::Diff,
        "q" | "quit" => Answer::Quit,
        _ => return None,
    })
}

fn apply(one: &Pending, decision: Decision, host: &dyn Host) -> Result<Decision> {
    match decision {
        Decision::Accepted => one.accept(host)?,
        Decision::Rejected => one.reject(host)?,
        Decision::Skipped => {}
    }
    Ok(decision)
}

/// Renders one pending snapshot with its metadata. Its content is untrusted, so control characters are escaped.
fn render(one: &Pending, (number, of): (usize, usize), diff: bool, style: Appearance) -> String {
    let name = one.target.to_string_lossy();
    let name = visible_line(&name);
    let name = if style.color {
        name.cyan().to_string()
    } else {
        name.into_owned()
    };
    let new = if one.old.is_none() { ", new" } else { "" };
    let mut text = format!("\n{number} of {of}: {name}{new}\n");
    let mut line = |key: &str, value: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {key}{}", visible_line(value));
    };
    let metadata = &one.metadata;
    if let Some(source) = &metadata.source {
        let at = metadata
            .assertion_line
            .map(|line| format!(":{line}"))
            .unwrap_or_default();
        line("source: ", &format!("{source}{at}"));
    }
    if let Some(description) = &metadata.description {
        line("test: ", description);
    }
    if let Some(expression) = &metadata.expression {
        line("statement: ", expression);
    }
    for further in &one.further {
        line("", further);
    }
    text.push('\n');
    text.push_str(&body(one, diff, style));
    text.push('\n');
    text
}

/// Renders the diff of the snapshot, or its new text.
fn body(one: &Pending, diff: bool, style: Appearance) -> String {
    let visible = |text: &str| format!("{}\n", visible_text(text));
    let old = one.old.as_deref().unwrap_or_default();
    match (diff, numbered_diff(old, &one.new, style)) {
        (true, changes) if !changes.is_empty() => changes,
        (true, _) if one.old.is_some() => "the text is unchanged\n".to_owned(),
        (true | false, _) if one.new.is_empty() => "the text is empty\n".to_owned(),
        (true | false, _) => visible(&one.new),
    }
}

/// Prints what was decided about each snapshot, and the totals.
fn print_summary(waiting: &[Pending], decisions: &[Decision], terminal: Terminal) -> Exit {
    for line in summary_lines(waiting, decisions) {
        terminal.note(&line);
    }
    if decisions
        .iter()
        .all(|decision| *decision == Decision::Accepted)
    {
        Exit::Fine
    } else {
        Exit::Findings
    }
}

fn summary_lines(waiting: &[Pending], decisions: &[Decision]) -> Vec<String> {
    let word = |decision: Decision| match decision {
        Decision::Accepted => "accepted",
        Decision::Rejected => "rejected",
        Decision::Skipped => "skipped",
    };
    if waiting.is_empty() {
        return vec!["no snapshots to review".to_owned()];
    }
    let each = waiting.iter().zip(decisions);
    let mut lines: Vec<String> = each
        .map(|(one, decision)| {
            format!(
                "{} {}",
                word(*decision),
                visible_line(&one.target.to_string_lossy())
            )
        })
        .collect();
    let counted = [Decision::Accepted, Decision::Rejected, Decision::Skipped].map(|decision| {
        let count = decisions.iter().filter(|other| **other == decision).count();
        (count > 0).then(|| format!("{count} {}", word(decision)))
    });
    lines.push(counted.into_iter().flatten().collect::<Vec<_>>().join(", "));
    lines
}

fn no_terminal(waiting: usize) -> Failure {
    let waits = if waiting == 1 {
        "1 snapshot is waiting"
    } else {
        &format!("{waiting} snapshots are waiting")
    };
    Failure::Usage(format!(
        "{waits} for review, but this is not an interactive terminal: review them in one, or accept all with `--accept`"
    ))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use planrun_lang::sema::test::SnapshotOf;
    use planrun_test::plantest::snapshot::{Mode, Place, Store};
    use planrun_tools::host::MemoryHost;

    const TESTS: [&str; 5] = ["a", "b", "c", "d", "e"];

    /// Returns a host with five pending snapshots; the last one is new.
    fn host_with_snapshots() -> MemoryHost {
        let host = MemoryHost::new(0).with_file("p/a.plan", "");
        for (mode, tests, text) in [
            (Mode::Accept, &TESTS[..4], "one\ntwo"),
            (Mode::Pending, &TESTS[..], "one\nTWO"),
        ] {
            let store = Store::new(&host, Path::new("p"), mode);
            let shelf = store.open(Path::new("p/a.plan"), TESTS).unwrap();
            for test in tests {
                shelf
                    .settle(
                        &Place {
                            test,
                            row: None,
                            kind: SnapshotOf::Reply,
                            line: 7,
                        },
                        text,
                    )
                    .unwrap();
            }
        }
        host
    }

    fn waiting(host: &MemoryHost) -> Vec<Pending> {
        pending(host, &[PathBuf::from("p/a.plan")]).unwrap()
    }

    /// Returns the output and the summary of a review in which the user types these lines.
    fn typed(host: &MemoryHost, lines: &str) -> (String, Vec<String>) {
        let waiting = waiting(host);
        let mut output = String::new();
        let mut lines = lines.lines().map(str::to_owned);
        let (show, read) = (&mut |text: &str| output.push_str(text), &mut || {
            lines.next()
        });
        let decisions = Session {
            host,
            style: Appearance::PLAIN,
            show,
            read,
        }
        .run(&waiting)
        .unwrap();
        (output, summary_lines(&waiting, &decisions))
    }

    fn stored(host: &MemoryHost, test: &str) -> String {
        let content = host
            .read_file(Path::new(&format!("p/snapshots/a__{test}__reply.snap")))
            .unwrap_or_default();
        content.lines().last().unwrap_or_default().to_owned()
    }

    #[test]
    fn each_answer_does_what_it_says() {
        let host = host_with_snapshots();
        let (_, summary) = typed(&host, "a\nr\n\nx\nskip\nd\nd\nA\n");
        let summary: Vec<&str> = summary
            .iter()
            .map(|line| line.trim_end_matches("__reply.snap"))
            .collect();
        let expected = [
            "accepted p/snapshots/a__a",
            "rejected p/snapshots/a__b",
            "skipped p/snapshots/a__c",
            "accepted p/snapshots/a__d",
            "accepted p/snapshots/a__e",
            "3 accepted, 1 rejected, 1 skipped",
        ];
        assert_eq!(summary, expected);
        assert_eq!(
            TESTS.map(|test| stored(&host, test)),
            ["TWO", "two", "two", "TWO", "TWO"]
        );
        assert_eq!(waiting(&host).len(), 1, "only what was skipped waits");
    }

    #[test]
    fn whoever_leaves_changes_nothing_more() {
        for lines in ["r\nq\n", "r\n", "r\nS\n"] {
            let host = host_with_snapshots();
            let (_, summary) = typed(&host, lines);
            assert_eq!(summary.last().unwrap(), "1 rejected, 4 skipped");
            assert_eq!(waiting(&host).len(), 4);
        }
        let host = host_with_snapshots();
        assert_eq!(typed(&host, "R\n").1.last().unwrap(), "5 rejected");
        assert_eq!(typed(&host, "").1, ["no snapshots to review"]);
    }

    #[test]
    fn a_snapshot_is_shown_with_its_place_and_its_change() {
        let (output, _) = typed(&host_with_snapshots(), "S\n");
        let expected = "
1 of 5: p/snapshots/a__a__reply.snap
  source: a.plan:7
  test: a
  statement: snapshot reply

1 1 │  one
2   │- two
  2 │+ TWO

a)ccept, r)eject, s)kip, d)iff off; A, R, S: all remaining; q)uit: ";
        assert_eq!(output, expected);
        let (output, _) = typed(&host_with_snapshots(), "d\nS\n");
        assert!(
            output.contains("\n\none\nTWO\n\na)ccept, r)eject, s)kip, d)iff on;"),
            "{output}"
        );
        let (output, _) = typed(&host_with_snapshots(), "s\ns\ns\ns\nS\n");
        assert!(
            output.contains("a__e__reply.snap, new\n")
                && output.contains("\n  1 │+ one\n  2 │+ TWO\n"),
            "{output}"
        );
    }

    #[test]
    fn nothing_in_a_snapshot_acts_on_the_terminal() {
        let evil = "\u{1b}[2J\u{202e}\u{9b}31m\r\u{7}";
        let header = format!("source: {evil}\ndescription: \"{evil}\"\ninfo:\n  x: {evil}\n");
        let text = format!("---\n{header}---\n{evil}\n");
        let host = MemoryHost::new(0)
            .with_file("a.plan", "")
            .with_file("snapshots/a__x__reply.snap.new", text.clone());
        let lines = |style: Appearance| {
            let waiting = pending(&host, &[PathBuf::from("a.plan")]).unwrap();
            [
                render(&waiting[0], (1, 1), true, style),
                render(&waiting[0], (1, 1), false, style),
            ]
        };
        for output in lines(Appearance::PLAIN) {
            assert!(
                !output
                    .contains(|letter: char| letter != '\n' && letter.is_control()
                        || letter == '\u{202e}'),
                "{output:?}"
            );
            assert!(
                output.matches("\\u{1b}[2J\\u{202e}").count() >= 2,
                "{output:?}"
            );
        }
        for output in lines(Appearance {
            color: true,
            ..Appearance::PLAIN
        }) {
            assert!(
                !output.contains("\u{1b}[2J") && output.contains("\u{1b}[36m"),
                "{output:?}"
            );
        }
        // It is accepted with its control characters unchanged.
        let waiting = pending(&host, &[PathBuf::from("a.plan")]).unwrap();
        waiting[0].accept(&host).unwrap();
        let accepted = host
            .read_file(Path::new("snapshots/a__x__reply.snap"))
            .unwrap();
        assert!(
            accepted.contains(&format!("x: {evil}\n"))
                && accepted.ends_with(&format!("---\n{}\n", evil.trim_end()))
        );
    }

    fn terminal() -> Terminal {
        Terminal {
            style: Appearance::PLAIN,
            color_messages: false,
            quiet: true,
            verbose: 0,
        }
    }

    #[test]
    fn no_terminal_is_needed_if_nothing_is_pending() {
        let host = host_with_snapshots();
        typed(&host, "A\n");
        let plans = [PathBuf::from("p/a.plan")];
        assert_eq!(review(&host, &plans, terminal()).unwrap(), Exit::Fine);
    }

    #[test]
    fn without_a_terminal_the_way_out_is_named() {
        let error = no_terminal(2).to_string();
        assert!(
            error.starts_with("2 snapshots are waiting for review")
                && error.ends_with("accept all with `--accept`")
        );
        assert!(
            no_terminal(1)
                .to_string()
                .starts_with("1 snapshot is waiting")
        );
    }
}
