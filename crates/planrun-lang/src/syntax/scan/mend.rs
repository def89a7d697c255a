//! The copy of a damaged text in which single mistakes are mended without moving anything.

use std::borrow::Cow;

use crate::source::Span;

/// Takes the place of text that was reported and cannot be mended: the control character "delete".
const FILLER: u8 = 0x7F;

/// One replacement that keeps the length.
#[derive(Clone, Debug)]
pub(super) enum Mend {
    /// The range holds no text.
    Blank(Span),
    /// The range is a damaged value.
    Damaged(Span),
    /// The range begins with this, or ends with it where `at_end`; the rest of it is blank.
    Character {
        span: Span,
        character: char,
        at_end: bool,
    },
}

impl Mend {
    pub fn span(&self) -> Span {
        match self {
            Self::Blank(span) | Self::Damaged(span) | Self::Character { span, .. } => *span,
        }
    }

    /// Whether damage around it is a consequence of what was reported.
    pub fn reports(&self) -> bool {
        match self {
            Self::Damaged(_) | Self::Character { .. } => true,
            Self::Blank(span) => !span.is_empty(),
        }
    }
}

/// The mended text; `appended` are the delimiters that its end lacks.
pub(super) fn apply<'t>(text: &'t str, mends: &[Mend], appended: &str) -> Cow<'t, str> {
    if mends.is_empty() && appended.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut bytes = text.as_bytes().to_vec();
    for mend in mends {
        let range = mend.span().range();
        let Some(slice) = bytes.get_mut(range) else {
            continue;
        };
        match mend {
            Mend::Blank(_) => slice.fill(b' '),
            Mend::Damaged(_) => slice.fill(FILLER),
            Mend::Character {
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
    // Ranges lie on character boundaries and what replaces them is ASCII, so the text stays UTF-8.
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
}
