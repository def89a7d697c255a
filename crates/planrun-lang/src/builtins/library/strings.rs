//! The string extension functions. Positions count characters, from 0.

use super::super::function::{Example, Form, Function, Given, Overload, Shape};
use super::super::{Failure, FailureKind};
use crate::value::Value;

/// Maximum length of a string that `join` or `replace` returns, in bytes.
const MAX_BYTES: usize = 16 * 1024 * 1024;

pub(super) static FUNCTIONS: &[Function] = &[
    function!(Method "charAt", [(String, Int) -> String],
        "The character at a position; an empty string after the last one.",
        ["'plan'.charAt(1)" => "\"l\""], char_at, refuses: refuses_positions),
    function!(Method "indexOf", [(String, String) -> Int, (String, String, Int) -> Int],
        "The position of the first occurrence of a string, at or after a position; -1 if there is none.",
        ["'banana'.indexOf('na', 3)" => "4"], index_of, refuses: refuses_offset),
    function!(Method "lastIndexOf", [(String, String) -> Int, (String, String, Int) -> Int],
        "The position of the last occurrence of a string, at or before a position; -1 if there is none.",
        ["'banana'.lastIndexOf('na')" => "4"], last_index_of, refuses: refuses_offset),
    function!(Method "join", [([String]) -> String, ([String], String) -> String],
        "The strings of a list joined into one, with a separator between them.",
        ["['a', 'b'].join(', ')" => "\"a, b\""], join),
    function!(Method "lowerAscii", [(String) -> String],
        "A string with its letters A to Z in lower case.",
        ["'WZ Ä'.lowerAscii()" => "\"wz Ä\""],
        |arguments| mapped("lowerAscii", arguments, str::to_ascii_lowercase)),
    function!(Method "upperAscii", [(String) -> String],
        "A string with its letters a to z in upper case.",
        ["'wz ä'.upperAscii()" => "\"WZ ä\""],
        |arguments| mapped("upperAscii", arguments, str::to_ascii_uppercase)),
    function!(Method "replace",
        [(String, String, String) -> String, (String, String, String, Int) -> String],
        "A string with every occurrence of another one, or the first few, replaced.",
        ["'a-b-c'.replace('-', '+', 1)" => "\"a+b-c\""], replace),
    function!(Method "split", [(String, String) -> [String], (String, String, Int) -> [String]],
        "The parts of a string between separators, at most the given number of them.",
        ["'a,b,c'.split(',', 2)" => r#"["a","b,c"]"#], split),
    function!(Method "substring", [(String, Int) -> String, (String, Int, Int) -> String],
        "The characters from one position up to another or to the end.",
        ["'tacocat'.substring(4)" => "\"cat\""], substring, refuses: refuses_positions),
    function!(Method "trim", [(String) -> String], "A string without the white space around it.",
        ["'  a b '.trim()" => "\"a b\""],
        |arguments| mapped("trim", arguments, |text| text.trim().to_owned())),
    function!(Method "padStart", [(String, Int) -> String, (String, Int, String) -> String],
        "A string with spaces, or another string, put before it until it has the given number of characters.",
        ["'7'.padStart(2, '0')" => "\"07\"", "'abc'.padStart(2)" => "\"abc\""],
        |arguments| padded("padStart", arguments, |text, fill| format!("{fill}{text}")),
        refuses: refuses_width),
    function!(Method "padEnd", [(String, Int) -> String, (String, Int, String) -> String],
        "A string with spaces, or another string, put after it until it has the given number of characters.",
        ["'a'.padEnd(3) + '|'" => "\"a  |\"", "'1.'.padEnd(5, '-')" => "\"1.---\""],
        |arguments| padded("padEnd", arguments, |text, fill| format!("{text}{fill}")),
        refuses: refuses_width),
    function!(Method "reverse", [(String) -> String, ([T]) -> [T]],
        "The characters of a string or the elements of a list, last one first.",
        ["[1, 2].reverse()" => "[2,1]"], reverse),
    function!(strings "quote", [(String) -> String],
        "A string in quotes, with escapes for special characters.",
        ["strings.quote('a\\nb') == '\"a\\\\nb\"'" => "true"], quote),
];

fn char_at(arguments: &[Value]) -> Result<Value, Failure> {
    let [Value::String(text), Value::Int(index)] = arguments else {
        return Err(Failure::no_overload("charAt", arguments));
    };
    let start = byte_offset(text, *index)?;
    let character = text.get(start..).and_then(|rest| rest.chars().next());
    Ok(Value::from(character.map(String::from).unwrap_or_default()))
}

fn index_of(arguments: &[Value]) -> Result<Value, Failure> {
    let (text, part, offset) = match arguments {
        [Value::String(text), Value::String(part)] => (text, part, 0),
        [Value::String(text), Value::String(part), Value::Int(offset)] => (text, part, *offset),
        _ => return Err(Failure::no_overload("indexOf", arguments)),
    };
    if part.is_empty() {
        return Ok(Value::Int(offset));
    }
    // A position after the end finds nothing; only a negative position is an error.
    let Ok(start) = byte_offset(text, offset) else {
        return if offset < 0 {
            Err(out_of_range(offset))
        } else {
            Ok(Value::Int(-1))
        };
    };
    let rest = text.get(start..).unwrap_or("");
    let found = rest
        .find(&**part)
        .map(|place| offset + characters(rest.get(..place).unwrap_or("")));
    Ok(Value::Int(found.unwrap_or(-1)))
}

fn last_index_of(arguments: &[Value]) -> Result<Value, Failure> {
    let (text, part, offset) = match arguments {
        [Value::String(text), Value::String(part)] => (text, part, None),
        [Value::String(text), Value::String(part), Value::Int(offset)] => {
            (text, part, Some(*offset))
        }
        _ => return Err(Failure::no_overload("lastIndexOf", arguments)),
    };
    if part.is_empty() {
        return Ok(Value::Int(offset.unwrap_or_else(|| characters(text))));
    }
    let end = match offset {
        None => text.len(),
        Some(offset) if offset < 0 => return Err(out_of_range(offset)),
        Some(offset) if offset >= characters(text) => return Ok(Value::Int(-1)),
        Some(offset) => (byte_offset(text, offset)? + part.len()).min(text.len()),
    };
    let mut floor = end;
    while !text.is_char_boundary(floor) {
        floor -= 1;
    }
    let before = text.get(..floor).unwrap_or("");
    let found = before
        .rfind(&**part)
        .map(|place| characters(text.get(..place).unwrap_or("")));
    Ok(Value::Int(found.unwrap_or(-1)))
}

fn join(arguments: &[Value]) -> Result<Value, Failure> {
    let (elements, separator) = match arguments {
        [Value::List(elements)] => (elements, ""),
        [Value::List(elements), Value::String(separator)] => (elements, &**separator),
        _ => return Err(Failure::no_overload("join", arguments)),
    };
    let texts: Option<Vec<&str>> = elements.iter().map(Value::as_str).collect();
    let texts = texts.ok_or_else(|| Failure::no_overload("join", arguments))?;
    bounded(texts.iter().map(|text| text.len() + separator.len()).sum())?;
    Ok(Value::from(texts.join(separator)))
}

fn replace(arguments: &[Value]) -> Result<Value, Failure> {
    let (text, old, new, limit) = match arguments {
        [Value::String(text), Value::String(old), Value::String(new)] => (text, old, new, -1),
        [
            Value::String(text),
            Value::String(old),
            Value::String(new),
            Value::Int(limit),
        ] => (text, old, new, *limit),
        _ => return Err(Failure::no_overload("replace", arguments)),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let count = text.matches(&**old).take(limit).count();
    bounded(count.saturating_mul(new.len()).saturating_add(text.len()))?;
    Ok(Value::from(text.replacen(&**old, new, limit)))
}

fn split(arguments: &[Value]) -> Result<Value, Failure> {
    let (text, separator, limit) = match arguments {
        [Value::String(text), Value::String(separator)] => (text, separator, -1),
        [
            Value::String(text),
            Value::String(separator),
            Value::Int(limit),
        ] => (text, separator, *limit),
        _ => return Err(Failure::no_overload("split", arguments)),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if !separator.is_empty() || limit == 0 {
        return Ok(Value::list(
            text.splitn(limit, &**separator).map(Value::from),
        ));
    }
    let cut = text
        .char_indices()
        .nth(limit - 1)
        .map_or(text.len(), |(place, _)| place);
    let (single, rest) = text.split_at(cut);
    let mut parts: Vec<Value> = single
        .chars()
        .map(|c| Value::from(String::from(c)))
        .collect();
    if !rest.is_empty() {
        parts.push(Value::from(rest));
    }
    Ok(Value::from(parts))
}

fn substring(arguments: &[Value]) -> Result<Value, Failure> {
    let (text, start, end) = match arguments {
        [Value::String(text), Value::Int(start)] => (text, byte_offset(text, *start)?, text.len()),
        [Value::String(text), Value::Int(start), Value::Int(end)] => {
            (text, byte_offset(text, *start)?, byte_offset(text, *end)?)
        }
        _ => return Err(Failure::no_overload("substring", arguments)),
    };
    text.get(start..end).map(Value::from).ok_or_else(backwards)
}

/// Refuses positions that are invalid for every text.
fn refuses_positions(given: &[Given]) -> Option<Failure> {
    let positions = given.iter().skip(1).map(|position| match position {
        Given::Value(Value::Int(position)) => Some(*position),
        Given::Value(_) | Given::Elements(_) | Given::Unknown => None,
    });
    let positions = positions.collect::<Vec<_>>();
    if let Some(negative) = positions
        .iter()
        .copied()
        .flatten()
        .find(|position| *position < 0)
    {
        return Some(out_of_range(negative));
    }
    matches!(positions[..], [Some(start), Some(end)] if start > end).then(backwards)
}

fn refuses_offset(given: &[Given]) -> Option<Failure> {
    match given {
        // An empty string is found anywhere.
        [
            _,
            Given::Value(Value::String(part)),
            Given::Value(Value::Int(offset)),
        ] if *offset < 0 && !part.is_empty() => Some(out_of_range(*offset)),
        _ => None,
    }
}

/// Fills a string up to a width, which may be less than it has characters. The fill is repeated, and cut off at its end.
fn padded(
    name: &str,
    arguments: &[Value],
    join: fn(&str, &str) -> String,
) -> Result<Value, Failure> {
    let (text, width, fill) = match arguments {
        [Value::String(text), Value::Int(width)] => (text, *width, " "),
        [Value::String(text), Value::Int(width), Value::String(fill)] => (text, *width, &**fill),
        _ => return Err(Failure::no_overload(name, arguments)),
    };
    let missing = usize::try_from(width.saturating_sub(characters(text))).unwrap_or(0);
    if missing == 0 || fill.is_empty() {
        return Ok(Value::String(text.clone()));
    }
    bounded(missing.saturating_add(text.len()))?;
    let fill: String = fill.chars().cycle().take(missing).collect();
    bounded(fill.len() + text.len())?;
    Ok(Value::from(join(text, &fill)))
}

/// Refuses a width that no string can have.
fn refuses_width(given: &[Given]) -> Option<Failure> {
    let filled = match given {
        [_, _] => true,
        [_, _, Given::Value(Value::String(fill))] => !fill.is_empty(),
        _ => false,
    };
    let Some(Given::Value(Value::Int(width))) = given.get(1) else {
        return None;
    };
    let width = usize::try_from(*width).unwrap_or(0);
    bounded(width).err().filter(|_| filled)
}

fn backwards() -> Failure {
    Failure::new(
        FailureKind::IndexOutOfRange,
        "index out of range: the start of a substring is after its end",
    )
}

fn reverse(arguments: &[Value]) -> Result<Value, Failure> {
    match arguments {
        [Value::String(text)] => Ok(Value::from(text.chars().rev().collect::<String>())),
        [Value::List(elements)] => Ok(Value::list(elements.iter().rev().cloned())),
        _ => Err(Failure::no_overload("reverse", arguments)),
    }
}

fn quote(arguments: &[Value]) -> Result<Value, Failure> {
    mapped("strings.quote", arguments, |text| {
        let mut quoted = String::with_capacity(text.len() + 2);
        quoted.push('"');
        for character in text.chars() {
            match character {
                '\u{7}' => quoted.push_str("\\a"),
                '\u{8}' => quoted.push_str("\\b"),
                '\u{c}' => quoted.push_str("\\f"),
                '\n' => quoted.push_str("\\n"),
                '\r' => quoted.push_str("\\r"),
                '\t' => quoted.push_str("\\t"),
                '\u{b}' => quoted.push_str("\\v"),
                '\\' => quoted.push_str("\\\\"),
                '"' => quoted.push_str("\\\""),
                other => quoted.push(other),
            }
        }
        quoted.push('"');
        quoted
    })
}

fn mapped(name: &str, arguments: &[Value], map: fn(&str) -> String) -> Result<Value, Failure> {
    match arguments {
        [Value::String(text)] => Ok(Value::from(map(text))),
        _ => Err(Failure::no_overload(name, arguments)),
    }
}

/// Returns the byte offset of a character; the position after the last character is the end of the text.
fn byte_offset(text: &str, index: i64) -> Result<usize, Failure> {
    let position = usize::try_from(index).map_err(|_| out_of_range(index))?;
    let mut places = text
        .char_indices()
        .map(|(place, _)| place)
        .chain([text.len()]);
    places.nth(position).ok_or_else(|| out_of_range(index))
}

fn characters(text: &str) -> i64 {
    i64::try_from(text.chars().count()).unwrap_or(i64::MAX)
}

fn out_of_range(index: i64) -> Failure {
    Failure::new(
        FailureKind::IndexOutOfRange,
        format!("index out of range: {index}"),
    )
}

fn bounded(bytes: usize) -> Result<(), Failure> {
    if bytes <= MAX_BYTES {
        return Ok(());
    }
    Err(Failure::new(
        FailureKind::CostLimit,
        format!("the string would have {bytes} bytes; at most {MAX_BYTES} are allowed"),
    ))
}
