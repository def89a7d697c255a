//! Parses `// allow(code, code): reason`.

use crate::source::{SourceFile, Span};
use crate::syntax::ast::{Comment, CommentKind, File};

/// One `allow` comment.
#[derive(Debug)]
pub(super) struct Allow<'a> {
    pub span: Span,
    pub codes: Vec<Named<'a>>,
    /// The reason; empty if there is none.
    pub reason: &'a str,
}

/// A code as written.
#[derive(Debug)]
pub(super) struct Named<'a> {
    pub text: &'a str,
    pub span: Span,
}

/// Returns the `allow` comments of a file, in source order.
pub(super) fn all<'a>(source: &'a SourceFile, tree: &File) -> Vec<Allow<'a>> {
    tree.comments
        .iter()
        .filter(|comment| comment.kind == CommentKind::Plain)
        .filter_map(|comment| read(source, comment))
        .collect()
}

/// Parses an `allow` comment. Returns `None` for prose that happens to begin with `allow (`: the parentheses must
/// contain codes only, and be followed by nothing or a colon.
fn read<'a>(source: &'a SourceFile, comment: &Comment) -> Option<Allow<'a>> {
    let text = source.slice(comment.span);
    let inner = text
        .strip_prefix("//")?
        .trim_start()
        .strip_prefix("allow")?
        .trim_start()
        .strip_prefix('(')?;
    let (list, rest) = inner.split_once(')')?;
    let rest = rest.trim();
    let reason = rest
        .strip_prefix(':')
        .or_else(|| rest.is_empty().then_some(""))?
        .trim();
    let mut at = comment.span.start as usize + text.len() - inner.len();
    let mut codes = Vec::new();
    for part in list.split(',') {
        let name = part.trim();
        if name.is_empty()
            || !name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        {
            return None;
        }
        let start = at + part.len() - part.trim_start().len();
        codes.push(Named {
            text: name,
            span: Span::new(start, start + name.len()),
        });
        at += part.len() + 1;
    }
    Some(Allow {
        span: comment.span,
        codes,
        reason,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<String> {
        let source = SourceFile::new("x", format!("ab {text}"));
        let comment = Comment {
            span: Span::new(3, 3 + text.len()),
            kind: CommentKind::Plain,
        };
        let allow = read(&source, &comment)?;
        let names = allow.codes.iter().map(|named| {
            assert_eq!(source.slice(named.span), named.text);
            named.text
        });
        Some(format!(
            "{}|{}",
            names.collect::<Vec<_>>().join(" "),
            allow.reason
        ))
    }

    #[test]
    fn codes_and_reasons_are_read_and_prose_is_not() {
        assert_eq!(
            parsed("// allow(unused-let): later").unwrap(),
            "unused-let|later"
        );
        assert_eq!(
            parsed("//allow ( a-b ,c ) :  why, so").unwrap(),
            "a-b c|why, so"
        );
        assert_eq!(parsed("// allow(a)").unwrap(), "a|");
        assert_eq!(parsed("// allow(a):").unwrap(), "a|");
        for prose in [
            "// allow",
            "// allow(a",
            "// allow()",
            "// allow(a b): c",
            "// allow(guests) to come in",
            "// allows(a)",
        ] {
            assert_eq!(parsed(prose), None, "{prose}");
        }
    }
}
