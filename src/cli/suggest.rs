//! Suggests names when the user types one that does not exist.

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Command, CommandFactory as _};
use planrun_lang::diag::closest;
use planrun_lang::diag::render::visible_line;

use super::CommandLine;

/// Words for commands in other programs, and the command here.
const SYNONYMS: &[(&str, &str)] = &[
    ("approve", "runs answer"),
    ("continue", "runs resume"),
    ("create", "init"),
    ("dag", "graph"),
    ("diff", "breaking"),
    ("doc", "explain"),
    ("docs", "explain"),
    ("draw", "graph"),
    ("exec", "run"),
    ("execute", "run"),
    ("format", "fmt"),
    ("history", "runs list"),
    ("kill", "runs cancel"),
    ("language", "explain --language"),
    ("lint", "check"),
    ("logs", "runs events"),
    ("ls", "runs list"),
    ("new", "init"),
    ("plot", "graph"),
    ("ps", "runs list"),
    ("start", "run"),
    ("status", "runs show"),
    ("stop", "runs cancel"),
    ("validate", "check"),
    ("verify", "check"),
];

/// Returns the end of a message about an unknown name: the nearest known one, if one is near.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    closest(name, known)
        .map(|near| format!("; did you mean `{}`?", visible_line(near)))
        .unwrap_or_default()
}

/// Removes the value of a `KEY=VALUE` argument from a usage error: it may be a secret.
pub fn redact_value(error: &mut Error) {
    let of = error.get(ContextKind::InvalidArg).map(ToString::to_string);
    let holds_value = of.is_some_and(|of| of.contains('='));
    if holds_value && error.get(ContextKind::InvalidValue).is_some() {
        let hidden = ContextValue::String("…".to_owned());
        error.insert(ContextKind::InvalidValue, hidden);
    }
}

/// Adds the most similar commands to the error if it is about a command that does not exist.
pub fn suggest_commands(error: &mut Error, words: impl IntoIterator<Item = String>) {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return;
    }
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidSubcommand) else {
        return;
    };
    let mut root = CommandLine::command();
    root.build();
    let nearest = nearest(&root, words, wrong);
    error.remove(ContextKind::SuggestedSubcommand);
    if !nearest.is_empty() {
        error.insert(
            ContextKind::SuggestedSubcommand,
            ContextValue::Strings(nearest),
        );
    }
}

/// Returns the commands that are most similar to an unknown word, as they are typed after the words before it.
fn nearest(root: &Command, words: impl IntoIterator<Item = String>, wrong: &str) -> Vec<String> {
    let mut at = root;
    for word in words.into_iter().take_while(|word| word != wrong) {
        at = at.find_subcommand(&word).unwrap_or(at);
    }
    let own: Vec<String> = near(names(at), wrong);
    if !own.is_empty() {
        return own;
    }
    if at.get_name() == root.get_name() {
        let synonyms = SYNONYMS
            .iter()
            .filter(|(word, _)| *word == wrong)
            .map(|(_, here)| (*here).to_owned());
        let synonyms: Vec<String> = synonyms.collect();
        if !synonyms.is_empty() {
            return synonyms;
        }
    }
    // `list` alone is a command of `runs`, and after a group the word can also be a top-level command.
    let deeper = root
        .get_subcommands()
        .filter(|group| group.get_name() != "help")
        .flat_map(|group| {
            near(names(group), wrong)
                .into_iter()
                .map(move |name| format!("{} {name}", group.get_name()))
        });
    let outer = if at.get_name() == root.get_name() {
        Vec::new()
    } else {
        near(names(root), wrong)
    };
    deeper
        .chain(outer.into_iter().map(|name| format!("planrun {name}")))
        .collect()
}

fn names(command: &Command) -> impl Iterator<Item = &str> {
    command
        .get_subcommands()
        .map(Command::get_name)
        .filter(|name| *name != "help")
}

/// Returns the names with the smallest edit distance to a word, if it is at most a third of its letters, or the names
/// that the word is a prefix of.
fn near<'a>(names: impl Iterator<Item = &'a str>, wrong: &str) -> Vec<String> {
    let wrong = wrong.to_lowercase();
    let limit = (wrong.chars().count() / 3).max(1);
    let known = names.filter_map(|name| {
        let begins = wrong.chars().count() >= 3 && name.starts_with(&wrong);
        let distance = if begins {
            0
        } else {
            strsim::osa_distance(&wrong, name)
        };
        (distance <= limit).then_some((distance, name))
    });
    let known: Vec<(usize, &str)> = known.collect();
    let least = known.iter().map(|(distance, _)| *distance).min();
    known
        .into_iter()
        .filter(|(distance, _)| Some(*distance) == least)
        .map(|(_, name)| name.to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggestions(line: &str) -> Vec<String> {
        let mut root = CommandLine::command();
        root.build();
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let wrong = words.last().unwrap().clone();
        nearest(&root, words, &wrong)
    }

    #[test]
    fn d12_the_nearest_command_is_named_and_no_other() {
        for (line, expected) in [
            ("rn", &["run"][..]),
            ("rnu", &["run"]),
            ("runn", &["run", "runs"]),
            ("chck", &["check"]),
            ("expalin", &["explain"]),
            ("tset", &["test"]),
            ("comp", &["completions"]),
            ("lint", &["check"]),
            ("list", &["plans list", "runs list", "tools list"]),
            ("resum", &["runs resume"]),
            ("ls", &["runs list"]),
            ("runs lst", &["list"]),
            ("runs chek", &["planrun check"]),
            ("banana", &[]),
            ("x", &[]),
        ] {
            assert_eq!(suggestions(line), expected, "{line}");
        }
    }

    #[test]
    fn what_is_said_of_other_programs_exists_here() {
        let mut root = CommandLine::command();
        root.build();
        for (word, here) in SYNONYMS {
            assert!(root.find_subcommand(word).is_none(), "{word}");
            let mut at = &root;
            for part in here.split(' ').filter(|part| !part.starts_with('-')) {
                at = at.find_subcommand(part).unwrap_or_else(|| panic!("{here}"));
            }
        }
        assert!(SYNONYMS.is_sorted());
    }
}
