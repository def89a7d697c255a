//! What to write so that something is allowed.

use std::borrow::Cow;

use super::local_path;

/// Whose grant it is, and who can allow more.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Giver {
    Plan,
    /// planrun.yaml.
    Project,
    /// The agent that has started the one whose plan or call it is.
    Starter,
    /// The settings of the agent type with this name.
    AgentType(String),
}

impl Giver {
    /// Returns those of the givers who have to allow more, each once. Agents pass on what the project allows, so what the
    /// project refuses is not reported as their refusal.
    pub(super) fn to_ask(mut all: Vec<Self>) -> Vec<Self> {
        if all.contains(&Self::Project) {
            all.retain(|giver| matches!(giver, Self::Plan | Self::Project));
        }
        all.sort();
        all.dedup();
        all
    }

    /// Returns what to do so that this giver allows an entry of the list `setting`.
    fn remedy(&self, setting: &str, entry: &str) -> String {
        match self {
            Self::Plan => format!("write `allow {{ {setting}: [{entry}] }}` in the plan"),
            Self::Project => format!("add {entry} to `{setting}` of `allow` in planrun.yaml"),
            Self::Starter => {
                let list = match setting {
                    "read" | "write" => "allowed_uris",
                    other => other,
                };
                format!(
                    "the agent that started this one has to pass {entry} in `{list}` when it starts it"
                )
            }
            Self::AgentType(name) => {
                format!("add {entry} to `{setting}` of the agent type `{name}`")
            }
        }
    }
}

/// Returns what to do so that something is allowed that is `written` like this, such as a path as a call names it, if
/// these givers do not allow it.
#[must_use]
pub fn remedy(setting: &str, written: &str, by: &[Giver]) -> String {
    let (entry, rewrite) = entry(setting, written);
    let entry = quoted(&entry);
    let remedies = by.iter().map(|giver| giver.remedy(setting, &entry));
    let remedies: Vec<String> = remedies.collect();
    format!("{rewrite}to allow it, {}", remedies.join(", and "))
}

/// Returns the entry of a list of `allow` that covers exactly this, with its wildcards escaped if it is a path, and what
/// has to be done first. A `..` behind a folder is left out: while there is no such folder, the path leads nowhere.
#[must_use]
pub fn entry<'w>(setting: &str, written: &'w str) -> (Cow<'w, str>, &'static str) {
    let is_path = match setting {
        "read" | "write" => true,
        "run" => written.contains('/'),
        _ => false,
    };
    let Some(path) = local_path(written).filter(|_| is_path) else {
        return (Cow::Borrowed(written), "");
    };
    let (path, rewrite) = match without_parents(&path) {
        Some(plain) => (Cow::Owned(plain), "name the file without `..`, and "),
        None => (path, ""),
    };
    if path.contains(['*', '?', '[', '{', '\\']) {
        let escaped = globset::escape(&path.replace('\\', "\\\\"));
        (Cow::Owned(escaped), rewrite)
    } else if rewrite.is_empty() {
        (Cow::Borrowed(written), rewrite)
    } else {
        (path.into_owned().into(), rewrite)
    }
}

/// Returns the path without each `..` behind a folder, and without that folder; `None` if it has none.
fn without_parents(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    let mut is_changed = false;
    for part in path.split('/') {
        match parts.last() {
            Some(_) if matches!(part, "" | ".") => {}
            Some(last) if part == ".." && !matches!(*last, "" | "." | "..") => {
                parts.pop();
                is_changed = true;
            }
            Some(_) | None => parts.push(part),
        }
    }
    is_changed.then(|| parts.join("/"))
}

/// Returns a text as it is written in a plan.
#[must_use]
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text)
        .to_string()
        .replace("${", "\\${")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_covers_the_path_alone() {
        for (setting, written, expected) in [
            ("read", "data/a.txt", ("data/a.txt", true)),
            ("read", "data/a[1].txt", ("data/a[[]1[]].txt", true)),
            ("write", "a\\b*", ("a\\\\b[*]", true)),
            ("read", "file:///d/a%5B1.txt", ("/d/a[[]1.txt", true)),
            ("read", "file:///d/a%20b.txt", ("file:///d/a%20b.txt", true)),
            ("read", "data/nope/../a.txt", ("data/a.txt", false)),
            ("read", "../a/./b/../../c?", ("../c[?]", false)),
            ("read", "/a//../b", ("/b", false)),
            ("read", "../a", ("../a", true)),
            ("run", "echo*", ("echo*", true)),
            ("run", "bin/a?", ("bin/a[?]", true)),
            ("net", "[::1]:80", ("[::1]:80", true)),
        ] {
            let (entry, rewrite) = entry(setting, written);
            assert_eq!((&*entry, rewrite.is_empty()), expected, "{written}");
        }
    }
}
