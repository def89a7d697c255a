//! The language as pages: its guide and its reference, split at their headings, and the meaning of each diagnostic
//! code.

use std::fmt::Write as _;
use std::sync::LazyLock;

use planrun_lang::diag::{closest, code_named, codes};

use crate::tokens::bytes;

/// The guide, a short description of the whole language, which `planrun explain --language` prints.
pub(super) const GUIDE: &str = include_str!("guide.md");
/// The reference for users.
pub(super) const REFERENCE: &str = include_str!("reference.md");
/// The prefix of the reference's topics.
const REFERENCE_TOPICS: &str = "reference/";
/// Maximum size of a page, in tokens.
const PAGE_TOKENS: usize = 600;
/// Maximum size of the line that names the next page, in bytes.
const NEXT_BYTES: usize = 70;

/// A part of a document under one heading.
pub(super) struct Page {
    /// Such as `people`, or `people/2` if the section has several pages.
    pub(super) topic: String,
    pub(super) text: String,
}

pub(super) static PAGES: LazyLock<Vec<Page>> = LazyLock::new(|| {
    let mut pages = cut_into_pages(GUIDE, "");
    pages.extend(cut_into_pages(REFERENCE, REFERENCE_TOPICS));
    pages
});

/// Returns the topics of all pages, in the order of the documents.
pub fn language_topics() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|page| page.topic.as_str())
}

/// Returns one page, or the meaning of a diagnostic code.
pub fn language_page(topic: &str) -> Option<String> {
    if let Some(page) = PAGES.iter().find(|page| page.topic == topic) {
        return Some(page.text.clone());
    }
    let code = code_named(topic).ok()?;
    Some(format!(
        "{} ({})\n\n{}",
        code.name, code.severity, code.page
    ))
}

/// Returns the page for `language/TOPIC`, or the list of topics for `language`; `None` if the name is neither.
pub(super) fn page(name: &str) -> Option<String> {
    let Some(topic) = name.strip_prefix("language/") else {
        return (name == "language").then(topics);
    };
    if let Some(page) = language_page(topic) {
        return Some(page);
    }
    let known = PAGES.iter().map(|page| page.topic.as_str());
    let known = known.chain(codes::all().map(|code| code.name));
    let near = closest(topic, known).map_or_else(
        || "`language` lists them".to_owned(),
        |near| format!("did you mean `language/{near}`?"),
    );
    let topic = planrun_lang::diag::render::visible_line(topic);
    Some(format!("there is no page `language/{topic}`; {near}\n"))
}

/// Lists every topic with its number of pages.
fn topics() -> String {
    let list = |is_reference: bool| {
        let is_listed = |page: &&Page| page.topic.starts_with(REFERENCE_TOPICS) == is_reference;
        let mut names: Vec<(&str, usize)> = Vec::new();
        for page in PAGES.iter().filter(is_listed) {
            let topic = page.topic.trim_start_matches(REFERENCE_TOPICS);
            let name = topic.split('/').next().unwrap_or(topic);
            match names.last_mut() {
                Some((last, count)) if *last == name => *count += 1,
                Some(_) | None => names.push((name, 1)),
            }
        }
        let listed = names.iter().map(|(name, count)| match count {
            1 => (*name).to_owned(),
            count => format!("{name} (…/2 to /{count})"),
        });
        listed.collect::<Vec<_>>().join(", ")
    };
    format!(
        "The language in short, `describe` each as language/TOPIC: {}\n\
         All of it, as language/{REFERENCE_TOPICS}TOPIC: {}\n\
         What a finding means, as language/CODE, such as language/maybe-absent.\n",
        list(false),
        list(true),
    )
}

