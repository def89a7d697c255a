//! Repairs errors in a copy of a damaged text without moving any offset.

use std::borrow::Cow;

use crate::source::Span;

/// Replaces text that was reported and cannot be repaired: the control character "delete".
const FILLER: u8 = 0x7F;

/// One replacement that preserves the length.
#[derive(Clone, Debug)]
pub(super) enum Repair {
    /// The span becomes blank.
    Blank(Span),
    /// The span becomes a damaged value.
    Damaged(Span),
    /// The span begins with this character, or ends with it if `at_end`; the rest of it becomes blank.
    Character {
        span: Span,
        character: char,
        at_end: bool,
    },
}

impl Repair {
    pub fn span(&self) -> Span {
        match self {
            Self::Blank(span) | Self::Damaged(span) | Self::Character { span, .. } => *span,
        }
    }

    /// Returns true if damage around the span is a consequence of the reported error.
    pub fn reports(&self) -> bool {
        match self {
            Self::Damaged(_) | Self::Character { .. } => true,
            Self::Blank(span) => !span.is_empty(),
        }
    }
}

/// Applies the repairs to the text and appends the closing delimiters in `appended`.
pub(super) fn apply<'t>(text: &'t str, repairs: &[Repair], appended: &str) -> Cow<'t, str> {
    if repairs.is_empty() && appended.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut bytes = text.as_bytes().to_vec();
    for repair in repairs {
        let range = repair.span().range();
        let Some(slice) = bytes.get_mut(range) else {
            continue;
        };
        match repair {
            Repair::Blank(_) => slice.fill(b' '),
            Repair::Damaged(_) => slice.fill(FILLER),
            Repair::Character {
                character, at_end, ..
            } => {
                slice.fill(b' ');
                let place = if *at_end {
                    slice.last_mut()
                } else {
                    slice.first_mut()
                };
                if let Some((place, byte)) = place.zip(u8::try_from(*character).ok()) {
                    *place = byte;
                }
            }
        }
    }
    bytes.extend_from_slice(appended.as_bytes());
    // Spans lie on character boundaries and their replacements are ASCII, so the text stays UTF-8.
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
}
