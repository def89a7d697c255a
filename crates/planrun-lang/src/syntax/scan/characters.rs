//! Reports characters that look like others, are invisible, or change the direction of text.

use super::repair::Repair;
use super::tokens::Lexer;
use crate::characters::{is_invisible, is_joining, turns_direction};
use crate::diag::codes::text as codes;
use crate::diag::{Edit, Severity};
use crate::source::Span;

/// The character that a non-ASCII one outside texts and comments resembles.
pub(super) enum Confusable {
    /// A character of the language.
    Character(char),
    /// White space, or a character without width.
    Space,
    /// A control character that changes the direction of displayed text.
    Direction,
    None,
}

/// Classifies a character that cannot be part of a word.
pub(super) fn confusable(c: char) -> Confusable {
    let same = Confusable::Character;
    match c {
        '“' | '”' | '„' | '‟' | '＂' | '「' | '」' | '«' | '»' | '″' => same('"'),
        '‘' | '’' | '‚' | '‛' | '＇' | '′' | '´' => same('\''),
        '，' | '、' => same(','),
        '。' => same('.'),
        '–' | '—' | '−' | '‐' | '‑' => same('-'),
        '\u{ff01}'..='\u{ff5e}' => full_width(c),
        _ if turns_direction(c) => Confusable::Direction,
        _ if is_invisible(c) || is_joining(c) || c.is_whitespace() => Confusable::Space,
        _ => Confusable::None,
    }
}

/// Returns the ASCII character of a full-width form; the forms are in ASCII order, from `!` to `~`.
fn full_width(c: char) -> Confusable {
    let ascii = (c as u32)
        .checked_sub(0xff01 - 0x21)
        .and_then(|code| u8::try_from(code).ok());
    ascii.map_or(Confusable::None, |byte| {
        Confusable::Character(char::from(byte))
    })
}

/// Returns the Latin letter that a Cyrillic or Greek one looks like.
fn latin_twin(c: char) -> Option<char> {
    const TWINS: &str = "аaеeоoрpсcуyхxіiјjѕsһhԁdԛqԝwАAВBЕEКKМMНHОOРPСCТTХXοoνvαaρpιiυuκkΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧX";
    let mut letters = TWINS.chars();
    while let Some((foreign, latin)) = letters.next().zip(letters.next()) {
        if foreign == c {
            return Some(latin);
        }
    }
    None
}

impl Lexer<'_> {
    /// Reports a word that mixes Latin letters with letters that only look Latin.
    pub(super) fn check_word(&mut self, span: Span) {
        let word = self.text.get(span.range()).unwrap_or("");
        if !word.bytes().any(|byte| byte.is_ascii_alphabetic()) {
            return;
        }
        let repaired: String = word.chars().map(|c| latin_twin(c).unwrap_or(c)).collect();
        if repaired == word {
            return;
        }
        let message = format!("`{word}` mixes Latin letters with letters that only look Latin");
        // One diagnostic covers all occurrences of a name: corrected in one place only, it would be a different name.
        let known = self
            .diagnostics
            .iter_mut()
            .find(|found| found.message == message);
        if let Some(fix) = known.and_then(|found| found.fix.as_mut()) {
            fix.edits.push(Edit::new(span, repaired));
            return;
        }
        self.report(
            codes::CONFUSABLE_CHARACTER
                .at(span, message)
                .help(format!("write `{repaired}` in Latin letters"))
                .unsafe_fix(
                    format!("write `{repaired}`"),
                    vec![Edit::new(span, repaired)],
                ),
        );
    }

    /// Checks a character inside a text or comment, where only invisible and direction-changing ones are suspicious.
    pub(super) fn check_inside(&mut self, c: char, start: usize) {
        let span = Span::new(start, start + c.len_utf8());
        match confusable(c) {
            Confusable::Direction => self.direction(c, span),
            Confusable::Space if is_invisible(c) && start > 0 => {
                self.report(
                    codes::CONFUSABLE_CHARACTER
                        .at(span, format!("unexpected invisible character {}", name(c)))
                        .help("remove it")
                        .unsafe_fix("remove the invisible character", vec![Edit::removal(span)]),
                );
            }
            Confusable::Space | Confusable::Character(_) | Confusable::None => {}
        }
    }

    /// Checks a character between tokens and repairs it. Returns the quote if it resembles one.
    pub(super) fn check_outside(&mut self, c: char, start: usize) -> Option<char> {
        let span = Span::new(start, start + c.len_utf8());
        match confusable(c) {
            Confusable::Direction => {
                self.direction(c, span);
                self.repairs.push(Repair::Blank(span));
            }
            Confusable::Space => {
                self.repairs.push(Repair::Blank(span));
                if c != '\u{feff}' || start > 0 {
                    self.report(
                        codes::CONFUSABLE_CHARACTER
                            .at(
                                span,
                                format!("{} looks like a space or is invisible", name(c)),
                            )
                            .help("write a plain space")
                            .fix("write a plain space", span, " "),
                    );
                }
            }
            Confusable::Character(quote @ ('"' | '\'')) => return Some(quote),
            Confusable::Character(ascii) => {
                self.look_alike(c, ascii, vec![span]);
                self.repairs.push(Repair::Character {
                    span,
                    character: ascii,
                    at_end: false,
                });
            }
            Confusable::None => {}
        }
        None
    }

    /// Reports characters written in place of `ascii`, at the first of their spans.
    pub(super) fn look_alike(&mut self, c: char, ascii: char, places: Vec<Span>) {
        let Some(first) = places.first().copied() else {
            return;
        };
        let edits = places
            .into_iter()
            .map(|span| Edit::new(span, ascii.to_string()))
            .collect();
        let mut diagnostic = codes::CONFUSABLE_CHARACTER
            .at(
                first,
                format!(
                    "`{c}` ({}) looks like `{ascii}`, but is a different character",
                    name(c)
                ),
            )
            .help(format!("write `{ascii}`"))
            .fix_all(format!("write `{ascii}`"), edits);
        diagnostic.severity = Severity::Error;
        self.report(diagnostic);
    }

    fn direction(&mut self, c: char, span: Span) {
        let message = format!(
            "{} changes the direction of text, so a reader sees a different order than planrun",
            name(c)
        );
        self.report(codes::BIDI_CONTROL.at(span, message).help("remove it"));
    }
}

fn name(c: char) -> String {
    format!("U+{:04X}", c as u32)
}
