//! `secret-literal`: a password, key or token stands in the text of a plan.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::sema::expr::{MapKey, Node, Op};
use crate::source::Span;

/// Shapes that services give to their keys, so that they can be found where they do not belong.
static SHAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
        (?P<private>-----BEGIN\ (?:[A-Z]+\ )*PRIVATE\ KEY-----)
        | \b(?P<aws>A(?:KI|SI)A[0-9A-Z]{16})\b
        | \b(?P<github>gh[opsur]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,})\b
        | \b(?P<gitlab>glpat-[A-Za-z0-9_-]{20,})
        | \b(?P<slack>xox[abeoprs]-[A-Za-z0-9-]{20,})
        | \b(?P<stripe>[rs]k_live_[A-Za-z0-9]{16,})
        | \b(?P<model>sk-(?:[a-z]+[0-9]*-)*[A-Za-z0-9_]{32,})
        | \b(?P<google>AIza[0-9A-Za-z_-]{35})
        | \b(?P<npm>npm_[A-Za-z0-9]{36})\b
        | \b(?P<mail>SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})
        | \b(?P<signed>eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,})
        ",
    )
    .ok()
});
/// A text without any of these has none of the shapes, so that most plans do without the expression: making it takes longer
/// than the check of a small plan.
const SIGNS: [&str; 17] = [
    "PRIVATE KEY",
    "AKIA",
    "ASIA",
    "gho_",
    "ghp_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xox",
    "k_live_",
    "sk-",
    "AIza",
    "npm_",
    "SG.",
    "eyJ",
];
/// What a shape belongs to, for the message.
const KINDS: [(&str, &str); 11] = [
    ("private", "a private key"),
    ("aws", "a key of AWS"),
    ("github", "a token of GitHub"),
    ("gitlab", "a token of GitLab"),
    ("slack", "a token of Slack"),
    ("stripe", "a live key of Stripe"),
    ("model", "a key of a model's provider"),
    ("google", "a key of Google"),
    ("npm", "a token of npm"),
    ("mail", "a key of SendGrid"),
    ("signed", "a signed token"),
];
/// Shorter texts are words.
const MIN_LENGTH: usize = 16;
/// Bits a character: words and identifiers have less, random letters and digits more.
const MIN_ENTROPY: f64 = 3.5;
/// Headers whose value is a credential.
const HEADERS: [&str; 4] = ["authorization", "x-api-key", "api-key", "cookie"];

pub(super) fn look(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let first = found.len();
    shapes(subject, found);
    for (_, call, signature) in subject.calls() {
        for (name, code) in &call.arguments {
            let secret = signature.sensitive.iter().any(|path| **path == **name);
            let text = code.constant().and_then(|value| value.as_str());
            if secret && text.is_some_and(is_random) {
                let what = format!(
                    "the constant for `{name}` of `{}` looks like a secret",
                    signature.path()
                );
                add(code.span, what, first, found);
            }
            if name.eq_ignore_ascii_case("headers") {
                headers(&code.root, first, found);
            }
        }
    }
}

/// Keys with a shape of their own, wherever they stand in the plan.
fn shapes(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let written = subject.written;
    let whole = written.name.span.to(written.body.span);
    let text = subject.source.slice(whole);
    if !SIGNS.iter().any(|sign| text.contains(sign)) {
        return;
    }
    let (Some(shapes), start) = (&*SHAPES, whole.start as usize) else {
        return;
    };
    for captures in shapes.captures_iter(text) {
        let named = KINDS
            .iter()
            .find_map(|(group, kind)| captures.name(group).map(|found| (found, kind)));
        let Some((place, kind)) = named.filter(|(place, _)| !is_example(place.as_str())) else {
            continue;
        };
        let span = Span::new(start + place.start(), start + place.end());
        found.push(told(span, format!("{kind} stands in this plan")));
    }
}

/// `headers: { authorization: "Bearer …" }`
fn headers(node: &Node, first: usize, found: &mut Vec<Diagnostic>) {
    let is_credential = |name: &str| {
        HEADERS
            .iter()
            .any(|header| header.eq_ignore_ascii_case(name))
    };
    let random = |text: &str| text.split([' ', '=', ';']).any(is_random);
    match &node.op {
        Op::Constant(value) => {
            for (key, value) in value.as_map().into_iter().flatten() {
                if key.as_str().is_some_and(is_credential) && value.as_str().is_some_and(random) {
                    add(
                        node.span,
                        "a credential stands in these headers".to_owned(),
                        first,
                        found,
                    );
                }
            }
        }
        Op::Map(entries) => {
            for (key, value) in entries {
                let named =
                    matches!(key, MapKey::Constant(key) if key.as_str().is_some_and(is_credential));
                if named
                    && value
                        .constant()
                        .and_then(|value| value.as_str())
                        .is_some_and(random)
                {
                    add(
                        value.span,
                        "a credential stands in this header".to_owned(),
                        first,
                        found,
                    );
                }
            }
        }
        _ => {}
    }
}

