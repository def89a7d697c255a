//! Finds documents in the output of models: in fences, or in the middle of prose.

use std::ops::Range;

use planrun_lang::source::Span;
use planrun_lang::yaml::{Content, Entry, Node};

use crate::document;

/// Returns the documents that a text may contain, each with its place: all of it as JSON, its fenced blocks, and the JSON
/// from its first to its last bracket.
pub fn documents(text: &str) -> impl Iterator<Item = (Node, Range<usize>)> {
    let between = |open: char, close: char| {
        let (start, end) = (text.find(open)?, text.rfind(close)?);
        (start < end).then_some(start..end + 1)
    };
    let json = |part: Range<usize>| Some((document::json(text, part.clone()).ok()?, part));
    let bracketed = [between('[', ']'), between('{', '}')].into_iter().flatten();
    let fenced = fences(text).into_iter().filter_map(|part| {
        let node = document::read(text.get(part.clone())?).ok()?;
        Some((moved(node, part.start), part))
    });
    let found = json(0..text.len())
        .into_iter()
        .chain(fenced)
        .chain(bracketed.filter_map(json));
    found.filter(|(root, _)| root.entries().is_some() || root.items().is_some())
}

/// Returns the places of the fenced blocks. A block ends at a line with at least as many of the same characters, indented
/// by at most three columns more than the line that begins it; one without an end extends to the end of the text.
fn fences(text: &str) -> Vec<Range<usize>> {
    let (mut blocks, mut open, mut at) = (Vec::new(), None, 0);
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let fence = line.trim();
        let Some(sign) = fence
            .chars()
            .next()
            .filter(|sign| matches!(sign, '`' | '~'))
        else {
            continue;
        };
        let indent = line.len() - line.trim_start().len();
        let behind = fence.trim_start_matches(sign);
        let length = fence.len() - behind.len();
        match open {
            None if length >= 3 => open = Some((sign, length, indent, at)),
            Some((same, least, most, begin))
                if sign == same && length >= least && behind.is_empty() && indent <= most + 3 =>
            {
                blocks.push(begin..start);
                open = None;
            }
            None | Some(_) => {}
        }
    }
    blocks.extend(open.map(|(.., begin)| begin..text.len()));
    blocks
}

/// Returns a node of a part of a text with its places in the whole text.
fn moved(node: Node, by: usize) -> Node {
    let place = |span: Span| Span::new(span.start as usize + by, span.end as usize + by);
    let content = match node.content {
        Content::List(items) => {
            Content::List(items.into_iter().map(|item| moved(item, by)).collect())
        }
        Content::Map(entries) => {
            let entries = entries.into_iter().map(|entry| Entry {
                name: entry.name,
                span: place(entry.span),
                value: moved(entry.value, by),
            });
            Content::Map(entries.collect())
        }
        plain @ (Content::Null | Content::Bool(_) | Content::Number(_) | Content::Text(_)) => plain,
    };
    Node {
        span: place(node.span),
        content,
    }
}
