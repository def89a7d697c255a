//! Shortens values to a size limit. The result is valid JSON, and every shortened position is listed.
//!
//! Lists lose their last elements, objects their last fields, and texts their middle. Siblings share the available
//! room: small ones stay whole, and large ones get equal shares. A list is shortened to what fits, and its first four
//! elements share the room, so that one large element does not hide the others.

use std::fmt;

use planrun_lang::value::shortened;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::json::{length, text, text_length, width};
use super::{DEFAULT_RESULT_TOKENS, MAX_RESULT_TOKENS};
use crate::tokens::bytes;

/// Minimum limit, in tokens. With less, a shortened value cannot be expressed.
const MIN_TOKENS: usize = 100;
/// Number of elements of a list that share its room.
const SHARING: usize = 4;
/// Replaces the middle of a text.
const GAP: &str = "…";
/// Size in bytes of the text around the list of cuts: `,"cut":[]`.
const LIST_BYTES: usize = 9;
/// Size in bytes of the text around the value of a part: `{"value":,"next":,"of":}`, and two numbers.
const PART_BYTES: usize = 26 + 2 * 20;
/// Size in bytes of the text around a cut with a preceding comma: `,{"path":"","kept":,"of":}`; and of `,"from":` for a
/// text.
const CUT_BYTES: usize = 26;
const FROM_BYTES: usize = 8;

/// A value within a size limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Shortened {
    pub value: Json,
    /// The positions at which something was left out, in the order of the value; empty if the value is whole.
    pub cuts: Vec<Cut>,
}

/// A position at which something was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cut {
    /// A JSON Pointer into the whole value.
    pub path: String,
    /// Number of elements, fields or characters that are kept.
    pub kept: usize,
    /// Total number of elements, fields or characters.
    pub of: usize,
    /// The index of the first character that is left out, for a text that has lost its middle; in a part, the index of
    /// a skipped element.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<usize>,
}

/// A part of a value, and where to continue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    pub value: Json,
    /// The index to continue from; `None` at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<usize>,
    /// Total number of elements, fields or characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<usize>,
    /// The cuts within the part.
    #[serde(rename = "cut", skip_serializing_if = "Vec::is_empty")]
    pub cuts: Vec<Cut>,
}

/// The error for a path that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is nothing at `{path}`; {known}")]
pub struct PathNotFound {
    path: String,
    known: String,
}

/// Shortens a value to at most `max_tokens` tokens, including the list of cuts. The default is 4,000; the limit is
/// clamped to the range from 100 to 10,000. The result is deterministic, and the time is linear in the size of the
/// value.
pub fn shorten(value: &Json, max_tokens: Option<usize>) -> Shortened {
    let room = bytes(limit(max_tokens));
    if length(value, room).is_some() {
        return Shortened {
            value: value.clone(),
            cuts: Vec::new(),
        };
    }
    let mut cuts = Vec::new();
    let Some(value) = fit(value, "", room - LIST_BYTES, &mut cuts) else {
        // The value is a single number with thousands of digits.
        let of = length(value, usize::MAX).unwrap_or_default();
        cuts.push(Cut::nothing_of("", of));
        return Shortened {
            value: Json::Null,
            cuts,
        };
    };
    Shortened { value, cuts }
}

impl Cut {
    fn nothing_of(path: &str, of: usize) -> Self {
        Self {
            path: path.to_owned(),
            kept: 0,
            of,
            from: None,
        }
    }
}

impl Shortened {
    /// Adds the value under a name and, if something was left out, the list of cuts to the fields of a report.
    pub(super) fn into_fields(self, name: &str, fields: &mut Map<String, Json>) {
        fields.insert(name.to_owned(), self.value);
        if !self.cuts.is_empty() {
            let cuts = self
                .cuts
                .iter()
                .map(|cut| serde_json::to_value(cut).unwrap_or_default());
            fields.insert("cut".to_owned(), cuts.collect());
        }
    }
}

