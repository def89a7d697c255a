//! Finds secrets by value, in any of their forms, and replaces them by a mark.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use serde_json::Value as Json;

use super::credential::secret_parts;
use super::form::{Encoding, Form, ReadBack, forms};
use crate::value::{Key, Map, Value};

/// The text that replaces a secret.
pub const MARK: &str = "[redacted]";
/// Minimum length of a secret, in characters. A shorter one cannot be distinguished from the surrounding text.
pub const MIN_LENGTH: usize = 4;
/// Maximum number of bytes of a form that the automaton searches for, so that its size does not depend on the lengths
/// of secrets. Text that begins with this many bytes of a longer form is redacted as far as it matches the form.
const MAX_PATTERN: usize = 64;
/// The same for forms of a secret that is encoded twice, of which there are many.
const MAX_NESTED_PATTERN: usize = 24;
/// The mark at the end of a text that was shortened for a message.
const CUT: &[u8] = "…".as_bytes();
/// Maximum number of cuts in a text that are examined, and of bytes before each.
const MAX_CUTS: usize = 64;
const MAX_BEFORE_CUT: usize = 4 * 1024;
/// Maximum number of nested encodings that are decoded.
const MAX_LAYERS: usize = 8;

/// The set of known secrets.
#[derive(Clone, Default)]
pub struct Redactor {
    secrets: BTreeSet<Arc<str>>,
    /// Each covers some of the secrets, and at least twice as many as the next one.
    searches: Vec<Search>,
    /// Whether a secret contains a space, which HTML forms send as `+`.
    has_space: bool,
    /// Whether some secrets cannot be searched for. Every text may contain one of them, so all of it is redacted.
    is_incomplete: bool,
}

#[derive(Clone)]
struct Search {
    secrets: Vec<Arc<str>>,
    automaton: AhoCorasick,
    /// For each pattern, the forms that begin with it.
    forms: Arc<[Vec<Form>]>,
}

impl Redactor {
    /// Returns true if there are no secrets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// Adds a sensitive text: the text, and the secrets that it contains, as in `Bearer TOKEN` and in addresses. Returns
    /// false if one of them is too short to be recognized.
    pub fn add(&mut self, text: &str) -> bool {
        let mut known = true;
        for part in secret_parts(text) {
            known &= self.insert(&part);
        }
        known
    }

    /// Adds a secret, exactly as it is.
    fn insert(&mut self, secret: &str) -> bool {
        if secret.chars().take(MIN_LENGTH).count() < MIN_LENGTH {
            return false;
        }
        let secret: Arc<str> = secret.into();
        if !self.secrets.insert(secret.clone()) {
            return true;
        }
        self.has_space |= secret.contains(' ');
        let mut secrets = vec![secret];
        while self
            .searches
            .last()
            .is_some_and(|last| last.secrets.len() < 2 * secrets.len())
        {
            secrets.extend(
                self.searches
                    .pop()
                    .into_iter()
                    .flat_map(|search| search.secrets),
            );
        }
        match Search::new(secrets) {
            Some(search) => self.searches.push(search),
            None => self.is_incomplete = true,
        }
        true
    }

    /// Adds the secrets of another redactor.
    pub fn join(&mut self, others: &Self) {
        for secret in &others.secrets {
            self.insert(secret);
        }
        self.is_incomplete |= others.is_incomplete;
    }

