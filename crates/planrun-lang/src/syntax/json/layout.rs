//! Pretty-prints JSON, keeping objects and lists that fit on one line.

use serde_json::Value;

/// Maximum length, in characters, of a line with a whole object or list.
const WIDTH: usize = 100;

/// Formats the value, with a line break at the end.
#[must_use]
pub fn text(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value, 0, 0);
    text.push('\n');
    text
}

/// Writes the value; `used` is the number of characters that its key takes on the line.
fn write(out: &mut String, value: &Value, indent: usize, used: usize) {
    if let Some(line) = on_one_line(value, WIDTH.saturating_sub(indent + used + 1)) {
        out.push_str(&line);
        return;
    }
    let inner = indent + 2;
    match value {
        Value::Object(map) => {
            out.push('{');
            for (index, (key, value)) in map.iter().enumerate() {
                let key = Value::from(key.as_str()).to_string() + ": ";
                begin_line(out, index, inner);
                out.push_str(&key);
                write(out, value, inner, key.chars().count());
            }
            end(out, indent, '}');
        }
        Value::Array(list) => {
            out.push('[');
            for (index, value) in list.iter().enumerate() {
                begin_line(out, index, inner);
                write(out, value, inner, 0);
            }
            end(out, indent, ']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
        }
    }
}

fn begin_line(out: &mut String, index: usize, indent: usize) {
    out.push_str(if index == 0 { "\n" } else { ",\n" });
    out.push_str(&" ".repeat(indent));
}

fn end(out: &mut String, indent: usize, bracket: char) {
    out.push('\n');
    out.push_str(&" ".repeat(indent));
    out.push(bracket);
}

/// Returns the value on one line if it has at most `room` characters.
fn on_one_line(value: &Value, room: usize) -> Option<String> {
    let mut line = String::new();
    fits(&mut line, value, room).then_some(line)
}

/// Appends the value to the line and returns true if the line has at most `room` characters; stops as soon as it has
/// more.
fn fits(line: &mut String, value: &Value, room: usize) -> bool {
    match value {
        Value::Object(map) if !map.is_empty() => {
            line.push_str("{ ");
            for (index, (key, value)) in map.iter().enumerate() {
                line.push_str(if index == 0 { "" } else { ", " });
                line.push_str(&Value::from(key.as_str()).to_string());
                line.push_str(": ");
                if !fits(line, value, room) {
                    return false;
                }
            }
            line.push_str(" }");
        }
        Value::Array(list) if !list.is_empty() => {
            line.push('[');
            for (index, value) in list.iter().enumerate() {
                line.push_str(if index == 0 { "" } else { ", " });
                if !fits(line, value, room) {
                    return false;
                }
            }
            line.push(']');
        }
        Value::Object(_)
        | Value::Array(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_) => {
            line.push_str(&value.to_string());
        }
    }
    // There are at least as many bytes as characters, so most lines need not be counted.
    line.len() <= room || line.chars().count() <= room
}

#[cfg(test)]
mod tests {
    use super::text;
    use serde_json::json;

    #[test]
    fn what_fits_stays_on_its_line() {
        let long = "x".repeat(90);
        let value = json!({ "a": [1, { "b": null }], "c": { "d": long, "e": {} }, "f": [] });
        assert_eq!(
            text(&value),
            format!(
                "{{\n  \"a\": [1, {{ \"b\": null }}],\n  \"c\": {{\n    \"d\": \"{long}\",\n    \"e\": {{}}\n  }},\n  \"f\": []\n}}\n"
            )
        );
        assert_eq!(text(&json!("é")), "\"é\"\n");
    }
}
