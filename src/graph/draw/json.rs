//! The drawing as JSON, for programs that draw themselves.

use std::fmt::Write;

use serde::Serialize;

use super::{Drawing, DrawnEdge, DrawnNode};

/// One JSON document: the nodes in source order and the edges.
#[must_use]
pub fn json(drawing: &Drawing) -> String {
    let document = Document { version: 1, plan: &drawing.plan, nodes: &drawing.nodes, edges: &drawing.edges };
    // Strings and fixed words only: nothing in it can fail to become JSON.
    let text = serde_json::to_string_pretty(&document).unwrap_or_default();
    let mut out = String::with_capacity(text.len() + 1);
    for character in text.chars() {
        if character == '\n' || (!character.is_control() && !is_format(character)) {
            out.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out.push('\n');
    out
}

/// Direction marks and zero-width characters, which would mislead a reader of the printed text.
fn is_format(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    plan: &'a str,
    nodes: &'a [DrawnNode],
    edges: &'a [DrawnEdge],
}
