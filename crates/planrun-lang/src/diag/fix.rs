//! Applies fixes to a text in rounds: all that do not overlap, then those found in the result, until nothing changes.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Diagnostic, Edit};
use crate::source::SourceFile;

/// Maximum number of rounds of applying fixes and checking again. Most texts need two.
const MAX_ROUNDS: usize = 100;

/// The kinds of fixes to apply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Caution {
    /// Only fixes that preserve the meaning.
    Safe,
    /// Also fixes that may change the meaning.
    Unsafe,
}

/// A text after fixes.
#[derive(Debug)]
pub struct FixedText {
    pub text: Arc<str>,
    /// The remaining diagnostics.
    pub left: Vec<Diagnostic>,
    /// Number of fixes applied.
    pub applied: usize,
    /// Fixes that were not applied because they would have added errors, as `code: title`.
    pub refused: Vec<String>,
}

/// Applies edits to a text, with the line endings of the text. Returns `None` if they overlap or lie outside the text.
#[must_use]
pub fn apply(text: &str, edits: &[Edit]) -> Option<String> {
    let mut ordered: Vec<&Edit> = edits.iter().collect();
    ordered.sort_by_key(|edit| edit.span);
    let windows_breaks = text
        .find('\n')
        .is_some_and(|at| text.get(..at).is_some_and(|line| line.ends_with('\r')));
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for edit in ordered {
        out.push_str(text.get(done..edit.span.start as usize)?);
        text.get(edit.span.range())?;
        if windows_breaks {
            out.push_str(&edit.text.replace("\r\n", "\n").replace('\n', "\r\n"));
        } else {
            out.push_str(&edit.text);
        }
        done = edit.span.end as usize;
    }
    out.push_str(text.get(done..)?);
    Some(out)
}

/// Applies the fixes of the diagnostics `found` in a text. `check` returns the diagnostics of a changed text.
///
/// A fix that increases the number of errors is not applied, so that a text that could be parsed remains so.
pub fn apply_fixes(
    source: &SourceFile,
    found: Vec<Diagnostic>,
    caution: Caution,
    mut check: impl FnMut(&SourceFile) -> Vec<Diagnostic>,
) -> FixedText {
    let mut fixed = FixedText {
        text: source.text().into(),
        left: found,
        applied: 0,
        refused: Vec::new(),
    };
    let mut refused = BTreeSet::new();
    let mut seen = BTreeSet::from([fixed.text.clone()]);
    for _ in 0..MAX_ROUNDS {
        let now = SourceFile::new(source.name(), fixed.text.clone());
        let applicable = fixed.left.iter().filter(|found| {
            found
                .fix
                .as_ref()
                .is_some_and(|fix| fix.safe || caution == Caution::Unsafe)
                && !refused.contains(&identity(&now, found))
        });
        let chosen = disjoint(applicable);
        let Some(first) = chosen.first() else { break };
        match best(&now, &chosen, errors(&fixed.left), &mut check) {
            // A text that occurred before would recur forever.
            Some((text, ..)) if seen.contains(&text) => break,
            Some((text, left, count)) => {
                seen.insert(text.clone());
                fixed.applied += count;
                (fixed.text, fixed.left) = (text, left);
            }
            None => {
                let title = first.fix.as_ref().map_or("", |fix| fix.title.as_str());
                let description = format!("{}: {title}", first.code.name);
                if !fixed.refused.contains(&description) {
                    fixed.refused.push(description);
                }
                refused.insert(identity(&now, first));
            }
        }
    }
    fixed
}

/// Applies all of the fixes if that removes as many errors as they promise; otherwise tries the first half of them, and
/// half of that, down to a single one, which must not add errors. Returns the text, its diagnostics and the number of
/// fixes; `None` if not even one can be applied.
fn best(
    source: &SourceFile,
    chosen: &[&Diagnostic],
    errors_before: usize,
    check: &mut impl FnMut(&SourceFile) -> Vec<Diagnostic>,
) -> Option<(Arc<str>, Vec<Diagnostic>, usize)> {
    let mut count = chosen.len();
    while count > 0 {
        let batch = chosen.get(..count).unwrap_or_default();
        let edits = batch
            .iter()
            .filter_map(|found| found.fix.as_ref())
            .flat_map(|fix| &fix.edits);
        let edits: Vec<Edit> = edits.cloned().collect();
        if let Some(text) = apply(source.text(), &edits).filter(|text| text != source.text()) {
            let text: Arc<str> = text.into();
            let left = check(&SourceFile::new(source.name(), text.clone()));
            // A fix that adds errors must not be hidden by another one that removes some.
            let promised = if count > 1 {
                batch.iter().filter(|found| found.is_error()).count()
            } else {
                0
            };
            if errors(&left) + promised <= errors_before {
                return Some((text, left, count));
            }
        }
        count /= 2;
    }
    None
}

