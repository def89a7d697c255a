//! Prints expressions, patterns and types in canonical form, to compare guards and to name values.

use std::borrow::Cow;

use super::{
    Operand, Style, print_expr, print_link, print_operand, print_pattern, print_type, print_value,
};
use crate::source::Span;
use crate::syntax::ast::{Expr, Link, Literal, Pattern, TemplatePart, Text, TypeExpr};
use crate::syntax::precedence::Level;
use crate::syntax::spelling::{
    write_escaped, write_literal, write_text, write_variable, write_word,
};

/// Formats the expression on one line, without comments or redundant parentheses. Parsing it yields the same
/// expression.
#[must_use]
pub fn canonical(expr: &Expr) -> String {
    Line::of(expr, write_variable)
}

/// Like [`canonical`], with names as messages display them: reserved words without back quotes.
#[must_use]
pub fn canonical_display(expr: &Expr) -> String {
    Line::of(expr, write_word)
}

/// Like [`canonical_display`], with one spelling for `a.b`, `a?.b` and `a["b"]`, which are one place.
#[must_use]
pub fn canonical_place(expr: &Expr) -> String {
    let mut line = Line {
        plain_links: true,
        ..Line::new(write_word, "")
    };
    print_value(&mut line, expr);
    line.text
}

/// Formats the pattern on one line. Parsing it yields the same pattern.
#[must_use]
pub fn canonical_pattern(pattern: &Pattern) -> String {
    let mut line = Line::new(write_word, "");
    print_pattern(&mut line, pattern);
    line.text
}

/// Formats the type on one line. Parsing it yields the same type.
#[must_use]
pub fn canonical_type(ty: &TypeExpr) -> String {
    let mut line = Line::new(write_variable, " ");
    print_type(&mut line, ty);
    line.text
}

/// Formats the name for a position where any word is allowed: in back quotes unless it is a plain word.
#[must_use]
pub fn canonical_name(name: &str) -> String {
    let mut text = String::new();
    write_word(&mut text, name);
    text
}

/// The line being written.
struct Line {
    text: String,
    /// Writes the name of a variable.
    write_variable: fn(&mut String, &str),
    /// The padding inside the braces of objects.
    padding: &'static str,
    /// Whether links are written without `?`, and fields with `.`.
    plain_links: bool,
}

impl Line {
    fn new(write_variable: fn(&mut String, &str), padding: &'static str) -> Self {
        Self {
            text: String::new(),
            write_variable,
            padding,
            plain_links: false,
        }
    }

    fn of(expr: &Expr, write_variable: fn(&mut String, &str)) -> String {
        let mut line = Self::new(write_variable, "");
        print_value(&mut line, expr);
        line.text
    }
}

