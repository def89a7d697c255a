//! Prints blocks and statements.

use super::document::Break;
use super::parts::{Part, present, print_parts, print_value_with};
use super::printer::{Brackets, Printer};
use super::steps::print_step;
use super::texts::{print_doc, print_plain_text};
use crate::source::Span;
use crate::syntax::ast::{
    Block, CommentKind, Expr, Guarded, Name, Statement, StatementKind, Text, TypeExpr,
};
use crate::syntax::print::{Style, print_type, print_value};

pub(super) fn print_block<'a>(out: &mut Printer<'a>, block: &'a Block) {
    out.list(
        Brackets::BLOCK,
        block.span,
        &block.statements,
        |statement| statement.span,
        print_statement,
    );
}

fn print_statement<'a>(out: &mut Printer<'a>, statement: &'a Statement) {
    print_statement_doc(out, statement.doc.as_deref());
    match &statement.kind {
        StatementKind::Policy(settings) => print_settings(out, "policy", settings),
        StatementKind::Allow(settings) => print_settings(out, "allow", settings),
        StatementKind::Step(step) => print_step(out, step),
        StatementKind::Let { name, ty, value } => print_let_value(out, name, ty.as_deref(), value),
        StatementKind::If { arms, otherwise } => print_if_statement(out, arms, otherwise.as_ref()),
        StatementKind::Parallel(block) => print_parallel(out, block),
        StatementKind::Task {
            name,
            title,
            statuses,
            context,
            external,
        } => {
            print_task(out, name, title, statuses, context.as_deref(), *external);
        }
        StatementKind::Set {
            task,
            status,
            context,
            when,
            after,
        } => {
            let when = when.as_ref().map(|when| Part::Expr("when ", when));
            let parts = present([when, after.as_ref().map(|names| Part::After(names))]);
            print_set(out, task, status, context.as_deref(), &parts);
        }
        StatementKind::Listener {
            name,
            on,
            payload,
            binding,
            when,
            max,
            body,
        } => {
            let parts = present([
                payload.as_ref().map(|ty| Part::Type("-> ", ty)),
                binding.as_ref().map(|name| Part::Name("as ", name)),
                when.as_ref().map(|when| Part::Expr("when ", when)),
                max.as_ref().map(|max| Part::Expr("max ", max)),
            ]);
            print_listener(out, name, on, &parts);
            print_block(out, body);
        }
        StatementKind::Ensure { condition, message } => print_ensure(out, condition, message),
        StatementKind::Fail {
            class,
            message,
            when,
        } => print_fail(out, class, message.as_deref(), when.as_deref()),
        StatementKind::Reply(guarded) => print_guarded(out, "reply", guarded),
        StatementKind::Yield(guarded) => print_guarded(out, "yield", guarded),
        StatementKind::Next(guarded) => print_guarded(out, "next", guarded),
        StatementKind::Error => {}
    }
}

fn print_statement_doc<'a>(out: &mut Printer<'a>, doc: Option<&'a str>) {
    if out.text.is_none() {
        print_doc(out, "/// ", doc);
    }
    out.doc_lines = Some(lines_of(doc));
}

fn print_settings<'a>(out: &mut Printer<'a>, keyword: &'static str, settings: &'a Expr) {
    out.keyword(keyword);
    print_value(out, settings);
}

fn print_let_value<'a>(
    out: &mut Printer<'a>,
    name: &'a Name,
    ty: Option<&'a TypeExpr>,
    value: &'a Expr,
) {
    out.keyword("let");
    out.variable(&name.text);
    if let Some(ty) = ty {
        out.word(": ");
        print_type(out, ty);
    }
    out.word(" = ");
    print_value(out, value);
}

fn print_parallel<'a>(out: &mut Printer<'a>, block: &'a Block) {
    out.keyword("parallel");
    print_block(out, block);
}

fn print_ensure<'a>(out: &mut Printer<'a>, condition: &'a Expr, message: &'a Expr) {
    out.keyword("ensure");
    print_value_with(out, condition, &[Part::Expr("else ", message)]);
}