/// Returns the part of a value at a JSON Pointer, starting at its element, field or character `from`, that fits into
/// `max_tokens` tokens, and where to continue. Elements and fields after the first are whole; texts continue without a
/// gap. Fails with [`PathNotFound`] if the path does not exist.
pub fn at(
    value: &Json,
    path: &str,
    from: usize,
    max_tokens: Option<usize>,
) -> Result<Part, PathNotFound> {
    let found = value
        .pointer(path)
        .ok_or_else(|| PathNotFound::at(value, path))?;
    let mut part = Part {
        value: Json::Null,
        next: None,
        of: None,
        cuts: Vec::new(),
    };
    let room = bytes(limit(max_tokens)) - PART_BYTES - LIST_BYTES;
    let (kept, of) = match found {
        Json::String(text) => {
            let (kept, of) = (head(text.chars().skip(from), room), text.chars().count());
            let count = kept.chars().count();
            part.value = kept.into();
            (count, of)
        }
        Json::Array(elements) => {
            let rest = elements.get(from..).unwrap_or_default();
            let kept = fit_list(rest, (path, from), room, &mut part.cuts).unwrap_or_default();
            let count = kept.len();
            part.value = kept.into();
            (count, elements.len())
        }
        Json::Object(fields) => {
            let rest: Vec<(&String, &Json)> = fields.iter().skip(from).take(room).collect();
            let kept = fit_fields(&rest, path, room, &mut part.cuts).unwrap_or_default();
            let count = kept.len();
            part.value = kept.into();
            (count, fields.len())
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {
            part.value = found.clone();
            return Ok(part);
        }
    };
    part.of = Some(of);
    if kept == 0 && from < of {
        // An element that does not fit at all, such as a number with thousands of digits, is skipped.
        let from = Some(from);
        part.cuts = vec![Cut {
            from,
            ..Cut::nothing_of(path, 1)
        }];
    }
    let next = from.saturating_add(kept.max(1));
    part.next = (next < of).then_some(next);
    Ok(part)
}

/// The JSON of the part, with invisible characters escaped.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(self))
    }
}

impl PathNotFound {
    /// Creates the error with a description of the nearest existing parent of the path.
    fn at(value: &Json, path: &str) -> Self {
        let (mut around, mut found) = (path, None);
        while let (None, Some((outer, _))) = (found, around.rsplit_once('/')) {
            (around, found) = (outer, value.pointer(outer));
        }
        let known = match found {
            Some(Json::Object(fields)) => {
                let names: Vec<&str> = fields.keys().map(String::as_str).take(10).collect();
                format!("`{around}` has the fields {}", names.join(", "))
            }
            Some(Json::Array(elements)) => format!("`{around}` has {} elements", elements.len()),
            Some(_) => format!("`{around}` has no parts"),
            None => "a path is a JSON Pointer such as /tickets/0/title".to_owned(),
        };
        Self {
            path: shortened(path, 100),
            known: shortened(&known, 300),
        }
    }
}

fn limit(max_tokens: Option<usize>) -> usize {
    let requested = max_tokens.unwrap_or(DEFAULT_RESULT_TOKENS);
    requested.clamp(MIN_TOKENS, MAX_RESULT_TOKENS)
}

/// Returns the maximum size in bytes of the entry for a cut of this value in the list of cuts.
fn listed(value: &Json, path: &str) -> usize {
    let path: usize = path.chars().map(width).sum();
    let digits = |count: usize| {
        count
            .checked_ilog10()
            .map_or(1, |digits| digits as usize + 1)
    };
    CUT_BYTES
        + path
        + match value {
            Json::String(text) => FROM_BYTES + 3 * digits(text.len()),
            Json::Array(elements) => 2 * digits(elements.len()),
            Json::Object(fields) => 2 * digits(fields.len()),
            Json::Null | Json::Bool(_) | Json::Number(_) => 0,
        }
}

