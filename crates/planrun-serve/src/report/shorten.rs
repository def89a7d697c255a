//! Values within a bound: JSON stays JSON, and every place that is shortened is listed.
//!
//! Lists lose their last elements and objects their last fields, texts their middle. What stands beside each other shares
//! the room: what is small stays whole, and what is large has as much as any other large one. A list is shortened to what
//! fits, and of its first four elements each has its share, so that one large element does not hide the others.

use planrun_lang::value::shortened;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::json::{length, width};
use super::{DEFAULT_RESULT_TOKENS, MAX_RESULT_TOKENS};
use crate::tokens::bytes;

/// In less, no shortened value can be told.
const MIN_TOKENS: usize = 100;
/// The elements of a list that share the room for it.
const SHARING: usize = 4;
/// What stands for the middle of a text.
const GAP: &str = "…";
/// What stands around the list of cuts: `,"cut":[]`.
const LIST_BYTES: usize = 9;
/// What stands around the value of a part: `{"value":,"next":,"of":}`, and two numbers.
const PART_BYTES: usize = 26 + 2 * 20;
/// What stands around a cut beside its path, at most, with the comma in front: `,{"path":"","kept":,"of":,"from":}`, and three numbers.
const CUT_BYTES: usize = 34 + 3 * 20;

/// A value within a bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Shortened {
    pub value: Json,
    /// Where something was left out, in the order of the value; nothing where it is whole.
    pub cuts: Vec<Cut>,
}

/// A place at which something was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cut {
    /// A JSON Pointer into the whole value.
    pub path: String,
    /// How many elements, fields or characters are shown.
    pub kept: usize,
    /// How many there are.
    pub of: usize,
    /// The first character that is not shown, of a text that has lost its middle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<usize>,
}

/// A part of a value, and where to go on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    pub value: Json,
    /// Where to go on from; nothing where this is the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<usize>,
    /// How many elements, fields or characters there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<usize>,
    /// What was left out within the part.
    #[serde(rename = "cut", skip_serializing_if = "Vec::is_empty")]
    pub cuts: Vec<Cut>,
}

/// There is nothing at a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is nothing at `{path}`; {known}")]
pub struct NoSuchPlace {
    path: String,
    known: String,
}

/// The value in at most so many tokens, the list of cuts included: 4,000 where nothing is said, and never more than 10,000 or
/// less than 100. The same value is shortened in the same way each time, in a time that is linear in its size.
#[must_use]
pub fn shorten(value: &Json, max_tokens: Option<usize>) -> Shortened {
    let room = bytes(limit(max_tokens));
    if length(value, room).is_some() {
        return Shortened {
            value: value.clone(),
            cuts: Vec::new(),
        };
    }
    let mut cuts = Vec::new();
    let fitted = fit(value, "", room - LIST_BYTES, &mut cuts);
    Shortened {
        // Nothing at all fits where the value is one number of thousands of digits.
        value: fitted.unwrap_or_default(),
        cuts,
    }
}

impl Shortened {
    /// The value under a name and, where something was left out, the list of cuts, as fields of a report.
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

/// What stands at a JSON Pointer, from its element, field or character `from` on, as much as fits into so many tokens, and
/// where to go on. Elements and fields beyond the first are whole; texts go on without a gap.
///
/// # Errors
/// [`NoSuchPlace`] where nothing stands there.
pub fn at(
    value: &Json,
    path: &str,
    from: usize,
    max_tokens: Option<usize>,
) -> Result<Part, NoSuchPlace> {
    let found = value
        .pointer(path)
        .ok_or_else(|| NoSuchPlace::at(value, path))?;
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
    // What cannot be shown at all, such as a number of thousands of digits, is passed over.
    let next = from.saturating_add(kept.max(1));
    part.next = (next < of).then_some(next);
    Ok(part)
}

impl NoSuchPlace {
    /// The nearest place around that is there, and what it has.
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
    let wanted = max_tokens.unwrap_or(DEFAULT_RESULT_TOKENS);
    wanted.clamp(MIN_TOKENS, MAX_RESULT_TOKENS)
}

/// What a cut at a path takes in the list.
fn listed(path: &str) -> usize {
    CUT_BYTES + path.chars().map(width).sum::<usize>()
}

/// A value in at most so many bytes, the cuts in it included; nothing where that cannot be.
fn fit(value: &Json, path: &str, room: usize, cuts: &mut Vec<Cut>) -> Option<Json> {
    if length(value, room).is_some() {
        return Some(value.clone());
    }
    match value {
        Json::String(text) => fit_text(text, path, room, cuts),
        Json::Array(elements) => {
            let place = cuts.len();
            let room = room.checked_sub(listed(path))?;
            let kept = fit_list(elements, (path, 0), room, cuts)?;
            insert(cuts, place, path, (kept.len(), elements.len()));
            Some(kept.into())
        }
        Json::Object(fields) => {
            let place = cuts.len();
            let room = room.checked_sub(listed(path))?;
            // Each takes five bytes at least, so that no more of them can be shown.
            let all: Vec<(&String, &Json)> = fields.iter().take(room).collect();
            let kept = fit_fields(&all, path, room, cuts)?;
            insert(cuts, place, path, (kept.len(), fields.len()));
            Some(kept.into())
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => None,
    }
}

/// Lists a cut before those within it, where something was left out.
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

/// A text without its middle.
fn fit_text(text: &str, path: &str, room: usize, cuts: &mut Vec<Cut>) -> Option<Json> {
    let room = room.checked_sub(listed(path) + GAP.len() + 2)?;
    let begin = head(text.chars(), room.div_ceil(2) + 2);
    let used: usize = begin.chars().map(width).sum();
    let end: String = head(text.chars().rev(), room - used + 2)
        .chars()
        .rev()
        .collect();
    let shown = begin.chars().count();
    cuts.push(Cut {
        path: path.to_owned(),
        kept: shown + end.chars().count(),
        of: text.chars().count(),
        from: Some(shown),
    });
    Some(format!("{begin}{GAP}{end}").into())
}

/// The first characters that fit into so many bytes, with the quotes around them.
fn head(characters: impl Iterator<Item = char>, room: usize) -> String {
    let mut used = 2;
    let fits = |character: &char| {
        used += width(*character);
        used <= room
    };
    characters.take_while(fits).collect()
}

/// One of those that share room.
struct Share {
    /// What stands around it: its name, its comma.
    around: usize,
    /// What it takes at least.
    least: usize,
    /// What it takes when it is whole, as far as that matters.
    whole: usize,
}

impl Share {
    fn new(value: &Json, path: &str, around: usize, room: usize) -> Self {
        let whole = length(value, room).unwrap_or(room + 1);
        let least = match value {
            // What is empty is whole.
            Json::String(_) => listed(path) + 2 + GAP.len(),
            Json::Array(_) | Json::Object(_) => listed(path) + 2,
            Json::Null | Json::Bool(_) | Json::Number(_) => whole,
        };
        Self {
            around,
            least: least.min(whole),
            whole,
        }
    }
}

/// How many of them can be shown, the first ones, and up to which size: what is smaller is whole.
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
    let shown = shares.get(..count).unwrap_or_default();
    let taken = |level: usize| -> usize {
        let each = shown
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

/// The fields that fit, the first ones.
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
            let around = length(name, room).map_or(room + 1, |name| name + 2);
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

/// The elements that fit, the first ones; the number of the first is told with the path.
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

/// A name as a part of a JSON Pointer.
fn pointed(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