impl<'a> Style<'a> for Line {
    type Brackets = [&'static str; 2];
    const PARENTHESES: Self::Brackets = ["(", ")"];
    const LIST: Self::Brackets = ["[", "]"];
    const OBJECT: Self::Brackets = ["{", "}"];
    const CANONICAL: bool = true;

    fn word(&mut self, text: impl Into<Cow<'a, str>>) {
        self.text.push_str(&text.into());
    }

    fn variable(&mut self, name: &str) {
        (self.write_variable)(&mut self.text, name);
    }

    fn literal(&mut self, literal: &'a Literal, _: Span) {
        write_literal(&mut self.text, literal);
    }

    fn text(&mut self, text: &'a Text) {
        write_text(&mut self.text, &text.text);
    }

    fn template(&mut self, parts: &'a [TemplatePart], _: Span) {
        self.text.push('"');
        for part in parts {
            match part {
                TemplatePart::Text(text) => write_escaped(&mut self.text, text),
                TemplatePart::Expr(value) => {
                    self.enclosed("${", "}", |line| print_value(line, value));
                }
            }
        }
        self.text.push('"');
    }

    fn error(&mut self) {
        self.text.push_str("<error>");
    }

    fn enclosed(&mut self, open: &'static str, close: &'static str, print: impl FnOnce(&mut Self)) {
        self.text.push_str(open);
        print(self);
        self.text.push_str(close);
    }

    fn list<T>(
        &mut self,
        [open, close]: Self::Brackets,
        _: Span,
        items: &'a [T],
        _: impl Fn(&T) -> Span,
        mut print: impl FnMut(&mut Self, &'a T),
    ) {
        let padding = if open == "{" && !items.is_empty() {
            self.padding
        } else {
            ""
        };
        self.text.push_str(open);
        self.text.push_str(padding);
        for (index, item) in items.iter().enumerate() {
            self.text.push_str(if index == 0 { "" } else { ", " });
            print(self, item);
        }
        self.text.push_str(padding);
        self.text.push_str(close);
    }

    fn chain(&mut self, operands: impl Iterator<Item = (&'static str, Operand<'a>)>) {
        for (index, (operator, operand)) in operands.enumerate() {
            if index > 0 {
                self.text.extend([" ", operator, " "]);
            }
            print_operand(self, operand);
        }
    }

    fn path(&mut self, base: &'a Expr, links: &'a [Link]) {
        print_expr(self, base, Level::Postfix);
        for link in links {
            if self.plain_links {
                print_link(self, &link.plain());
            } else {
                print_link(self, link);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::canonical;
    use crate::source::SourceFile;
    use crate::syntax::parse_expression;

    fn text(source: &str) -> String {
        let (expr, diagnostics) = parse_expression(&SourceFile::new("test", source));
        assert!(diagnostics.is_empty(), "{source}: {diagnostics:?}");
        canonical(&expr)
    }

    #[test]
    fn the_same_condition_has_one_text() {
        assert_eq!(text("(( a.b==1 )) // why"), "a.b == 1");
        assert_eq!(text("(a+b)*c - (d-e)"), "(a + b) * c - (d - e)");
        assert_eq!(text("( a  &&(b) ) ||!c"), "a && b || !c");
        assert_eq!(text("a && (b || c)"), "a && (b || c)");
        assert_eq!(text("x [ 0 ] ?. y"), "x[0]?.y");
        assert_eq!(text("'a' == \"a\""), "\"a\" == \"a\"");
        assert_eq!(text("a ?? (b ? c : d)"), "a ?? (b ? c : d)");
        assert_eq!(text("60s < 1m"), "1m < 1m");
        assert_eq!(text("!(x is failed) && !(y)"), "!x is failed && !y");
        assert_eq!(text("a ?? (b ?? c)"), "a ?? b ?? c");
        assert_eq!(text("(a ?? b) ?? c"), "(a ?? b) ?? c");
        assert_eq!(text("(a ? b : c) ? d : e"), "(a ? b : c) ? d : e");
        assert_eq!(
            text(r#"'it' + r"\d${x}" + "a ${b} \${c}""#),
            r#""it" + "\\d\${x}" + "a ${b} \${c}""#
        );
        assert_eq!(
            text("{a: 1, 'b c': -2, (d): 90m, true: b'x', if: [1u, .5]}"),
            r#"{a: 1, "b c": -2, (d): 1h30m, true: b"\x78", if: [1u, 0.5]}"#
        );
        assert_eq!(
            text("(-1).abs() + x?.[`odd name`]?.`odd name`(a: 1)"),
            "(-1).abs() + x?.[`odd name`]?.`odd name`(a: 1)"
        );
        assert_eq!(
            text("match x{1|2=>3,{a:_}=>4}+1"),
            "match x {1 | 2 => 3, {a: _} => 4} + 1"
        );
    }

    #[test]
    fn the_text_reads_back_as_itself() {
        for source in [
            "-(-x)",
            "-(1)",
            "-(-1)",
            "-1.abs()",
            "(-1).abs()",
            "-(1.5)",
            "!(-(2s))",
            "--1",
            "-(1 + 2)",
            "1 - (2 - 3) - 4",
            "(a in b) in c",
            "a in (b in c)",
            "signal \"x\"",
            "!x is failed",
            "match (-x) {1 => 2}",
            "match (-1 + x) {1 => match (-x ?? 1) {_ => 2}}",
            "a ?? (b ?? c)",
        ] {
            let once = text(source);
            assert_eq!(text(&once), once, "{source}");
        }
    }
}
