//! Diffs of two texts, for `git apply` and for people.

use std::fmt::Write as _;

use owo_colors::OwoColorize as _;
use similar::{Algorithm, DiffOp, DiffTag, TextDiff, capture_diff_slices, group_diff_ops};

use super::{Appearance, visible_line};

/// Lines of context around a change.
const CONTEXT_LINES: usize = 3;
/// Maximum number of pairs of lines to compare for a minimal diff; larger differences are displayed as one replacement.
const MAX_PAIRS: usize = 10_000_000;

/// Returns a unified diff for `git apply`, with the lines byte for byte.
#[must_use]
pub fn unified_diff(name: &str, old: &str, new: &str) -> String {
    let name = visible_line(name);
    let changes = TextDiff::from_lines(old, new);
    changes
        .unified_diff()
        .context_radius(CONTEXT_LINES)
        .header(&format!("a/{name}"), &format!("b/{name}"))
        .to_string()
}

/// Colors a unified diff for a terminal and escapes control characters.
#[must_use]
pub fn colored_diff(diff: &str) -> String {
    let mut coloured = String::with_capacity(diff.len());
    for line in diff.split_inclusive('\n') {
        let (line, end) = line
            .strip_suffix('\n')
            .map_or((line, ""), |line| (line, "\n"));
        let line = visible_line(line);
        let drawn = match line.as_bytes().first() {
            Some(b'+') => line.green().to_string(),
            Some(b'-') => line.red().to_string(),
            Some(b'@') => line.cyan().to_string(),
            Some(_) | None => line.into_owned(),
        };
        coloured.push_str(&drawn);
        coloured.push_str(end);
    }
    coloured
}

/// Returns a diff for people: each line has its numbers in the old and the new text, and control characters are
/// escaped. Empty if no line differs.
#[must_use]
pub fn numbered_diff(old: &str, new: &str, appearance: Appearance) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let digits = old.len().max(new.len()).to_string().len();
    let mut out = String::new();
    for (index, group) in group_diff_ops(operations(&old, &new), CONTEXT_LINES)
        .iter()
        .enumerate()
    {
        if index > 0 {
            let dots = if appearance.unicode { "⋮" } else { ":" };
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{dots:>digits$}");
        }
        for operation in group {
            push(&mut out, &old, &new, operation, digits, appearance);
        }
    }
    out
}

/// Returns a minimal diff or, if computing it would take too long, one replacement of the part that differs.
fn operations(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let before = old
        .iter()
        .zip(new)
        .take_while(|(old, new)| old == new)
        .count();
    let (old_rest, new_rest) = (&old[before..], &new[before..]);
    let after = old_rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(|(old, new)| old == new)
        .count();
    let (old_len, new_len) = (old_rest.len() - after, new_rest.len() - after);
    if old_len.saturating_mul(new_len) <= MAX_PAIRS {
        return capture_diff_slices(Algorithm::Myers, old, new);
    }
    let (old_end, new_end) = (before + old_len, before + new_len);
    vec![
        DiffOp::Equal {
            old_index: 0,
            new_index: 0,
            len: before,
        },
        DiffOp::Replace {
            old_index: before,
            old_len,
            new_index: before,
            new_len,
        },
        DiffOp::Equal {
            old_index: old_end,
            new_index: new_end,
            len: after,
        },
    ]
}

fn push(
    out: &mut String,
    old: &[&str],
    new: &[&str],
    operation: &DiffOp,
    digits: usize,
    appearance: Appearance,
) {
    let (tag, old_lines, new_lines) = operation.as_tag_tuple();
    if tag == DiffTag::Equal {
        for (was, is) in old_lines.zip(new_lines) {
            push_line(out, [Some(was), Some(is)], ' ', new[is], digits, appearance);
        }
        return;
    }
    for at in old_lines {
        push_line(out, [Some(at), None], '-', old[at], digits, appearance);
    }
    for at in new_lines {
        push_line(out, [None, Some(at)], '+', new[at], digits, appearance);
    }
}

fn push_line(
    out: &mut String,
    places: [Option<usize>; 2],
    sign: char,
    line: &str,
    digits: usize,
    appearance: Appearance,
) {
    let [old, new] = places.map(|at| at.map(|at| (at + 1).to_string()).unwrap_or_default());
    let bar = if appearance.unicode { '│' } else { '|' };
    let line = visible_line(line);
    let text = format!("{sign} {line}");
    // An empty line gets no trailing space.
    let text = if line.is_empty() {
        text.trim_end()
    } else {
        &text
    };
    let text = match sign {
        '-' if appearance.color => text.red().to_string(),
        '+' if appearance.color => text.green().to_string(),
        _ => text.to_owned(),
    };
    let _ = writeln!(out, "{old:>digits$} {new:>digits$} {bar}{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_the_numbers_of_both_texts_and_act_on_no_terminal() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
        let new = "a\nB\u{1b}[2J\nc\nd\ne\nf\ng\nh\ni\n\u{202e}k\nj\n";
        let expected = "
 1  1 │  a
 2    │- b
    2 │+ B\\u{1b}[2J
 3  3 │  c
 4  4 │  d
 5  5 │  e
 ⋮
 7  7 │  g
 8  8 │  h
 9  9 │  i
   10 │+ \\u{202e}k
10 11 │  j
";
        assert_eq!(
            format!("\n{}", numbered_diff(old, new, Appearance::PLAIN)),
            expected
        );
        assert_eq!(numbered_diff(old, old, Appearance::PLAIN), "");
        let coloured = numbered_diff(
            "a",
            "b",
            Appearance {
                color: true,
                unicode: false,
                width: 80,
                ..Appearance::PLAIN
            },
        );
        assert_eq!(
            coloured,
            "1   |\u{1b}[31m- a\u{1b}[39m\n  1 |\u{1b}[32m+ b\u{1b}[39m\n"
        );
    }

    #[test]
    fn what_differs_everywhere_is_shown_as_replaced() {
        let many = |word: &str| {
            (0..5000)
                .map(|line| format!("{word}{line}"))
                .collect::<Vec<_>>()
                .join("\n")
        };
        let diff = numbered_diff(
            &format!("same\n{}", many("a")),
            &format!("same\n{}", many("b")),
            Appearance::PLAIN,
        );
        assert_eq!(diff.lines().count(), 10_001);
        assert!(
            diff.starts_with("   1    1 │  same\n   2      │- a0\n"),
            "{}",
            &diff[..80]
        );
    }

    #[test]
    fn a_unified_diff_in_colour_acts_on_no_terminal() {
        let diff = colored_diff(&unified_diff("a", "x\n", "\u{1b}[2J\n"));
        assert!(
            diff.contains("\u{1b}[32m+\\u{1b}[2J\u{1b}[39m\n"),
            "{diff:?}"
        );
    }
}