    /// Adds every string and number within a value, and bytes that are UTF-8. Keys are not added.
    pub fn add_value(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                self.add(text);
            }
            Value::Bytes(bytes) => {
                if let Ok(text) = std::str::from_utf8(bytes) {
                    self.add(text);
                }
            }
            Value::List(items) => items.iter().for_each(|item| self.add_value(item)),
            Value::Map(map) => map.values().for_each(|inner| self.add_value(inner)),
            Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Exact(_) => {
                self.add(&value.to_json_text());
            }
            Value::Null
            | Value::Bool(_)
            | Value::Timestamp(_)
            | Value::Duration(_)
            | Value::Type(_) => {}
        }
    }

    /// Returns the text with its secrets redacted.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let found = self.find(text.as_bytes());
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        // A match ends at a character boundary, or inside a character whose first bytes still agree with a long secret.
        Cow::Owned(String::from_utf8_lossy(&marked(text.as_bytes(), &found)).into_owned())
    }

    /// Returns the value with its secrets redacted; `None` if it contains none.
    #[must_use]
    pub fn value(&self, value: &Value) -> Option<Value> {
        match value {
            _ if self.is_empty() => None,
            Value::String(text) => match self.text(text) {
                Cow::Borrowed(_) => None,
                Cow::Owned(text) => Some(Value::from(text)),
            },
            Value::Bytes(bytes) => {
                let found = self.find(bytes);
                (!found.is_empty()).then(|| Value::Bytes(marked(bytes, &found).into()))
            }
            Value::List(items) => {
                let redacted: Vec<Option<Value>> =
                    items.iter().map(|item| self.value(item)).collect();
                let changed = redacted.iter().any(Option::is_some);
                let whole = || {
                    redacted
                        .into_iter()
                        .zip(&**items)
                        .map(|(redacted, item)| redacted.unwrap_or_else(|| item.clone()))
                };
                changed.then(|| Value::list(whole()))
            }
            Value::Map(map) => self.map(map).map(|map| Value::Map(Arc::new(map))),
            Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Exact(_) => self
                .secrets
                .contains(&*value.to_json_text())
                .then(|| Value::from(MARK)),
            Value::Null
            | Value::Bool(_)
            | Value::Timestamp(_)
            | Value::Duration(_)
            | Value::Type(_) => None,
        }
    }

    fn map(&self, map: &Map) -> Option<Map> {
        let key = |key: &Key| match key {
            Key::String(text) => match self.text(text) {
                Cow::Borrowed(_) => None,
                Cow::Owned(text) => Some(Key::from(&*text)),
            },
            Key::Bool(_) | Key::Int(_) | Key::Uint(_) => None,
        };
        let redacted: Vec<_> = map
            .iter()
            .map(|(name, inner)| (key(name), self.value(inner)))
            .collect();
        if redacted
            .iter()
            .all(|(key, inner)| key.is_none() && inner.is_none())
        {
            return None;
        }
        let entries = redacted
            .into_iter()
            .zip(map)
            .map(|((key, inner), (old_key, old))| {
                (
                    key.unwrap_or_else(|| old_key.clone()),
                    inner.unwrap_or_else(|| old.clone()),
                )
            });
        Some(entries.collect())
    }

    /// Redacts secrets in JSON.
    pub fn json(&self, json: &mut Json) {
        match json {
            _ if self.is_empty() => {}
            Json::String(text) => {
                if let Cow::Owned(redacted) = self.text(text) {
                    *text = redacted;
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Json::Object(fields) => {
                for inner in fields.values_mut() {
                    self.json(inner);
                }
                if fields
                    .keys()
                    .any(|name| matches!(self.text(name), Cow::Owned(_)))
                {
                    let entries = std::mem::take(fields);
                    fields.extend(
                        entries
                            .into_iter()
                            .map(|(name, inner)| (self.text(&name).into_owned(), inner)),
                    );
                }
            }
            Json::Number(number) => {
                if self.secrets.contains(&*number.to_string()) {
                    *json = MARK.into();
                }
            }
            Json::Null | Json::Bool(_) => {}
        }
    }

    /// Finds the ranges of secrets, sorted and disjoint.
    fn find(&self, text: &[u8]) -> Vec<Range<usize>> {
        if text.is_empty() || self.is_empty() {
            return Vec::new();
        }
        if self.is_incomplete {
            return std::iter::once(0..text.len()).collect();
        }
        let mut found = self.direct(text);
        self.unwrapped(text, &mut found);
        for encoding in [
            Encoding::Percent,
            Encoding::Form,
            Encoding::Json,
            Encoding::Any,
        ] {
            if encoding != Encoding::Form || self.has_space {
                self.decoded(text, encoding, MAX_LAYERS, &mut found);
            }
        }
        found.sort_by_key(|range| (range.start, range.end));
        let mut disjoint: Vec<Range<usize>> = Vec::with_capacity(found.len());
        for range in found {
            match disjoint.last_mut().filter(|last| range.start <= last.end) {
                Some(last) => last.end = last.end.max(range.end),
                None => disjoint.push(range),
            }
        }
        disjoint
    }

    /// Adds the matches in the decoded text, through at most `layers` nested encodings. A text with more of them may
    /// contain anything, so all of it is a match.
    fn decoded(
        &self,
        text: &[u8],
        encoding: Encoding,
        layers: usize,
        found: &mut Vec<Range<usize>>,
    ) {
        let Some(read) = ReadBack::of(text, encoding) else {
            return;
        };
        if layers == 0 {
            return found.push(0..text.len());
        }
        let mut inside = self.direct(&read.bytes);
        self.unwrapped(&read.bytes, &mut inside);
        self.decoded(&read.bytes, encoding, layers - 1, &mut inside);
        found.extend(inside.iter().filter_map(|range| read.place(range)));
    }

    /// Adds the matches in the text without its line breaks.
    fn unwrapped(&self, text: &[u8], found: &mut Vec<Range<usize>>) {
        if let Some(read) = ReadBack::of(text, Encoding::Lines) {
            let inside = self.direct(&read.bytes);
            found.extend(inside.iter().filter_map(|range| read.place(range)));
        }
    }

    fn direct(&self, text: &[u8]) -> Vec<Range<usize>> {
        let searches = self.searches.iter();
        let whole = searches.flat_map(|search| search.find(text));
        whole.chain(self.cut_off(text)).collect()
    }

    /// Returns the beginnings of secrets whose rest was cut off when the text was shortened.
    fn cut_off(&self, text: &[u8]) -> impl Iterator<Item = Range<usize>> {
        let cuts = text.windows(CUT.len()).enumerate();
        let cuts = cuts.filter(|(_, window)| *window == CUT).take(MAX_CUTS);
        cuts.filter_map(|(end, _)| {
            let before = text.get(end.saturating_sub(MAX_BEFORE_CUT)..end)?;
            let forms = self
                .searches
                .iter()
                .flat_map(|search| search.forms.iter().flatten());
            let longest = forms.filter_map(|form| {
                let most = form.text.len().min(before.len());
                (MIN_LENGTH..=most).rev().find(|length| {
                    form.text
                        .get(..*length)
                        .is_some_and(|start| before.ends_with(start))
                })
            });
            longest.max().map(|length| end - length..end)
        })
    }
}

/// Debug output does not contain secrets.
impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} secrets)", self.secrets.len())
    }
}

