//! Indents code without changing its texts.

use super::scan::{self, TokenKind};

/// Returns code, which begins with a token, with `margin` before its lines, except for the first one, blank lines and
/// those that begin inside a text. A text block is indented, too, since its common indentation does not count.
#[must_use]
pub fn indent_lines(code: &str, margin: &str) -> String {
    let fixed = lines_in_texts(code);
    let mut out = String::with_capacity(code.len());
    let mut at = 0;
    for line in code.split_inclusive('\n') {
        if at > 0 && !line.trim().is_empty() && !fixed.contains(&at) {
            out.push_str(margin);
        }
        out.push_str(line);
        at += line.len();
    }
    out
}

/// Returns the offsets of the lines that begin inside a text other than a text block.
fn lines_in_texts(code: &str) -> Vec<usize> {
    let scan = scan::scan(code);
    let (mut fixed, mut open) = (Vec::new(), Vec::new());
    let mut continued = None;
    for token in &scan.tokens {
        match token.kind {
            TokenKind::Text => {
                let text = token.text(code);
                let block = continued.take().unwrap_or_else(|| opens_block(text));
                if !block {
                    let start = token.start as usize;
                    fixed.extend(text.match_indices('\n').map(|(at, _)| start + at + 1));
                }
                continued = Some(block);
            }
            TokenKind::Interpolation => open.push(continued.take().unwrap_or(false)),
            TokenKind::InterpolationEnd => continued = open.pop(),
            TokenKind::Word
            | TokenKind::Number
            | TokenKind::Open(_)
            | TokenKind::Close(_)
            | TokenKind::Symbol
            | TokenKind::Broken => continued = None,
        }
    }
    fixed
}

/// Returns true if a text as written is a text block.
fn opens_block(written: &str) -> bool {
    let content = written.strip_prefix("\"\"\"").unwrap_or("");
    content.starts_with(['\n', '\r'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_outside_of_texts_and_in_text_blocks_are_indented() {
        for (code, indented) in [
            ("a(\n  b,\n\n)", "a(\n    b,\n\n  )"),
            ("a(\"\"\"x\n y\"\"\",\n b)", "a(\"\"\"x\n y\"\"\",\n   b)"),
            ("a('''\n y''',\n b)", "a('''\n y''',\n   b)"),
            ("a(r\"\"\"\n y\"\"\",\n b)", "a(r\"\"\"\n y\"\"\",\n   b)"),
            (
                "a(\"\"\"\n y\n\"\"\",\n b)",
                "a(\"\"\"\n   y\n  \"\"\",\n   b)",
            ),
            (
                "a(\"\"\"\n ${b +\n c}\n y\"\"\")",
                "a(\"\"\"\n   ${b +\n   c}\n   y\"\"\")",
            ),
            (
                "a(\"\"\"x${\"\"\"\n b\"\"\"}\n y\"\"\",\n c)",
                "a(\"\"\"x${\"\"\"\n   b\"\"\"}\n y\"\"\",\n   c)",
            ),
            (
                "a(\"\"\"\n x${r\"\"\"\n b\"\"\"}\n y\"\"\",\n c)",
                "a(\"\"\"\n   x${r\"\"\"\n b\"\"\"}\n   y\"\"\",\n   c)",
            ),
        ] {
            assert_eq!(indent_lines(code, "  "), indented, "{code}");
        }
    }
}