/// One secret is told once, by what is known best of it.
fn add(span: Span, message: String, first: usize, found: &mut Vec<Diagnostic>) {
    let overlaps = |other: &Diagnostic| other.span.start < span.end && span.start < other.span.end;
    if !found.iter().skip(first).any(overlaps) {
        found.push(told(span, message));
    }
}

fn told(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(&codes::safety::SECRET_LITERAL, span, message)
        .note("everybody who reads the plan has it")
        .help("give it to the tool where it runs, through its environment, and make this one invalid: it has been written down")
}

/// Keys that documentation prints, and places to fill in.
fn is_example(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ["example", "xxxx", "0000000", "1234567"]
        .iter()
        .any(|mark| lower.contains(mark))
}

/// Whether a text looks drawn by lot: long, of letters and digits, without spaces, and no two alike more than by chance.
fn is_random(text: &str) -> bool {
    let letters = text.chars().filter(char::is_ascii_alphabetic).count();
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let plain = text.chars().all(|letter| letter.is_ascii_graphic());
    text.len() >= MIN_LENGTH
        && plain
        && letters > 0
        && digits > 1
        && !is_example(text)
        && entropy(text) >= MIN_ENTROPY
}

/// Shannon's entropy of the letters of a text, in bits a letter.
fn entropy(text: &str) -> f64 {
    let mut counts: BTreeMap<char, u32> = BTreeMap::new();
    for letter in text.chars() {
        *counts.entry(letter).or_default() += 1;
    }
    let length = f64::from(counts.values().sum::<u32>().max(1));
    counts
        .values()
        .map(|count| f64::from(*count) / length)
        .map(|share| -share * share.log2())
        .sum()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn words_and_numbers_are_no_secrets_and_random_text_is_one() {
        for plain in [
            "changeme",
            "correct-horse-battery-staple",
            "2026-11-21T14:00:00Z",
            "aaaaaaaaaaaaaaaa11",
            "WZ001",
        ] {
            assert!(!is_random(plain), "{plain}");
        }
        assert!(!is_random("hello world 12345678901234567890"));
        assert!(is_random("q7ZrT2mX9bLw4KdV"));
    }

    #[test]
    fn shapes_are_found_and_examples_are_not() {
        let shapes = SHAPES.as_ref().unwrap();
        // In pieces, so that nobody takes this file for a leak.
        let random = "q7ZrT2mX9bLw4KdVh3Yc8Nf6Pj1Gs5Ba0Ue2"; // 36 letters and digits
        let keys = [
            concat!("-----BEGIN RSA ", "PRIVATE KEY-----").to_owned(),
            concat!("AKIA", "Q3EGTB5ZKVSD7RWX").to_owned(),
            concat!("ASIA", "Q3EGTB5ZKVSD7RWX").to_owned(),
            format!("gho_{random}"),
            format!("ghp_{random}"),
            format!("ghs_{random}"),
            format!("ghu_{random}"),
            format!("ghr_{random}"),
            format!("github_pat_{random}{random}"),
            format!("glpat-{random}"),
            format!("xoxb-{random}"),
            format!("rk_live_{random}"),
            format!("sk_live_{random}"),
            format!("sk-proj-{random}"),
            format!("AIza{}", &random[..35]),
            format!("npm_{random}"),
            format!("SG.{}.{random}{}", &random[..22], &random[..7]),
            format!("eyJ{random}.eyJ{random}.{random}"),
        ];
        let mut found = BTreeSet::new();
        for key in &keys {
            let captures = shapes.captures(key).unwrap_or_else(|| panic!("{key}"));
            found.extend(
                KINDS
                    .map(|(group, _)| group)
                    .into_iter()
                    .filter(|group| captures.name(group).is_some()),
            );
            assert!(SIGNS.iter().any(|sign| key.contains(sign)), "{key}");
        }
        assert_eq!(found.len(), KINDS.len());
        assert!(is_example("AKIAIOSFODNN7EXAMPLE"));
        assert!(!shapes.is_match("task-force-of-the-department-of-everything"));
    }
}
