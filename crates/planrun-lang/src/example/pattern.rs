//! Generates texts that match a regular expression, from its syntax tree.

use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

use super::chance::{below, mixed};

/// Maximum length of a generated text, in characters.
const MAX_CHARACTERS: usize = 4_000;
/// The preferred characters of a class, in this order.
const PREFERRED: [(char, char); 6] = [
    ('a', 'z'),
    ('A', 'Z'),
    ('0', '9'),
    ('-', '.'),
    ('_', '_'),
    ('!', '~'),
];

/// Generates a text that the pattern is likely to match. `stretch` is the maximum number of repetitions beyond the
/// required ones. Assertions such as `\b` are ignored, so the text has to be checked afterwards. `None` if the pattern
/// cannot be parsed or the text would be too long.
pub(super) fn matching(pattern: &str, salt: u64, stretch: u32) -> Option<String> {
    let parse = |pattern: &str| {
        regex_syntax::ParserBuilder::new()
            .nest_limit(100)
            .build()
            .parse(pattern)
            .ok()
    };
    let hir = parse(pattern).or_else(|| parse(&without_look_around(pattern)))?;
    let mut writer = Writer {
        text: String::new(),
        length: 0,
        salt,
        stretch,
        parts: 0,
    };
    writer.part(&hir)?;
    Some(writer.text)
}

struct Writer {
    text: String,
    length: usize,
    salt: u64,
    stretch: u32,
    /// Number of parts written so far; it determines the next pseudorandom choice.
    parts: u64,
}

impl Writer {
    fn part(&mut self, hir: &Hir) -> Option<()> {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => Some(()),
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).ok()?;
                text.chars().try_for_each(|character| self.push(character))
            }
            HirKind::Class(class) => {
                let character = self.of_class(class)?;
                self.push(character)
            }
            HirKind::Repetition(repetition) => self.repeated(repetition),
            HirKind::Capture(capture) => self.part(&capture.sub),
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.part(part)),
            HirKind::Alternation(parts) => {
                let chosen = below(self.chance(), parts.len());
                self.part(parts.get(chosen)?)
            }
        }
    }

    fn repeated(&mut self, repetition: &Repetition) -> Option<()> {
        let most = repetition
            .max
            .unwrap_or(u32::MAX)
            .min(repetition.min.saturating_add(self.stretch));
        let width = usize::try_from(most - repetition.min).ok()?;
        let more = u32::try_from(below(self.chance(), width + 1)).ok()?;
        (0..repetition.min + more).try_for_each(|_| self.part(&repetition.sub))
    }

    fn of_class(&mut self, class: &Class) -> Option<char> {
        let ranges: Vec<(char, char)> = match class {
            Class::Unicode(class) => class
                .iter()
                .map(|range| (range.start(), range.end()))
                .collect(),
            Class::Bytes(class) => class
                .iter()
                .map(|range| (char::from(range.start()), char::from(range.end())))
                .collect(),
        };
        let chance = self.chance();
        let within = |(low, high): (char, char)| {
            let cut = ranges
                .iter()
                .map(|(from, to)| ((*from).max(low), (*to).min(high)));
            let found: Vec<char> = cut
                .filter(|(from, to)| from <= to)
                .flat_map(|(from, to)| from..=to)
                .collect();
            found.get(below(chance, found.len())).copied()
        };
        // Sometimes prefers characters other than lowercase letters, which a later part of the pattern may require.
        let first = if chance.rotate_left(20).is_multiple_of(3) {
            below(chance.rotate_left(40), PREFERRED.len())
        } else {
            0
        };
        let preferred = PREFERRED.iter().cycle().skip(first).take(PREFERRED.len());
        preferred
            .copied()
            .find_map(within)
            .or_else(|| ranges.first().map(|(from, _)| *from))
    }

    fn chance(&mut self) -> u64 {
        self.parts += 1;
        mixed(self.salt.wrapping_add(self.parts), "pattern")
    }

    fn push(&mut self, character: char) -> Option<()> {
        self.length += 1;
        self.text.push(character);
        (self.length <= MAX_CHARACTERS).then_some(())
    }
}

/// Removes look-around assertions, which the syntax tree cannot represent.
fn without_look_around(pattern: &str) -> String {
    let mut kept = String::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let is_look_around = ["(?=", "(?!", "(?<=", "(?<!"]
            .iter()
            .any(|opening| rest.starts_with(opening));
        let length = if is_look_around {
            group(rest)
        } else if first == '\\' {
            2
        } else {
            first.len_utf8()
        };
        let (taken, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        if !is_look_around {
            kept.push_str(taken);
        }
        rest = behind;
    }
    kept
}

/// Returns the length of the group at the start of a text.
fn group(text: &str) -> usize {
    let (mut depth, mut escaped) = (0_usize, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '(' => depth += 1,
            ')' if depth == 1 => return at + 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_match_their_patterns() {
        let patterns = [
            "^[A-Z]{2}-\\d{4}$",
            "^(a|b)+c?$",
            "^#[0-9a-fA-F]{6}$",
            "^\\+?[1-9]\\d{1,14}$",
            "^[^@\\s]+@[^@\\s]+\\.[a-z]{2,}$",
            "^v\\d+\\.\\d+\\.\\d+(-[0-9A-Za-z.-]+)?$",
            "^\\p{Lu}\\w*$",
        ];
        for pattern in patterns {
            let regex = regex::Regex::new(pattern).unwrap();
            for salt in 0..50 {
                let text = matching(pattern, salt, 4).unwrap();
                assert!(regex.is_match(&text), "{pattern}: {text}");
            }
        }
        assert_eq!(matching("^(?=.*[0-9])x$", 1, 1).as_deref(), Some("x"));
        assert_eq!(matching("(", 1, 1), None);
        assert_eq!(matching("^a{100000}$", 1, 1), None);
    }
}
