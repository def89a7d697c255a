//! Characters that look like others, that cannot be seen, or that turn the text around.

use super::mend::Mend;
use super::tokens::Lexer;
use crate::diag::codes::text as codes;
use crate::diag::{Diagnostic, Edit, Severity};
use crate::source::Span;

/// What a character outside of texts and comments is taken for.
pub(super) enum Likeness {
    /// A character of the language.
    Character(char),
    /// Space that may be seen or not.
    Space,
    /// A control that changes the direction in which text is shown.
    Direction,
    None,
}

/// The likeness of a character that no word may hold.
pub(super) fn likeness(c: char) -> Likeness {
    let same = Likeness::Character;
    match c {
        '“' | '”' | '„' | '‟' | '＂' | '「' | '」' | '«' | '»' | '″' => same('"'),
        '‘' | '’' | '‚' | '‛' | '＇' | '′' | '´' => same('\''),
        '，' | '、' => same(','),
        '。' => same('.'),
        '–' | '—' | '−' | '‐' | '‑' => same('-'),
        '\u{ff01}'..='\u{ff5e}' => full_width(c),
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Likeness::Direction,
        _ if is_hidden(c) || c.is_whitespace() => Likeness::Space,
        _ => Likeness::None,
    }
}

/// Characters that take no room and so hide.
fn is_hidden(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}'
    )
}

/// The full-width forms lie in the order of ASCII, from `!` to `~`.
fn full_width(c: char) -> Likeness {
    let ascii = (c as u32)
        .checked_sub(0xff01 - 0x21)
        .and_then(|code| u8::try_from(code).ok());
    ascii.map_or(Likeness::None, |byte| Likeness::Character(char::from(byte)))
}

/// The Latin letter that a Cyrillic or Greek one looks like.
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
    /// Reports a word that mixes Latin letters with such as only look Latin.
    pub(super) fn judge_word(&mut self, span: Span) {
        let word = self.text.get(span.range()).unwrap_or("");
        if !word.bytes().any(|byte| byte.is_ascii_alphabetic()) {
            return;
        }
        let mended: String = word.chars().map(|c| latin_twin(c).unwrap_or(c)).collect();
        if mended == word {
            return;
        }
        let message = format!("`{word}` mixes Latin letters with letters that only look Latin");
        // One name is one finding, wherever it stands: written in one place only, it would be another name.
        let known = self
            .diagnostics
            .iter_mut()
            .find(|found| found.message == message);
        if let Some(fix) = known.and_then(|found| found.fix.as_mut()) {
            fix.edits.push(Edit::new(span, mended));
            return;
        }
        self.report(
            Diagnostic::new(&codes::CONFUSABLE_CHARACTER, span, message)
                .help(format!("write `{mended}` in Latin letters"))
                .unsafe_fix(format!("write `{mended}`"), vec![Edit::new(span, mended)]),
        );
    }

    /// Judges a character inside a text or comment: there only the invisible is suspicious.
    pub(super) fn judge_inside(&mut self, c: char, start: usize) {
        let span = Span::new(start, start + c.len_utf8());
        match likeness(c) {
            Likeness::Direction => self.direction(c, span),
            Likeness::Space if matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}') && start > 0 => {
                self.report(
                    Diagnostic::new(
                        &codes::CONFUSABLE_CHARACTER,
                        span,
                        format!("an invisible character {} hides here", name(c)),
                    )
                    .help("remove it")
                    .unsafe_fix("remove the invisible character", vec![Edit::removal(span)]),
                );
            }
            Likeness::Space | Likeness::Character(_) | Likeness::None => {}
        }
    }

    /// Judges a character between tokens, and mends it. Returns whether it stands for a quote.
    pub(super) fn judge_outside(&mut self, c: char, start: usize) -> Option<char> {
        let span = Span::new(start, start + c.len_utf8());
        match likeness(c) {
            Likeness::Direction => {
                self.direction(c, span);
                self.mends.push(Mend::Blank(span));
            }
            Likeness::Space => {
                self.mends.push(Mend::Blank(span));
                if c != '\u{feff}' || start > 0 {
                    self.report(
                        Diagnostic::new(
                            &codes::CONFUSABLE_CHARACTER,
                            span,
                            format!(
                                "{} stands here, which looks like a space or like nothing",
                                name(c)
                            ),
                        )
                        .help("write a plain space")
                        .fix("write a plain space", span, " "),
                    );
                }
            }
            Likeness::Character(quote @ ('"' | '\'')) => return Some(quote),
            Likeness::Character(ascii) => {
                self.look_alike(c, ascii, vec![span]);
                self.mends.push(Mend::Character {
                    span,
                    character: ascii,
                    at_end: false,
                });
            }
            Likeness::None => {}
        }
        None
    }

    /// Reports characters that stand where `ascii` was meant, at the first of their places.
    pub(super) fn look_alike(&mut self, c: char, ascii: char, places: Vec<Span>) {
        let Some(first) = places.first().copied() else {
            return;
        };
        let edits = places
            .into_iter()
            .map(|span| Edit::new(span, ascii.to_string()))
            .collect();
        let mut diagnostic = Diagnostic::new(
            &codes::CONFUSABLE_CHARACTER,
            first,
            format!(
                "`{c}` ({}) looks like `{ascii}` and is another character",
                name(c)
            ),
        )
        .help(format!("write `{ascii}`"))
        .fix_all(format!("write `{ascii}`"), edits);
        diagnostic.severity = Severity::Error;
        self.report(diagnostic);
    }

    fn direction(&mut self, c: char, span: Span) {
        self.report(
            Diagnostic::new(
                &codes::BIDI_CONTROL,
                span,
                format!("{} changes the direction of text, so that a reader sees another order than planrun", name(c)),
            )
            .help("remove it"),
        );
    }
}

fn name(c: char) -> String {
    format!("U+{:04X}", c as u32)
}
