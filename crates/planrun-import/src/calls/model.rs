//! Finds JSON in the output of models: in fences, or in the middle of prose.

use planrun_lang::yaml::Node;

use crate::document::{self, Refused};

/// Parses the JSON in a text: all of it, else its first fenced block, else the text from its first to its last
/// bracket.
///
/// # Errors
/// Returns an error if there is none.
pub fn json(text: &str) -> Result<Node, Refused> {
    let whole = document::json(text, 0..text.len());
    let Err(refused) = whole else { return whole };
    let fenced = text.find("```").and_then(|open| {
        let inner = text.get(open + 3..)?;
        let start = open + 3 + inner.find('\n')? + 1;
        let end = start + text.get(start..)?.find("```")?;
        Some(start..end)
    });
    let between = |open: char, close: char| {
        let (start, end) = (text.find(open)?, text.rfind(close)?);
        (start < end).then_some(start..end + 1)
    };
    let parts = [fenced, between('[', ']'), between('{', '}')];
    let read = parts
        .into_iter()
        .flatten()
        .find_map(|part| document::json(text, part).ok());
    read.ok_or(refused)
}
