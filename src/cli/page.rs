//! Renders Markdown pages for a terminal: headings and code are highlighted, paragraphs are wrapped.

use owo_colors::{OwoColorize, Style};
use planrun_lang::diag::render::{Appearance, wrap};

use super::terminal::styled;

/// Maximum width of paragraphs, in columns: longer lines are hard to read.
const TEXT_COLUMNS: usize = 88;

/// Renders a Markdown page as text. Code blocks are indented and keep their lines. The markup of headings and code
/// blocks is removed, and that of inline code if it is coloured.
pub fn page(markdown: &str, style: Appearance) -> String {
    let mut out = String::new();
    let mut paragraph = Vec::new();
    let mut in_code = false;
    for line in markdown.lines() {
        if line.starts_with("```") {
            flush(&mut out, &mut paragraph, style);
            in_code = !in_code;
            continue;
        }
        if in_code {
            push_code(&mut out, line, style);
        } else if line.trim().is_empty() {
            flush(&mut out, &mut paragraph, style);
            out.push('\n');
        } else if is_heading(line) {
            flush(&mut out, &mut paragraph, style);
            push_heading(&mut out, line, style);
        } else {
            paragraph.push(line.trim());
        }
    }
    flush(&mut out, &mut paragraph, style);
    out
}

/// Returns true for `# …`, and for one-word lines with a colon that introduce an example.
fn is_heading(line: &str) -> bool {
    line.starts_with('#') || (line.ends_with(':') && !line.contains(' '))
}

fn push_heading(out: &mut String, line: &str, style: Appearance) {
    let text = line.trim_start_matches(['#', ' ']);
    out.push_str(&styled(text, Style::new().bold(), style));
    out.push('\n');
}

fn push_code(out: &mut String, line: &str, style: Appearance) {
    if !line.is_empty() {
        out.push_str("    ");
        if style.color {
            out.push_str(&line.cyan().to_string());
        } else {
            out.push_str(line);
        }
    }
    out.push('\n');
}

/// Ends a paragraph. Each list item is a paragraph of its own.
fn flush(out: &mut String, paragraph: &mut Vec<&str>, style: Appearance) {
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
    for line in wrap(&text, style.width.min(TEXT_COLUMNS)) {
        out.push_str(&inline_code(&line, style));
        out.push('\n');
    }
}

fn inline_code(line: &str, style: Appearance) -> String {
    if !style.color {
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
        let text = page(PAGE, Appearance::PLAIN);
        assert_eq!(
            text,
            "A name that nothing has.\n\nBad:\n\n    plan p() {}\n\n- one `x`\n- two\n"
        );
    }

    #[test]
    fn colours_only_where_wanted() {
        assert!(!page(PAGE, Appearance::PLAIN).contains('\u{1b}'));
        assert!(
            page(
                PAGE,
                Appearance {
                    color: true,
                    ..Appearance::PLAIN
                }
            )
            .contains("\u{1b}[36mx\u{1b}[39m")
        );
    }
}
