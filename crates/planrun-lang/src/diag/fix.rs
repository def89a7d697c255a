//! Fixes applied to a text: all that do not meet, then again on what came out, until nothing changes.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Diagnostic, Edit};
use crate::source::SourceFile;

/// Rounds of applying and checking again. Each makes at least one fix, and most texts need two.
const MAX_ROUNDS: usize = 100;

/// Which fixes may be applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Caution {
    /// Only those that keep the meaning.
    Safe,
    /// Also those that may change it.
    Unsafe,
}

/// A text after its fixes.
#[derive(Debug)]
pub struct Mended {
    pub text: Arc<str>,
    /// What is still found in it.
    pub left: Vec<Diagnostic>,
    /// How many fixes were applied.
    pub applied: usize,
    /// Fixes that would have made it worse, as `code: title`, and were left out.
    pub refused: Vec<String>,
}

/// The text with these edits made; `None` where they overlap or lie outside of it. Line breaks become those of the text.
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

/// Applies the fixes of what was found in a text. `check` finds what is wrong with a text of the same name.
///
/// A fix after which there are more errors than before is not applied, which also keeps a text readable that was.
pub fn mend(
    source: &SourceFile,
    found: Vec<Diagnostic>,
    caution: Caution,
    mut check: impl FnMut(&SourceFile) -> Vec<Diagnostic>,
) -> Mended {
    let mut mended = Mended {
        text: source.text().into(),
        left: found,
        applied: 0,
        refused: Vec::new(),
    };
    let mut refused = BTreeSet::new();
    let mut seen = BTreeSet::from([mended.text.clone()]);
    for _ in 0..MAX_ROUNDS {
        let now = SourceFile::new(source.name(), mended.text.clone());
        let wanted = mended.left.iter().filter(|found| {
            found
                .fix
                .as_ref()
                .is_some_and(|fix| fix.safe || caution == Caution::Unsafe)
                && !refused.contains(&identity(&now, found))
        });
        let chosen = apart(wanted);
        let Some(first) = chosen.first() else { break };
        match best(&now, &chosen, errors(&mended.left), &mut check) {
            // A text that was there before would come again and again.
            Some((text, ..)) if seen.contains(&text) => break,
            Some((text, left, count)) => {
                seen.insert(text.clone());
                mended.applied += count;
                (mended.text, mended.left) = (text, left);
            }
            None => {
                let title = first.fix.as_ref().map_or("", |fix| fix.title.as_str());
                let told = format!("{}: {title}", first.code.name);
                if !mended.refused.contains(&told) {
                    mended.refused.push(told);
                }
                refused.insert(identity(&now, first));
            }
        }
    }
    mended
}

/// Applies all of the fixes where they remove what they promise, else the first half of them, and half of that, down to
/// one alone, which must not make more errors than before.
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
            // One that makes it worse must not hide behind one that makes it better.
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

/// The findings whose fixes do not meet each other, the earlier ones first.
fn apart<'a>(found: impl Iterator<Item = &'a Diagnostic>) -> Vec<&'a Diagnostic> {
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
            // What is taken lies apart, so only the neighbours can meet it. Two that touch are not sure to go in order.
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

/// What a finding is known by after the text around it has moved.
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

    /// A checker to which each word of lower case letters is a mistake, which its fix writes as `rule` says.
    fn words(source: &SourceFile, rule: fn(&str) -> &str) -> Vec<Diagnostic> {
        let mut at = 0;
        let mut found = Vec::new();
        for word in source.text().split(' ') {
            let span = Span::new(at, at + word.len());
            at += word.len() + 1;
            if word.chars().any(char::is_lowercase) {
                found.push(Diagnostic::new(&UNKNOWN_NAME, span, word).fix("fix", span, rule(word)));
            } else if word == "!" {
                found.extend((0..3).map(|_| Diagnostic::new(&UNEXPECTED_TOKEN, span, "no")));
            }
        }
        found
    }

    fn mended(text: &str, rule: fn(&str) -> &str) -> Mended {
        let source = SourceFile::new("x", text);
        mend(&source, words(&source, rule), Caution::Safe, |source| {
            words(source, rule)
        })
    }

    #[test]
    fn what_makes_it_worse_is_left_out_and_told() {
        let result = mended("a bad b c", |word| if word == "bad" { "!" } else { "X" });
        assert_eq!((&*result.text, result.applied), ("X bad X X", 3));
        assert_eq!(result.refused, ["unknown-name: fix"]);
        assert_eq!(result.left.len(), 1);
    }

    #[test]
    fn what_comes_round_again_ends() {
        let result = mended("a", |word| if word == "a" { "b" } else { "a" });
        assert_eq!(&*result.text, "b");
        assert!(mended("a", |_| "aa").text.len() <= MAX_ROUNDS + 1);
    }

    #[test]
    fn fixes_that_meet_wait_for_the_next_round() {
        let source = SourceFile::new("x", "ab");
        let found = [Span::new(0, 1), Span::at(1), Span::new(1, 2)].map(|span| {
            let text = if span.is_empty() { "-" } else { "" };
            Diagnostic::new(&UNKNOWN_NAME, span, "m").fix("f", span, text)
        });
        assert_eq!(apart(found.iter()).len(), 1);
        let unsafe_only =
            Diagnostic::new(&UNKNOWN_NAME, Span::at(0), "m").unsafe_fix("f", vec![edit(0, 2, "")]);
        assert_eq!(
            mend(&source, vec![unsafe_only.clone()], Caution::Safe, |_| {
                Vec::new()
            })
            .applied,
            0
        );
        assert_eq!(
            &*mend(&source, vec![unsafe_only], Caution::Unsafe, |_| Vec::new()).text,
            ""
        );
    }
}