impl Search {
    /// Returns `None` if there are too many patterns for an automaton, which takes far more secrets than a run has.
    fn new(secrets: Vec<Arc<str>>) -> Option<Self> {
        let mut by_pattern: BTreeMap<Vec<u8>, Vec<Form>> = BTreeMap::new();
        for form in secrets.iter().flat_map(|secret| forms(secret.as_bytes())) {
            let max = if form.layers > 1 {
                MAX_NESTED_PATTERN
            } else {
                MAX_PATTERN
            };
            let pattern = form.text.iter().take(max).copied().collect();
            by_pattern.entry(pattern).or_default().push(form);
        }
        // A DFA takes minutes to build where this automaton takes a moment.
        let automaton = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .match_kind(MatchKind::LeftmostLongest)
            .build(by_pattern.keys());
        Some(Self {
            secrets,
            automaton: automaton.ok()?,
            forms: by_pattern.into_values().collect(),
        })
    }

    fn find(&self, text: &[u8]) -> impl Iterator<Item = Range<usize>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let found = self.automaton.find(Input::new(text).range(at..))?;
            let forms = self.forms.get(found.pattern().as_usize())?;
            let rest = text.get(found.start()..)?;
            let ranges = forms
                .iter()
                .map(|form| form.place(text, found.start(), rest));
            let (mut start, mut end) = (found.start(), found.end());
            for range in ranges {
                start = start.min(range.start);
                end = end.max(range.end);
            }
            at = end;
            Some(start..end)
        })
    }
}

