//! Characters of words, and those that nobody can see, in classes. Every rule about the latter is a union of these classes.

/// Returns true for the controls that turn the direction of displayed text.
#[must_use]
pub const fn turns_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns true for the characters that nobody can see and that no ordinary text needs: those that turn the direction,
/// spaces without width, invisible operators and tags. Plans contain them only as escapes, and a description that
/// contains one is suspicious.
#[must_use]
pub const fn is_invisible(c: char) -> bool {
    turns_direction(c)
        || matches!(c, '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns true for the characters without a shape of their own that ordinary text needs in some scripts, and in emoji:
/// joiners, marks of the direction, soft hyphens and vowel separators. Texts of plans may contain them; between the words
/// of a plan they mean nothing.
#[must_use]
pub const fn is_joining(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200c}'..='\u{200f}'
    )
}

/// Returns true for everything that could deceive whoever reads text from outside on a terminal or on a page: both
/// classes above, all controls, the separators of lines and paragraphs, other formats, and noncharacters, which XML does
/// not allow. Such text is displayed with escapes, which harm no reader, so this is the largest class.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || is_invisible(c)
        || is_joining(c)
        || matches!(
            c,
            '\u{2028}' | '\u{2029}'
                | '\u{2065}'
                | '\u{206a}'..='\u{206f}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{fffe}'..='\u{ffff}'
        )
}

/// Returns true if the text is a word that plans write without back quotes, unless it is reserved at its place.
#[must_use]
pub fn is_plain_word(text: &str) -> bool {
    let mut characters = text.chars();
    characters
        .next()
        .is_some_and(|first| first == '_' || unicode_ident::is_xid_start(first))
        && characters.all(unicode_ident::is_xid_continue)
}