fn print_set<'a>(
    out: &mut Printer<'a>,
    task: &'a Name,
    status: &'a Name,
    context: Option<&'a Expr>,
    parts: &[Part<'a>],
) {
    out.keyword("set");
    out.variable(&task.text);
    out.word(" ");
    out.name(status);
    if let Some(context) = context {
        out.word(" ");
        print_value(out, context);
    }
    let behind = context.map_or(status.span.end, |context| context.span.end);
    out.grouped(|out| print_parts(out, behind, parts));
}

fn print_listener<'a>(out: &mut Printer<'a>, name: &'a Name, on: &'a Expr, parts: &[Part<'a>]) {
    out.keyword("listener");
    print_head(
        out,
        |out| {
            out.variable(&name.text);
            out.word(" on ");
            print_value(out, on);
        },
        on.span.end,
        parts,
    );
}

/// Prints the head of a block: on one line or, if that does not fit, with its parts and the brace on lines of their
/// own.
pub(super) fn print_head<'a>(
    out: &mut Printer<'a>,
    print: impl FnOnce(&mut Printer<'a>),
    behind: u32,
    parts: &[Part<'a>],
) {
    out.grouped(|out| {
        print(out);
        print_parts(out, behind, parts);
        out.line(Break::Space);
    });
}

fn print_guarded<'a>(out: &mut Printer<'a>, word: &'static str, guarded: &'a Guarded) {
    out.keyword(word);
    match &guarded.when {
        Some(when) => print_value_with(out, &guarded.value, &[Part::Expr("when ", when)]),
        None => print_value(out, &guarded.value),
    }
}

fn print_fail<'a>(
    out: &mut Printer<'a>,
    class: &'a Name,
    message: Option<&'a Expr>,
    when: Option<&'a Expr>,
) {
    out.keyword("fail");
    out.word(&*class.text);
    if let Some(message) = message {
        out.word(" ");
        print_value(out, message);
    }
    let behind = message.map_or(class.span.end, |message| message.span.end);
    let parts = present([when.map(|when| Part::Expr("when ", when))]);
    out.grouped(|out| print_parts(out, behind, &parts));
}

fn print_if_statement<'a>(
    out: &mut Printer<'a>,
    arms: &'a [(Expr, Block)],
    otherwise: Option<&'a Block>,
) {
    let mut behind = None;
    for (index, (condition, block)) in arms.iter().enumerate() {
        if index == 0 {
            out.keyword("if");
        } else {
            out.word(" else if ");
        }
        branch_comments(out, behind, condition.span.start);
        print_head(
            out,
            |out| print_value(out, condition),
            condition.span.end,
            &[],
        );
        print_block(out, block);
        behind = Some(block.span.end);
    }
    if let Some(block) = otherwise {
        out.word(" else ");
        branch_comments(out, behind, block.span.start);
        print_block(out, block);
    }
}

/// Moves the comments before a further branch to the top of its block.
fn branch_comments(out: &mut Printer<'_>, behind: Option<u32>, next: u32) {
    if let Some(behind) = behind {
        out.moved = out.comments.take_kind(CommentKind::Plain, behind, next);
    }
}

fn print_task<'a>(
    out: &mut Printer<'a>,
    name: &'a Name,
    title: &'a Text,
    statuses: &'a [Name],
    context: Option<&'a TypeExpr>,
    external: bool,
) {
    out.keyword("task");
    out.variable(&name.text);
    out.word(" ");
    print_plain_text(out, title);
    if let (Some(first), Some(last)) = (statuses.first(), statuses.last()) {
        out.word(" statuses ");
        let start = first.span.start.saturating_sub(1);
        let region = Span::from(start..out.comments.seek(last.span.end, b']') + 1);
        out.list(
            Brackets::LIST,
            region,
            statuses,
            |name| name.span,
            Printer::name,
        );
    }
    if let Some(context) = context {
        out.word(" ");
        print_type(out, context);
    }
    if external {
        out.word(" external");
    }
}

/// Returns the number of lines of a documentation.
pub(super) fn lines_of(doc: Option<&str>) -> usize {
    doc.map_or(0, |doc| doc.split('\n').count())
}