impl Form {
    /// Returns the range of the form in the text, as far as it agrees with `rest`, which begins at `start`. The range
    /// includes the base64 characters on either side that contain bits of the secret.
    fn place(&self, text: &[u8], start: usize, rest: &[u8]) -> Range<usize> {
        let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
        let agree = self
            .text
            .iter()
            .zip(rest)
            .take_while(|(one, other)| one == other);
        let mut end = start + agree.count();
        let is_whole = end - start == self.text.len();
        if self.cut && is_whole {
            let more = text.get(end..).unwrap_or_default();
            end += more.iter().take_while(|byte| is_letter(byte)).count();
        }
        let before = start.checked_sub(1).and_then(|at| text.get(at));
        let behind = text.get(end).filter(|_| is_whole);
        let before = self.before && before.is_some_and(is_letter);
        let behind = self.behind && behind.is_some_and(is_letter);
        start - usize::from(before)..end + usize::from(behind)
    }
}

/// Replaces each of these ranges by the mark.
fn marked(text: &[u8], parts: &[Range<usize>]) -> Vec<u8> {
    let mut redacted = Vec::with_capacity(text.len());
    let mut end = 0;
    for part in parts {
        redacted.extend_from_slice(&text[end..part.start]);
        redacted.extend_from_slice(MARK.as_bytes());
        end = part.end;
    }
    redacted.extend_from_slice(&text[end..]);
    redacted
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_beginning_of_a_secret_before_a_cut_is_redacted() {
        let mut redactor = super::Redactor::default();
        redactor.add("hunter2-secret-token");
        for (text, redacted) in [
            (
                "got hunter2-sec… (200 bytes)",
                "got [redacted]… (200 bytes)",
            ),
            ("got hunt…", "got [redacted]…"),
            ("got hun…", "got hun…"),
            ("hunter2-sec and more", "hunter2-sec and more"),
            ("hunter2-secret-token… hunter2…", "[redacted]… [redacted]…"),
        ] {
            assert_eq!(redactor.text(text), redacted);
        }
        // `Bearer` tokens are often echoed in base64.
        let echoed = format!("Basic {}…", &"aHVudGVyMi1zZWNyZXQtdG9rZW4="[..14]);
        assert_eq!(redactor.text(&echoed), "Basic [redacted]…");
    }

    use std::fmt::Write as _;

    use base64::Engine as _;
    use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD};
    use proptest::prelude::*;

    use super::*;

    fn knows(secrets: &[&str]) -> Redactor {
        let mut redactor = Redactor::default();
        for secret in secrets {
            assert!(redactor.add(secret));
        }
        redactor
    }

    #[test]
    fn a_secret_is_found_in_every_form() {
        let secret = "p/+ä \"w\"=s3cr%t";
        let redactor = knows(&[secret]);
        let hex = secret
            .bytes()
            .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        let url = url::Url::parse_with_params("http://a/", [("k", secret)]).unwrap();
        let mut user = url::Url::parse("http://a/").unwrap();
        user.set_password(Some(secret)).unwrap();
        let json = serde_json::to_string(secret).unwrap();
        let ascii = secret
            .encode_utf16()
            .fold(String::new(), |text, unit| format!("{text}\\u{unit:04X}"));
        for text in [
            secret,
            &hex,
            &hex.to_uppercase(),
            url.as_str(),
            user.as_str(),
            &json,
            &ascii,
        ] {
            let redacted = redactor.text(text);
            assert!(
                redacted.contains(MARK) && !redacted.contains("s3cr"),
                "{text}: {redacted}"
            );
            assert!(
                redacted.len() <= text.len().max(MARK.len() + 16),
                "{text}: {redacted}"
            );
        }
        for around in ["", "u", "us", "user:", "some:user:"] {
            let pair = format!("{around}{secret}{around}");
            for text in [
                BASE64_STANDARD.encode(&pair),
                BASE64_URL_SAFE.encode(&pair),
                BASE64_URL_SAFE_NO_PAD.encode(&pair),
                BASE64_STANDARD
                    .encode(&pair)
                    .replace('+', "%2B")
                    .replace('/', "%2f"),
            ] {
                let redacted = redactor.text(&text);
                let left = redacted.replace(MARK, "").len();
                assert!(
                    redacted.contains(MARK) && left <= 4 * around.len() + 4,
                    "{text}: {redacted}"
                );
            }
        }
    }

    #[test]
    fn what_cannot_be_searched_is_redacted_as_a_whole() {
        let mut redactor = knows(&["hunter2"]);
        let mut text = "hunter2".to_owned();
        for layer in 0..2 * MAX_LAYERS {
            let redacted = redactor.text(&text);
            assert_eq!(redacted, MARK, "{layer} layers");
            text = text
                .bytes()
                .map(|byte| match byte {
                    b'a'..=b'z' | b'%' => format!("%{byte:02X}"),
                    _ => char::from(byte).to_string(),
                })
                .collect();
        }
        redactor.is_incomplete = true;
        assert_eq!(redactor.text("harmless"), MARK);
        assert_eq!(redactor.text(""), "");
        let value = Value::from_json(&serde_json::json!(["harmless", 1, null]));
        let redacted = redactor.value(&value).unwrap();
        assert_eq!(redacted.to_json(), serde_json::json!([MARK, 1, null]));
        let mut other = Redactor::default();
        other.join(&redactor);
        assert_eq!(other.text("harmless"), MARK);
    }

    #[test]
    fn all_of_a_long_secret_in_base64_is_redacted() {
        let secret = "long secret ".repeat(4000);
        let mut hexadecimal = String::new();
        for byte in secret.bytes() {
            write!(hexadecimal, "{byte:02x}").unwrap();
        }
        let redactor = knows(&[&secret]);
        for text in [
            BASE64_STANDARD.encode(&secret),
            BASE64_STANDARD.encode(format!("u:{secret}")),
            hexadecimal,
        ] {
            let redacted = redactor.text(&text);
            assert!(redacted.len() < MARK.len() + 16, "{}", redacted.len());
        }
    }

    #[test]
    fn what_is_no_secret_stays_as_it_is() {
        let redactor = knows(&["hunter2", "48151623"]);
        for text in [
            "",
            "hunter",
            "Hunter2",
            "100% of \\u0068unter3 + %zz",
            "aHVudGVy",
        ] {
            assert!(matches!(redactor.text(text), Cow::Borrowed(_)), "{text}");
        }
        assert!(redactor.value(&Value::Int(48_151_624)).is_none());
        assert!(matches!(
            Redactor::default().text("hunter2"),
            Cow::Borrowed(_)
        ));
        assert!(!Redactor::default().add("abc") && Redactor::default().add("äöüß"));
    }

    #[test]
    fn values_are_searched_at_every_depth() {
        let redactor = knows(&["hunter2", "48151623"]);
        let json = serde_json::json!({"a": ["x hunter2 hunter2", {"hunter2": 48_151_623}], "n": 1, "b": null});
        let expected =
            serde_json::json!({"a": [format!("x {MARK} {MARK}"), {MARK: MARK}], "n": 1, "b": null});
        assert_eq!(
            redactor.value(&Value::from_json(&json)).unwrap().to_json(),
            expected
        );
        let mut changed = json;
        redactor.json(&mut changed);
        assert_eq!(changed, expected);
        let bytes = Value::Bytes(b"\xffhunter2\xfe".as_slice().into());
        assert!(
            matches!(redactor.value(&bytes), Some(Value::Bytes(redacted)) if &*redacted == b"\xff[redacted]\xfe")
        );
    }

    #[test]
    fn f4_what_is_kept_for_a_long_secret_is_bounded() {
        let long = |letter: &str, length: usize| format!("long{}", letter.repeat(length));
        let secrets = [long("a", 10_000), long("ab", 500_000), long("b", 500_000)];
        let redactor = knows(&secrets.each_ref().map(String::as_str));
        let memory = redactor
            .searches
            .iter()
            .map(|one| one.automaton.memory_usage());
        assert!(memory.sum::<usize>() < 200_000);
        for secret in &secrets {
            let text = format!("<{secret}> and {secret}!");
            assert_eq!(redactor.text(&text), format!("<{MARK}> and {MARK}!"));
            // The beginning of a secret also reveals part of it.
            let cut = format!("<{}…", secret.get(..9000).unwrap());
            assert_eq!(redactor.text(&cut), format!("<{MARK}…"));
        }
        let text = "long".repeat(200_000);
        assert!(matches!(redactor.text(&text), Cow::Borrowed(_)));
    }

    #[test]
    fn f11_a_secret_is_found_below_several_layers() {
        let secret = "p/+ä \"w\"=s3cr%t";
        let redactor = knows(&[secret]);
        let json = |text: &str| serde_json::to_string(text).unwrap();
        let percent = |text: &str| {
            text.bytes()
                .fold(String::new(), |text, byte| format!("{text}%{byte:02X}"))
        };
        let wrapped = |text: &str, end: &str| {
            let base64 = BASE64_STANDARD.encode(text);
            let lines = base64
                .as_bytes()
                .chunks(8)
                .map(|line| std::str::from_utf8(line).unwrap());
            lines.collect::<Vec<_>>().join(end)
        };
        for text in [
            json(&json(secret)),
            json(&json(&json(&json(secret)))),
            percent(&percent(secret)),
            percent(&percent(&percent(secret))),
            json(&percent(secret)),
            percent(&json(secret)),
            wrapped(secret, "\n"),
            wrapped(secret, "\r\n  "),
            json(&wrapped(secret, "\r\n")),
            json(&json(&wrapped(secret, "\n"))),
        ] {
            let encoded = json(&text);
            for text in [text, encoded] {
                let redacted = redactor.text(&text);
                let left = redacted.replace(MARK, "");
                let letters = left.chars().filter(char::is_ascii_alphanumeric).count();
                assert!(redacted.contains(MARK) && letters < 8, "{text}: {redacted}");
            }
        }
    }

    #[test]
    fn a_secret_is_found_in_two_encodings() {
        let secret = "abCD+/12efGH xyz+99==";
        let redactor = knows(&[secret]);
        let base64 = |text: &str| BASE64_STANDARD.encode(text);
        let url_safe = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
        let hex = |text: &str| {
            let digits = text.bytes().map(|byte| format!("{byte:02x}"));
            digits.collect::<String>()
        };
        let percent = |text: &str| {
            let all = percent_encoding::NON_ALPHANUMERIC;
            percent_encoding::utf8_percent_encode(text, all).to_string()
        };
        let form = |text: &str| {
            let parts = url::form_urlencoded::byte_serialize(text.as_bytes());
            parts.collect::<String>()
        };
        for before in ["", "c", "id", "client:"] {
            let within = |text: &str| format!("{before}{text}");
            for text in [
                base64(&within(&percent(secret))),
                base64(&within(&form(secret))),
                url_safe(&within(&percent(secret))),
                base64(&within(&base64(secret))),
                base64(&within(&base64(&within(secret)))),
                base64(&within(&url_safe(&within(secret)))),
                base64(&within(&hex(secret))),
                hex(&within(&percent(secret))),
                hex(&within(&base64(&within(secret)))),
                hex(&within(&hex(secret))).to_uppercase(),
                percent(&base64(&within(&percent(secret)))),
            ] {
                let redacted = redactor.text(&text);
                let left = redacted.replace(MARK, "").len();
                // The beginning may be of the user name, the end of the padding.
                assert!(
                    redacted.contains(MARK) && left <= 4 * before.len() + 16,
                    "{text}: {redacted}"
                );
            }
        }
        let long = "long secret ".repeat(4000);
        let redacted = knows(&[&long]).text(&base64(&base64(&long))).into_owned();
        assert!(redacted.len() < MARK.len() + 16, "{}", redacted.len());
    }

    #[test]
    fn many_secrets_are_found_each() {
        let secrets: Vec<String> = (0..300)
            .map(|number| format!("secret-{number:03}-x"))
            .collect();
        let redactor = knows(&secrets.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(redactor.searches.len() < 12);
        for secret in &secrets {
            assert_eq!(redactor.text(&format!("<{secret}>")), format!("<{MARK}>"));
        }
    }

    proptest! {
        #[test]
        fn nothing_of_a_secret_is_left_in_base64(secret in "[ -~]{8,40}", before in "[ -~]{0,9}", behind in "[ -~]{0,9}") {
            let redactor = knows(&[&secret]);
            let text = BASE64_STANDARD.encode(format!("{before}{secret}{behind}"));
            let redacted = redactor.text(&text).into_owned();
            let (head, tail) = redacted.split_once(MARK).unwrap();
            prop_assert!(head.len() <= 8 * before.len() / 6 && tail.trim_end_matches('=').len() <= (8 * behind.len()).div_ceil(6));
        }
    }
}
