//! Inserts comments, line breaks and spaces between the tokens of a plan, at random but reproducible from the seed.

use std::fmt::Write as _;

/// Returns the number of variants per text: `PLANRUN_ROUNDS`, or a number that keeps the test fast.
pub fn rounds() -> u64 {
    std::env::var("PLANRUN_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(500)
}

/// Replaces the trivia between the tokens of a text.
pub fn disturb(text: &str, seed: u64) -> String {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d);
    let often = [2, 8, 40][usize::try_from(chance.below(3)).unwrap()];
    let respaced = chance.below(2) == 0;
    let mut out = String::new();
    let mut comments = 0;
    for token in tokens(text) {
        match token {
            Token::Space(space) => {
                if respaced && !space.contains("//") {
                    let statement_may_end = space.contains('\n');
                    out.push_str(if statement_may_end {
                        ["\n", "\n\n\n  ", " \t\r\n"][usize::try_from(chance.below(3)).unwrap()]
                    } else {
                        "  "
                    });
                } else {
                    out.push_str(space);
                }
            }
            Token::Word(word) => out.push_str(word),
        }
        if chance.below(often) == 0 {
            comments += 1;
            let marker = ["//", "//", "//", "//", "///", "//!", "////"]
                [usize::try_from(chance.below(7)).unwrap()];
            let before = ["", " ", "\n", "\n\n"][usize::try_from(chance.below(4)).unwrap()];
            let behind = ["\n", "\n\n", "\r\n    "][usize::try_from(chance.below(3)).unwrap()];
            let _ = write!(out, "{before}{marker} c{comments}{behind}");
        }
    }
    out
}

enum Token<'t> {
    /// Spaces and comments.
    Space(&'t str),
    Word(&'t str),
}

/// Splits a text into its tokens. Strings, dotted class names and hyphenated codes stay whole.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let pattern = regex::Regex::new(concat!(
        r#"(?s)(?P<space>(?:\s|//[^\n]*\n?)+)"#,
        r#"|(?P<word>[rbRB]{0,2}"""(?:\\.|.)*?"""|[rbRB]{0,2}'''.*?'''|[rR]'[^'\n]*'|[rR]"[^"\n]*"|[bB]?'(?:\\.|[^'\\\n])*'|`[^`]*`"#,
        r#"|(?:fail|fails|recover)\s+[\w., ]+|expect\s+diagnostics[^\]]*\]|\d[\w.]*|\w+"#,
        r#"|->|=>|==|!=|<=|>=|&&|\|\||\?\?|\?\.|.)"#
    ))
    .unwrap();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with('"') && !rest.starts_with("\"\"\"") {
            let length = quoted(rest);
            tokens.push(Token::Word(&rest[..length]));
            at += length;
            continue;
        }
        let found = pattern.captures(rest).unwrap();
        let length = found[0].len();
        tokens.push(if found.name("space").is_some() {
            Token::Space(&rest[..length])
        } else {
            Token::Word(&rest[..length])
        });
        at += length;
    }
    tokens
}

/// Returns the length of a double-quoted string, including the strings in its `${…}`.
fn quoted(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            b'$' if bytes.get(at + 1) == Some(&b'{') => {
                at += 2;
                let mut depth = 1;
                while at < bytes.len() && depth > 0 {
                    match bytes[at] {
                        b'{' => depth += 1,
                        b'}' => depth -= 1,
                        b'"' => at += quoted(&text[at..]) - 1,
                        _ => {}
                    }
                    at += 1;
                }
            }
            _ => at += 1,
        }
    }
    text.len()
}

/// Pseudorandom numbers from a seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}