/// Shortens a value to at most `room` bytes, including its cuts; returns `None` if that is not possible.
fn fit(value: &Json, path: &str, room: usize, cuts: &mut Vec<Cut>) -> Option<Json> {
    if length(value, room).is_some() {
        return Some(value.clone());
    }
    let (place, room) = (cuts.len(), room.checked_sub(listed(value, path))?);
    match value {
        Json::String(text) => fit_text(text, path, room, cuts),
        Json::Array(elements) => {
            let kept = fit_list(elements, (path, 0), room, cuts)?;
            insert(cuts, place, path, (kept.len(), elements.len()));
            Some(kept.into())
        }
        Json::Object(fields) => {
            // Each field takes at least five bytes, so no more of them can fit.
            let all: Vec<(&String, &Json)> = fields.iter().take(room).collect();
            let kept = fit_fields(&all, path, room, cuts)?;
            insert(cuts, place, path, (kept.len(), fields.len()));
            Some(kept.into())
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => None,
    }
}

/// Inserts the cut of a value before those within it, if something was left out.
fn insert(cuts: &mut Vec<Cut>, place: usize, path: &str, (kept, of): (usize, usize)) {
    if kept < of {
        let path = path.to_owned();
        let from = None;
        cuts.insert(
            place,
            Cut {
                path,
                kept,
                of,
                from,
            },
        );
    }
}

/// Returns a text without its middle, and adds its cut.
fn fit_text(text: &str, path: &str, room: usize, cuts: &mut Vec<Cut>) -> Option<Json> {
    let room = room.checked_sub(GAP.len() + 2)?;
    let begin = head(text.chars(), room.div_ceil(2) + 2);
    let used: usize = begin.chars().map(width).sum();
    let end: String = head(text.chars().rev(), room - used + 2)
        .chars()
        .rev()
        .collect();
    let kept = begin.chars().count();
    cuts.push(Cut {
        path: path.to_owned(),
        kept: kept + end.chars().count(),
        of: text.chars().count(),
        from: Some(kept),
    });
    Some(format!("{begin}{GAP}{end}").into())
}

/// Returns the first characters that fit into `room` bytes with quotes around them.
fn head(characters: impl Iterator<Item = char>, room: usize) -> String {
    let mut used = 2;
    let fits = |character: &char| {
        used += width(*character);
        used <= room
    };
    characters.take_while(fits).collect()
}

/// A value that shares room with its siblings.
struct Share {
    /// Size in bytes of the text around it: its name and a comma.
    around: usize,
    /// Its minimum size, in bytes.
    least: usize,
    /// Its whole size in bytes, or more than the room if it is larger than that.
    whole: usize,
}

impl Share {
    fn new(value: &Json, path: &str, around: usize, room: usize) -> Self {
        let whole = length(value, room).unwrap_or(room + 1);
        let least = match value {
            // An empty value is whole.
            Json::String(_) => listed(value, path) + 2 + GAP.len(),
            Json::Array(_) | Json::Object(_) => listed(value, path) + 2,
            Json::Null | Json::Bool(_) | Json::Number(_) => whole,
        };
        Self {
            around,
            least: least.min(whole),
            whole,
        }
    }
}

/// Returns the number of values that fit, counted from the first, and the size in bytes up to which values stay whole;
/// larger ones are shortened to it.
fn level(shares: &[Share], room: usize) -> (usize, usize) {
    let mut left = room;
    let fits = |share: &&Share| match left.checked_sub(share.around + share.least) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    let count = shares.iter().take_while(fits).count();
    let displayed = shares.get(..count).unwrap_or_default();
    let taken = |level: usize| -> usize {
        let each = displayed
            .iter()
            .map(|share| share.around + level.clamp(share.least, share.whole));
        each.sum()
    };
    let (mut low, mut high) = (0, room);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if taken(middle) <= room {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    (count, low)
}

/// Returns the first fields that fit.
fn fit_fields(
    fields: &[(&String, &Json)],
    path: &str,
    room: usize,
    cuts: &mut Vec<Cut>,
) -> Option<Map<String, Json>> {
    let room = room.checked_sub(2)?;
    let inner: Vec<String> = fields
        .iter()
        .map(|(name, _)| format!("{path}/{}", pointed(name)))
        .collect();
    let shares = fields.iter().zip(&inner);
    let shares: Vec<Share> = shares
        .map(|((name, value), path)| {
            let around = text_length(name, room).map_or(room + 1, |name| name + 2);
            Share::new(value, path, around, room)
        })
        .collect();
    let (count, level) = level(&shares, room);
    let mut kept = Map::new();
    for (((name, value), path), share) in fields.iter().zip(&inner).zip(&shares).take(count) {
        let value = fit(value, path, level.clamp(share.least, share.whole), cuts)?;
        kept.insert((*name).clone(), value);
    }
    Some(kept)
}

/// Returns the first elements that fit. The path comes with the index of the first element.
fn fit_list(
    elements: &[Json],
    (path, first): (&str, usize),
    room: usize,
    cuts: &mut Vec<Cut>,
) -> Option<Vec<Json>> {
    let room = room.checked_sub(2)?;
    let paths: Vec<String> = (first..)
        .take(SHARING)
        .map(|index| format!("{path}/{index}"))
        .collect();
    let sharing = elements.iter().zip(&paths);
    let shares: Vec<Share> = sharing
        .clone()
        .map(|(value, path)| Share::new(value, path, 1, room))
        .collect();
    let (count, level) = level(&shares, room);
    let (mut kept, mut left) = (Vec::new(), room);
    for ((value, path), share) in sharing.zip(&shares).take(count) {
        let size = level.clamp(share.least, share.whole);
        kept.push(fit(value, path, size, cuts)?);
        left = left.saturating_sub(size + 1);
    }
    if count == SHARING {
        for value in elements.iter().skip(SHARING) {
            let Some(size) = length(value, left.saturating_sub(1)) else {
                break;
            };
            left -= size + 1;
            kept.push(value.clone());
        }
    }
    Some(kept)
}

/// Escapes a name for a JSON Pointer.
fn pointed(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::tokens::tokens;

    /// Values of every kind, some of them large, deeply nested, or with characters that are escaped.
    fn values() -> impl Strategy<Value = Json> {
        let words = prop_oneof![
            "[a-z]{0,12}",
            "[\\x00-\\x7f]{0,40}",
            "[a-z查询天气\u{202e}\u{e0041}\"\\\\]{0,3000}",
            ".{0,200}",
        ];
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            (1..2000_usize).prop_map(|digits| serde_json::from_str(&"7".repeat(digits)).unwrap()),
            words.prop_map(Json::from),
        ];
        leaf.prop_recursive(5, 200, 12, |inner| {
            let names = prop_oneof!["[a-z/~]{0,8}", "[a-z\u{7}\"]{0,600}"];
            prop_oneof![
                vec(inner.clone(), 0..40).prop_map(Json::from),
                vec((names, inner), 0..12)
                    .prop_map(|fields| Json::Object(fields.into_iter().collect())),
            ]
        })
    }

    /// Returns the JSON of the value in a report, without its name.
    fn rendered(shortened: &Shortened) -> String {
        let mut fields = Map::new();
        shortened.clone().into_fields("", &mut fields);
        let text = text(&fields);
        text.strip_prefix("{\"\":")
            .unwrap()
            .strip_suffix('}')
            .unwrap()
            .to_owned()
    }

    /// Compares a shortened value with the whole one, and returns the number of cuts that it has met.
    fn compare(whole: &Json, kept_value: &Json, path: &str, cuts: &[Cut]) -> usize {
        let listed: Vec<&Cut> = cuts.iter().filter(|cut| cut.path == path).collect();
        assert!(listed.len() <= 1, "{path} is listed twice");
        let of = listed.first().map(|cut| (cut.kept, cut.of, cut.from));
        let inner = |name: &str, whole: &Json, kept_value: &Json| {
            compare(
                whole,
                kept_value,
                &format!("{path}/{}", pointed(name)),
                cuts,
            )
        };
        let inside: usize = match (whole, kept_value) {
            (Json::Array(whole), Json::Array(kept_value)) => {
                assert_eq!(
                    of.map_or((whole.len(), whole.len()), |of| (of.0, of.1)),
                    (kept_value.len(), whole.len())
                );
                let pairs = whole.iter().zip(kept_value).enumerate();
                pairs
                    .map(|(index, (whole, kept_value))| {
                        inner(&index.to_string(), whole, kept_value)
                    })
                    .sum()
            }
            (Json::Object(whole), Json::Object(kept_value)) => {
                assert_eq!(
                    of.map_or((whole.len(), whole.len()), |of| (of.0, of.1)),
                    (kept_value.len(), whole.len())
                );
                let pairs = whole.iter().zip(kept_value);
                let same =
                    |((name, whole), (other, kept_value)): ((&String, &Json), (&String, &Json))| {
                        assert_eq!(name, other);
                        inner(name, whole, kept_value)
                    };
                pairs.map(same).sum()
            }
            (Json::String(whole), Json::String(kept_value)) if of.is_some() => {
                let (kept, all, from) = of.unwrap();
                let from = from.unwrap();
                let (whole, kept_value): (Vec<char>, Vec<char>) =
                    (whole.chars().collect(), kept_value.chars().collect());
                assert_eq!((all, kept + 1), (whole.len(), kept_value.len()));
                assert!(kept < all);
                assert_eq!(kept_value[..from], whole[..from]);
                assert_eq!(kept_value[from + 1..], whole[all - (kept - from)..]);
                0
            }
            (whole, kept_value) => {
                assert_eq!((whole, of), (kept_value, None), "{path}");
                0
            }
        };
        inside + listed.len()
    }

    proptest! {
        #[test]
        fn what_is_shown_is_within_the_bound_and_every_cut_is_listed(value in values(), max in 0..3000_usize) {
            let shortened = shorten(&value, Some(max));
            prop_assert_eq!(&shortened, &shorten(&value, Some(max)));
            let rendered = rendered(&shortened);
            prop_assert!(tokens(&rendered) <= max.max(MIN_TOKENS), "{} of {max}: {rendered}", tokens(&rendered));
            let reply = format!("{{\"\":{rendered}}}");
            let read: Json = serde_json::from_str(&reply).unwrap();
            prop_assert_eq!(&read[""], &shortened.value);
            if length(&value, bytes(limit(Some(max)))).is_some() {
                prop_assert_eq!((&shortened.value, shortened.cuts.len()), (&value, 0));
            } else {
                prop_assert!(!shortened.cuts.is_empty());
                if value.is_number() {
                    prop_assert_eq!(&shortened.value, &Json::Null);
                } else {
                    prop_assert_eq!(compare(&value, &shortened.value, "", &shortened.cuts), shortened.cuts.len());
                }
            }
        }

        #[test]
        fn who_goes_on_sees_all_of_it(value in values(), max in 100..400_usize) {
            let (mut from, mut parts) = (0, Vec::new());
            loop {
                let part = at(&value, "", from, Some(max)).unwrap();
                if matches!(value, Json::String(_) | Json::Array(_) | Json::Object(_)) {
                    prop_assert!(tokens(&part.to_string()) <= max, "{part}");
                }
                let next = part.next;
                parts.push(part);
                match next {
                    Some(next) => { prop_assert!(next > from); from = next; }
                    None => break,
                }
            }
            if let Json::String(whole) = &value {
                let joined: String = parts.iter().map(|part| part.value.as_str().unwrap()).collect();
                prop_assert_eq!(&joined, whole);
            }
        }
    }

    #[test]
    fn what_is_small_beside_what_is_large_stays_whole() {
        let ticket =
            |id: usize| json!({ "id": id, "title": "A printer", "body": "x".repeat(id * 900) });
        let value = json!({ "total": 40, "tickets": (0..40).map(ticket).collect::<Vec<_>>(), "next": null });
        let shortened = shorten(&value, Some(500));
        assert_eq!(
            (&shortened.value["total"], &shortened.value["next"]),
            (&json!(40), &Json::Null)
        );
        let tickets = shortened.value["tickets"].as_array().unwrap();
        assert_eq!(
            (tickets.len(), &tickets[3]["title"]),
            (4, &json!("A printer"))
        );
        let paths: Vec<&str> = shortened.cuts.iter().map(|cut| cut.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "/tickets",
                "/tickets/1/body",
                "/tickets/2/body",
                "/tickets/3/body"
            ]
        );
        assert_eq!((shortened.cuts[0].kept, shortened.cuts[0].of), (4, 40));
        let used = tokens(&rendered(&shortened));
        assert!((350..=500).contains(&used), "{used} tokens");
    }

    #[test]
    fn a_part_tells_where_to_go_on_and_what_is_there() {
        let value = json!({ "tickets": (0..1000).collect::<Vec<_>>(), "a/b": { "text": "word ".repeat(500) } });
        let part = at(&value, "/tickets", 990, None).unwrap();
        assert_eq!(
            (part.next, part.value),
            (
                None,
                json!([990, 991, 992, 993, 994, 995, 996, 997, 998, 999])
            )
        );
        let part = at(&value, "/a~1b/text", 5, Some(100)).unwrap();
        assert!(part.value.as_str().unwrap().starts_with("word word"));
        assert_eq!(part.of, Some(2500));
        let nowhere = |path: &str| at(&value, path, 0, None).unwrap_err().to_string();
        assert_eq!(
            nowhere("/ticket/1"),
            "there is nothing at `/ticket/1`; `` has the fields tickets, a/b"
        );
        assert_eq!(
            nowhere("/tickets/1000"),
            "there is nothing at `/tickets/1000`; `/tickets` has 1000 elements"
        );
        assert_eq!(
            nowhere("/tickets/1/x"),
            "there is nothing at `/tickets/1/x`; `/tickets/1` has no parts"
        );
        assert_eq!(
            nowhere("tickets"),
            "there is nothing at `tickets`; a path is a JSON Pointer such as /tickets/0/title"
        );
    }
}
