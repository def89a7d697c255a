//! The pages of codes on a terminal: headings and code stand out, paragraphs fill the width.

use owo_colors::OwoColorize;
use planrun_lang::diag::render::{Look, wrap};

/// Columns that paragraphs fill at most: longer lines read badly.
const TEXT_COLUMNS: usize = 88;

/// A Markdown page as text. Code blocks are indented and keep their lines; the marks of Markdown go.
#[must_use]
pub fn page(markdown: &str, look: Look) -> String {
    let mut out = String::new();
    let mut paragraph = Vec::new();
    let mut in_code = false;
    for line in markdown.lines() {
        if line.starts_with("```") {
            flush(&mut out, &mut paragraph, look);
            in_code = !in_code;
            continue;
        }
        if in_code {
            push_code(&mut out, line, look);
        } else if line.trim().is_empty() {
            flush(&mut out, &mut paragraph, look);
            out.push('\n');
        } else if is_heading(line) {
            flush(&mut out, &mut paragraph, look);
            push_heading(&mut out, line, look);
        } else {
            paragraph.push(line.trim());
        }
    }
    flush(&mut out, &mut paragraph, look);
    out
}

/// `# …`, and the short lines with a colon that announce an example.
fn is_heading(line: &str) -> bool {
    line.starts_with('#') || (line.ends_with(':') && !line.contains(' '))
}

fn push_heading(out: &mut String, line: &str, look: Look) {
    let text = line.trim_start_matches(['#', ' ']);
    if look.color {
        out.push_str(&text.bold().to_string());
    } else {
        out.push_str(text);
    }
    out.push('\n');
}

fn push_code(out: &mut String, line: &str, look: Look) {
    if !line.is_empty() {
        out.push_str("    ");
        if look.color {
            out.push_str(&line.cyan().to_string());
        } else {
            out.push_str(line);
        }
    }
    out.push('\n');
}

/// Ends a paragraph. An item of a list is a paragraph of its own.
fn flush(out: &mut String, paragraph: &mut Vec<&str>, look: Look) {
    let mut text = String::new();
    for line in paragraph.drain(..) {
        if !text.is_empty() {
            text.push(if line.starts_with("- ") { '\n' } else { ' ' });
        }
        text.push_str(line);
    }
    if text.is_empty() {
        return;
    }
    for line in wrap(&text, look.width.min(TEXT_COLUMNS)) {
        out.push_str(&inline_code(&line, look));
        out.push('\n');
    }
}

fn inline_code(line: &str, look: Look) -> String {
    if !look.color {
        return line.to_owned();
    }
    let parts = line.split('`').enumerate();
    parts
        .map(|(index, part)| {
            if index % 2 == 1 {
                part.cyan().to_string()
            } else {
                part.to_owned()
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "A name that\nnothing has.\n\nBad:\n\n```plan\nplan p() {}\n```\n\n- one `x`\n- two\n";

    #[test]
    fn paragraphs_flow_and_code_is_indented() {
        let shown = page(PAGE, Look::PLAIN);
        assert_eq!(
            shown,
            "A name that nothing has.\n\nBad:\n\n    plan p() {}\n\n- one `x`\n- two\n"
        );
    }

    #[test]
    fn colours_only_where_wanted() {
        assert!(!page(PAGE, Look::PLAIN).contains('\u{1b}'));
        assert!(
            page(
                PAGE,
                Look {
                    color: true,
                    ..Look::PLAIN
                }
            )
            .contains("\u{1b}[36mx\u{1b}[39m")
        );
    }
}
