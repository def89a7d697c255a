//! Prints the clauses of steps, one per line and in canonical order.

use super::comments::Gap;
use super::document::Break;
use super::parts::{Part, present, print_parts, print_value_with};
use super::printer::{Printer, is_doc};
use super::statements::print_block;
use super::steps::{print_arm_body, print_ask};
use crate::syntax::ast::{ArmBody, Clause, ClauseKind, ErrorPattern, Expr, Name, Probe, Undo};
use crate::syntax::print::{Style, print_value};

/// A clause with its comments.
struct Placed<'a> {
    clause: &'a Clause,
    gap: Gap<'a>,
    trailing: Option<&'a str>,
}

/// Prints the clauses of a body that ends at `behind`. The `when` of a block is printed on its closing line, and the
/// deadline of a form is always spelled `within`.
pub(super) fn print_clauses<'a>(
    out: &mut Printer<'a>,
    clauses: &'a [Clause],
    behind: u32,
    (block, form): (bool, bool),
) {
    let (head, mut placed) = placed(out, clauses, behind);
    out.trailing(head);
    if !has_stray_part(clauses) {
        placed.sort_by_key(|placed| placed.clause.kind.rank());
    }
    out.indent();
    for (index, placed) in placed.into_iter().enumerate() {
        let Placed {
            clause,
            gap,
            trailing,
        } = placed;
        let when = matches!(clause.kind, ClauseKind::When(_));
        let alone =
            head.is_none() && gap.above.is_empty() && !out.comments.any(behind, clause.span.start);
        let inside = out.comments.any(clause.span.start, clause.span.end);
        if index == 0 && block && when && alone && !inside {
            out.word(" ");
        } else {
            out.line(Break::Hard);
        }
        let slot = out.above(Gap {
            blank: false,
            ..gap
        });
        print_clause(out, &clause.kind, form);
        out.hoist(slot, clause.span.start, clause.span.end);
        out.trailing(trailing);
    }
    out.dedent();
}

/// Returns true if a part of a `confirm` is written apart from it, which is an error. In another order, it might come to
/// follow the `confirm`, and then would belong to it.
fn has_stray_part(clauses: &[Clause]) -> bool {
    let is_confirm = |clause: &Clause| matches!(clause.kind, ClauseKind::Confirm { .. });
    let is_part =
        |clause: &Clause| matches!(clause.kind, ClauseKind::By(_) | ClauseKind::Expires(_));
    clauses.iter().any(is_confirm) && clauses.iter().any(is_part)
}

/// Returns the comment after the body, and the clauses in source order with their comments.
fn placed<'a>(
    out: &mut Printer<'a>,
    clauses: &'a [Clause],
    behind: u32,
) -> (Option<&'a str>, Vec<Placed<'a>>) {
    let mut head = None;
    let mut placed: Vec<Placed<'a>> = Vec::with_capacity(clauses.len());
    let mut behind = behind;
    for clause in clauses {
        let mut gap = out.comments.gap(Some(behind), clause.span.start, false);
        let trailing = gap.trailing.take();
        gap.above.iter_mut().for_each(|(_, blank)| *blank = false);
        match placed.last_mut() {
            // After the last clause, a `///` would document the statement that follows the step.
            Some(_) if trailing.is_some_and(is_doc) => {
                gap.above.splice(0..0, trailing.map(|text| (text, false)));
            }
            Some(previous) => previous.trailing = trailing,
            None => head = trailing,
        }
        placed.push(Placed {
            clause,
            gap,
            trailing: None,
        });
        behind = clause.span.end;
    }
    if let Some(last) = placed.last_mut() {
        last.trailing = out.comments.trailing_alone(behind);
    }
    (head, placed)
}

fn print_clause<'a>(out: &mut Printer<'a>, kind: &'a ClauseKind, form: bool) {
    match kind {
        ClauseKind::When(condition) => print_after_word(out, "when ", condition),
        ClauseKind::After(after) => Part::After(after).print(out),
        ClauseKind::Confirm { text, by, expires } => {
            out.word("confirm ");
            let by = by.as_ref().map(|by| Part::Expr("by ", by));
            let expires = expires
                .as_ref()
                .map(|expires| Part::Expr("expires ", expires));
            print_value_with(out, text, &present([by, expires]));
        }
        ClauseKind::By(role) => print_after_word(out, "by ", role),
        ClauseKind::Timeout(duration) => print_after_word(out, "timeout ", duration),
        ClauseKind::Within(duration) => print_after_word(out, "within ", duration),
        ClauseKind::Expires(duration) => {
            print_after_word(out, if form { "within " } else { "expires " }, duration);
        }
        ClauseKind::Retry(settings) => print_after_word(out, "retry ", settings),
        ClauseKind::Until { condition, every } => {
            out.word("until ");
            print_value_with(out, condition, &[Part::Expr("every ", every)]);
        }
        ClauseKind::Cache(duration) => print_after_word(out, "cache ", duration),
        ClauseKind::Verify { .. } => print_verify(out, kind),
        ClauseKind::Recover {
            pattern,
            binding,
            body,
        } => print_recover(out, pattern, binding.as_ref(), body),
        ClauseKind::Undo(Undo::Call(call)) => print_after_word(out, "undo ", call),
        ClauseKind::Undo(Undo::Do(body)) => {
            out.word("undo do ");
            print_block(out, body);
        }
        ClauseKind::Error => {}
    }
}

fn print_after_word<'a>(out: &mut Printer<'a>, word: &'static str, value: &'a Expr) {
    out.word(word);
    print_value(out, value);
}

fn print_recover<'a>(
    out: &mut Printer<'a>,
    pattern: &'a ErrorPattern,
    binding: Option<&'a Name>,
    body: &'a ArmBody,
) {
    out.word("recover ");
    match pattern {
        ErrorPattern::Any => out.word("_"),
        ErrorPattern::Classes(classes) => out.classes(classes),
    }
    out.word(" ");
    if let Some(binding) = binding {
        out.word("as ");
        out.variable(&binding.text);
        out.word(" ");
    }
    out.word("=> ");
    print_arm_body(out, body);
}

fn print_verify<'a>(out: &mut Printer<'a>, kind: &'a ClauseKind) {
    let ClauseKind::Verify {
        probe,
        every,
        within,
        binding,
        check,
        gives,
    } = kind
    else {
        return;
    };
    out.word("verify ");
    let every = every.as_ref().map(|every| Part::Expr("every ", every));
    let within = within.as_ref().map(|within| Part::Expr("within ", within));
    out.grouped(|out| {
        let polls = present([every, within]);
        match probe {
            Probe::Call(call) => print_value_with(out, call, &polls),
            Probe::Ask(ask) => {
                let behind = print_ask(out, ask);
                print_parts(out, behind, &polls);
            }
        }
        out.word(" as ");
        out.variable(&binding.text);
        out.word(" => ");
        print_value(out, check);
        print_parts(
            out,
            check.span.end,
            &present([gives.as_ref().map(|gives| Part::Expr("gives ", gives))]),
        );
    });
}
