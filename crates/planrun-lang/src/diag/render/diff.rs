//! What changed between two texts: for `git apply`, and for people.

use std::fmt::Write as _;

use owo_colors::OwoColorize as _;
use similar::{Algorithm, DiffOp, DiffTag, TextDiff, capture_diff_slices, group_diff_ops};

use super::{Look, visible_line};

/// Lines of context around a change.
const CONTEXT_LINES: usize = 3;
/// Pairs of lines that are tried at most to find the smallest change; beyond, a part is shown as replaced.
const MAX_PAIRS: usize = 10_000_000;

/// The change in the form that `git apply` reads; the text stands in it byte for byte.
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

/// A unified diff for a terminal: coloured, and what a terminal would act on is written out.
#[must_use]
pub fn coloured_diff(diff: &str) -> String {
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

/// The change for people: every line with its number in the old and in the new text, and what a terminal would act on
/// written out. Empty where no line differs.
#[must_use]
pub fn numbered_diff(old: &str, new: &str, look: Look) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let digits = old.len().max(new.len()).to_string().len();
    let mut out = String::new();
    for (index, group) in group_diff_ops(operations(&old, &new), CONTEXT_LINES)
        .iter()
        .enumerate()
    {
        if index > 0 {
            let dots = if look.unicode { "⋮" } else { ":" };
            // Writing to a string does not fail.
            let _ = writeln!(out, "{dots:>digits$}");
        }
        for operation in group {
            push(&mut out, &old, &new, operation, digits, look);
        }
    }
    out
}

/// The smallest change, or, where looking for it would take too long, the part that differs as a whole.
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
    look: Look,
) {
    let (tag, old_lines, new_lines) = operation.as_tag_tuple();
    if tag == DiffTag::Equal {
        for (was, is) in old_lines.zip(new_lines) {
            push_line(out, [Some(was), Some(is)], ' ', new[is], digits, look);
        }
        return;
    }
    for at in old_lines {
        push_line(out, [Some(at), None], '-', old[at], digits, look);
    }
    for at in new_lines {
        push_line(out, [None, Some(at)], '+', new[at], digits, look);
    }
}

fn push_line(
    out: &mut String,
    places: [Option<usize>; 2],
    sign: char,
    line: &str,
    digits: usize,
    look: Look,
) {
    let [old, new] = places.map(|at| at.map(|at| (at + 1).to_string()).unwrap_or_default());
    let bar = if look.unicode { '│' } else { '|' };
    let line = visible_line(line);
    let text = format!("{sign} {line}");
    // Nothing ends in blanks that nobody wrote.
    let text = if line.is_empty() {
        text.trim_end()
    } else {
        &text
    };
    let text = match sign {
        '-' if look.color => text.red().to_string(),
        '+' if look.color => text.green().to_string(),
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
            format!("\n{}", numbered_diff(old, new, Look::PLAIN)),
            expected
        );
        assert_eq!(numbered_diff(old, old, Look::PLAIN), "");
        let coloured = numbered_diff(
            "a",
            "b",
            Look {
                color: true,
                unicode: false,
                width: 80,
                ..Look::PLAIN
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
            Look::PLAIN,
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
        let diff = coloured_diff(&unified_diff("a", "x\n", "\u{1b}[2J\n"));
        assert!(
            diff.contains("\u{1b}[32m+\\u{1b}[2J\u{1b}[39m\n"),
            "{diff:?}"
        );
    }
}