/// Selects diagnostics whose fixes neither overlap nor touch, preferring earlier ones.
fn disjoint<'a>(found: impl Iterator<Item = &'a Diagnostic>) -> Vec<&'a Diagnostic> {
    let mut taken: BTreeSet<(u32, u32)> = BTreeSet::new();
    let mut chosen = Vec::new();
    for diagnostic in found {
        let Some(fix) = &diagnostic.fix else { continue };
        let spans: Vec<_> = fix
            .edits
            .iter()
            .map(|edit| (edit.span.start, edit.span.end))
            .collect();
        let free = |&(start, end): &(u32, u32)| {
            // Selected spans do not overlap, so only the neighbors can conflict. Touching edits have no defined order.
            let before = taken.range(..=(start, u32::MAX)).next_back();
            let after = taken.range((start, 0)..).next();
            before.is_none_or(|&(_, other)| other < start)
                && after.is_none_or(|&(other, _)| end < other)
        };
        if !spans.is_empty() && spans.iter().all(free) {
            taken.extend(spans);
            chosen.push(diagnostic);
        }
    }
    chosen
}

/// Returns a key that identifies a diagnostic after the text around it has moved.
fn identity(source: &SourceFile, found: &Diagnostic) -> (&'static str, String, String) {
    let line = source
        .line(source.position(found.span.start).line)
        .map_or("", |line| source.slice(line));
    (
        found.code.name,
        found.message.clone(),
        line.trim().to_owned(),
    )
}

fn errors(found: &[Diagnostic]) -> usize {
    found.iter().filter(|found| found.is_error()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::codes::names::UNKNOWN_NAME;
    use crate::diag::codes::text::UNEXPECTED_TOKEN;
    use crate::source::Span;

    fn edit(start: usize, end: usize, text: &str) -> Edit {
        Edit::new(Span::new(start, end), text)
    }

    #[test]
    fn edits_are_made_in_any_order_and_overlaps_are_refused() {
        assert_eq!(
            apply("abcdef", &[edit(4, 5, "E"), edit(0, 2, "")]).unwrap(),
            "cdEf"
        );
        assert_eq!(
            apply("a\r\nb", &[edit(3, 3, "x\ny\r\n")]).unwrap(),
            "a\r\nx\r\ny\r\nb"
        );
        assert_eq!(apply("abc", &[edit(0, 2, ""), edit(1, 3, "")]), None);
        assert_eq!(apply("é", &[edit(1, 2, "")]), None);
        assert_eq!(apply("a", &[edit(1, 9, "")]), None);
    }

    /// A checker that reports each word with a lowercase letter, with a fix that replaces it according to `rule`.
    fn words(source: &SourceFile, rule: fn(&str) -> &str) -> Vec<Diagnostic> {
        let mut at = 0;
        let mut found = Vec::new();
        for word in source.text().split(' ') {
            let span = Span::new(at, at + word.len());
            at += word.len() + 1;
            if word.chars().any(char::is_lowercase) {
                found.push(UNKNOWN_NAME.at(span, word).fix("fix", span, rule(word)));
            } else if word == "!" {
                found.extend((0..3).map(|_| UNEXPECTED_TOKEN.at(span, "no")));
            }
        }
        found
    }

    fn fixed(text: &str, rule: fn(&str) -> &str) -> FixedText {
        let source = SourceFile::new("x", text);
        apply_fixes(&source, words(&source, rule), Caution::Safe, |source| {
            words(source, rule)
        })
    }

    #[test]
    fn what_makes_it_worse_is_left_out_and_told() {
        let result = fixed("a bad b c", |word| if word == "bad" { "!" } else { "X" });
        assert_eq!((&*result.text, result.applied), ("X bad X X", 3));
        assert_eq!(result.refused, ["unknown-name: fix"]);
        assert_eq!(result.left.len(), 1);
    }

    #[test]
    fn what_comes_round_again_ends() {
        let result = fixed("a", |word| if word == "a" { "b" } else { "a" });
        assert_eq!(&*result.text, "b");
        assert!(fixed("a", |_| "aa").text.len() <= MAX_ROUNDS + 1);
    }

    #[test]
    fn fixes_that_meet_wait_for_the_next_round() {
        let source = SourceFile::new("x", "ab");
        let found = [Span::new(0, 1), Span::at(1), Span::new(1, 2)].map(|span| {
            let text = if span.is_empty() { "-" } else { "" };
            UNKNOWN_NAME.at(span, "m").fix("f", span, text)
        });
        assert_eq!(disjoint(found.iter()).len(), 1);
        let unsafe_only = UNKNOWN_NAME
            .at(Span::at(0), "m")
            .unsafe_fix("f", vec![edit(0, 2, "")]);
        assert_eq!(
            apply_fixes(&source, vec![unsafe_only.clone()], Caution::Safe, |_| {
                Vec::new()
            })
            .applied,
            0
        );
        assert_eq!(
            &*apply_fixes(&source, vec![unsafe_only], Caution::Unsafe, |_| Vec::new()).text,
            ""
        );
    }
}