/// Splits a document into pages: one for each section, or several if the section is larger than a page.
fn cut_into_pages(document: &str, prefix: &str) -> Vec<Page> {
    let mut pages = Vec::new();
    for section in sections(document) {
        let title = section.lines().next().unwrap_or_default();
        let body = section.strip_prefix(title).unwrap_or_default();
        let topic = format!("{prefix}{}", slug(title));
        let parts = parts(body, bytes(PAGE_TOKENS) - title.len() - NEXT_BYTES);
        let count = parts.len();
        for (number, part) in (1..).zip(parts) {
            let place = |number: usize| match number {
                1 => topic.clone(),
                number => format!("{topic}/{number}"),
            };
            let mut text = title.to_owned();
            if count > 1 {
                let _ = write!(text, " ({number} of {count})");
            }
            let _ = write!(text, "\n\n{part}");
            if number < count {
                let _ = write!(text, "\nNext: language/{}\n", place(number + 1));
            }
            pages.push(Page {
                topic: place(number),
                text,
            });
        }
    }
    pages
}

/// Splits a document before its headings. Lines in code blocks are not headings.
pub(super) fn sections(document: &str) -> Vec<String> {
    let (mut sections, mut in_code) = (Vec::<String>::new(), false);
    for line in document.lines() {
        in_code ^= line.starts_with("```");
        if (!in_code && line.starts_with('#')) || sections.is_empty() {
            sections.push(String::new());
        }
        if let Some(section) = sections.last_mut() {
            section.push_str(&if in_code {
                line.to_owned()
            } else {
                without_targets(line)
            });
            section.push('\n');
        }
    }
    sections
}

/// Replaces the links of a line of Markdown by their texts, because they cannot be followed here.
fn without_targets(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("](") {
        let (Some(open), Some((_, behind))) = (before.rfind('['), after.split_once(')')) else {
            break;
        };
        text.push_str(before.get(..open).unwrap_or_default());
        text.push_str(before.get(open + 1..).unwrap_or_default());
        rest = behind;
    }
    text + rest
}

/// Converts a heading to a topic: `### What a failure leads to` becomes `what-a-failure-leads-to`.
fn slug(title: &str) -> String {
    let words = title
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

/// Splits a text between its paragraphs into parts of at most `max` bytes.
fn parts(text: &str, max: usize) -> Vec<String> {
    let mut parts = vec![String::new()];
    for block in blocks(text) {
        for piece in pieces(&block, max) {
            let gap = usize::from(parts.last().is_some_and(|part| !part.is_empty()));
            match parts.last_mut() {
                Some(part) if part.len() + gap + piece.len() <= max => {
                    part.push_str(if gap > 0 { "\n" } else { "" });
                    part.push_str(&piece);
                }
                Some(_) | None => parts.push(piece),
            }
        }
    }
    parts
}

/// Returns the paragraphs, lists, tables and code blocks of a text, each with its line breaks.
fn blocks(text: &str) -> Vec<String> {
    let (mut blocks, mut block, mut in_code) = (Vec::new(), String::new(), false);
    for line in text.lines() {
        in_code ^= line.starts_with("```");
        if line.is_empty() && !in_code {
            blocks.push(std::mem::take(&mut block));
        } else {
            block.push_str(line);
            block.push('\n');
        }
    }
    blocks.push(block);
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// Splits a block that is too long between its lines. Code is fenced again, and the head of a table is repeated.
fn pieces(block: &str, max: usize) -> Vec<String> {
    if block.len() <= max {
        return vec![block.to_owned()];
    }
    let mut lines = block.lines();
    let (mut head, mut end) = (String::new(), "");
    if block.starts_with("```") {
        end = "```\n";
        head = format!("{}\n", lines.next().unwrap_or_default());
    } else if block.starts_with('|') {
        let title: Vec<&str> = lines.by_ref().take(2).collect();
        head = format!("{}\n", title.join("\n"));
    }
    let mut pieces = vec![head.clone()];
    for line in lines.filter(|line| !line.starts_with("```")) {
        let is_full = |piece: &String| piece.len() + line.len() + 1 + end.len() > max;
        if pieces.last().is_none_or(is_full) {
            pieces.push(head.clone());
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push_str(line);
            piece.push('\n');
        }
    }
    for piece in &mut pieces {
        piece.push_str(end);
    }
    pieces
}
