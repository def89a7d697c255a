//! `secret-literal`: the text of a plan contains a password, key or token.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::secrets::is_secret_name;
use crate::sema::expr::{MapKey, Node, Op};
use crate::source::Span;
use crate::value::path_in;

/// The formats of the keys of known services.
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
/// A text without any of these contains no such key, so most plans do not need the regular expression, which takes
/// longer to compile than a small plan takes to check.
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
/// Descriptions of the keys for messages, by group of the regular expression.
const KINDS: [(&str, &str); 11] = [
    ("private", "a private key"),
    ("aws", "an AWS key"),
    ("github", "a GitHub token"),
    ("gitlab", "a GitLab token"),
    ("slack", "a Slack token"),
    ("stripe", "a live Stripe key"),
    ("model", "a key of a model provider"),
    ("google", "a Google key"),
    ("npm", "an npm token"),
    ("mail", "a SendGrid key"),
    ("signed", "a signed token"),
];
/// Minimum length of a secret; shorter texts are words.
const MIN_LENGTH: usize = 16;
/// Minimum entropy of a secret, in bits per character: words and identifiers have less, random letters and digits more.
const MIN_ENTROPY: f64 = 3.5;

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let first = found.len();
    shapes(subject, found);
    for (_, call, signature) in subject.calls() {
        for (name, code) in &call.arguments {
            let secret = signature
                .sensitive
                .iter()
                .any(|path| path_in(name, path) == Some(""));
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

/// Reports keys in a known format anywhere in the plan.
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
        found.push(diagnostic(span, format!("this plan contains {kind}")));
    }
}

/// Reports credentials in headers, as in `headers: { authorization: "Bearer …" }`.
fn headers(node: &Node, first: usize, found: &mut Vec<Diagnostic>) {
    let random = |text: &str| text.split([' ', '=', ';']).any(is_random);
    match &node.op {
        Op::Constant(value) => {
            for (key, value) in value.as_map().into_iter().flatten() {
                if key.as_str().is_some_and(is_secret_name) && value.as_str().is_some_and(random) {
                    add(
                        node.span,
                        "these headers contain a credential".to_owned(),
                        first,
                        found,
                    );
                }
            }
        }
        Op::Map(entries) => {
            for (key, value) in entries {
                let named = matches!(key, MapKey::Constant(key) if key.as_str().is_some_and(is_secret_name));
                if named
                    && value
                        .constant()
                        .and_then(|value| value.as_str())
                        .is_some_and(random)
                {
                    add(
                        value.span,
                        "this header contains a credential".to_owned(),
                        first,
                        found,
                    );
                }
            }
        }
        _ => {}
    }
}

/// Reports a secret, unless a more specific diagnostic covers it.
fn add(span: Span, message: String, first: usize, found: &mut Vec<Diagnostic>) {
    let overlaps = |other: &Diagnostic| other.span.start < span.end && span.start < other.span.end;
    if !found.iter().skip(first).any(overlaps) {
        found.push(diagnostic(span, message));
    }
}

fn diagnostic(span: Span, message: String) -> Diagnostic {
    codes::safety::SECRET_LITERAL
        .at(span, message)
        .note("everyone who can read the plan can use it")
        .help("pass it to the tool through its environment, and revoke this one, which has been exposed")
}

/// Returns true for the example keys of documentation, and for placeholders.
fn is_example(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ["example", "xxxx", "0000000", "1234567"]
        .iter()
        .any(|mark| lower.contains(mark))
}

/// Returns true if a text looks random: long, with letters and digits, without spaces, and of high entropy.
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

/// Returns the Shannon entropy of the characters of a text, in bits per character.
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
        // In pieces, so that secret scanners do not report this file.
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
