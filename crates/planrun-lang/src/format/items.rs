//! Prints files and their items.

use super::comments::Gap;
use super::document::Break;
use super::parts::{Part, present, print_parts};
use super::printer::{Brackets, Printer};
use super::statements::{lines_of, print_block};
use super::test_items::print_test;
use super::texts::{print_doc, print_plain_text};
use crate::source::Span;
use crate::syntax::ast::{
    CommentKind, File, Item, ItemKind, Parameter, Plan, Tool, TypeItem, Use, UseNamespace,
};
use crate::syntax::print::{Style, print_type, print_value};

/// Prints a whole file.
pub(super) fn print_file<'a>(mut printer: Printer<'a>, file: &'a File) -> String {
    let out = &mut printer;
    let end = Span::at(out.text.map_or(0, str::len)).start;
    let first = file.items.first().map_or(end, |item| item.span.start);
    if out.text.is_none() {
        print_doc(out, "//! ", file.doc.as_deref());
    }
    let mut behind = None;
    for (index, item) in file.items.iter().enumerate() {
        let mut gap = out.comments.gap(behind, item.span.start, true);
        if index == 0 {
            gap = header(out, gap, first);
            if out.text.is_none() {
                gap.blank = file.doc.is_some();
            }
        } else {
            let apart = !side_by_side(file.items.get(index - 1), item);
            match gap.above.first_mut() {
                Some((_, blank)) => *blank |= apart,
                None => gap.blank |= apart,
            }
        }
        let slot = out.above(gap);
        out.statement_in(slot, item.span, |out| print_item(out, item));
        behind = Some(item.span.end);
        let next = file
            .items
            .get(index + 1)
            .map_or(end, |item| item.span.start);
        let trailing = out.comments.trailing(item.span.end, next, true);
        out.trailing(trailing);
        out.line(Break::Hard);
    }
    if let Some(behind) = behind {
        out.remaining(behind, end, false);
    } else {
        let gap = out.comments.gap(None, end, true);
        let gap = header(out, gap, first);
        out.above(Gap {
            blank: false,
            ..gap
        });
    }
    printer.finish()
}

/// Returns the comments at the top of the file, with the `//!` comments from elsewhere added to them.
fn header<'a>(out: &mut Printer<'a>, mut gap: Gap<'a>, first: u32) -> Gap<'a> {
    let strays = out.comments.take_kind(CommentKind::File, first, u32::MAX);
    let is_file_doc = |comment: &(&str, bool)| comment.0.starts_with("//!");
    let at = gap
        .above
        .iter()
        .rposition(is_file_doc)
        .map_or(0, |index| index + 1);
    gap.above
        .splice(at..at, strays.iter().map(|text| (*text, false)));
    let at = at + strays.len();
    match gap.above.get_mut(at) {
        Some((_, blank)) => *blank |= at > 0,
        None => gap.blank |= at > 0,
    }
    if let Some((_, blank)) = gap.above.first_mut() {
        *blank = false;
    } else {
        gap.blank = false;
    }
    gap
}

fn print_item<'a>(out: &mut Printer<'a>, item: &'a Item) {
    if out.text.is_none() {
        print_doc(out, "/// ", item.doc.as_deref());
    }
    out.doc_lines = Some(lines_of(item.doc.as_deref()));
    match &item.kind {
        ItemKind::Use(used) => print_use(out, used),
        ItemKind::Type(item) => print_type_item(out, item),
        ItemKind::Tool(tool) => print_tool(out, tool),
        ItemKind::Plan(plan) => print_plan(out, plan),
        ItemKind::Test(test) => print_test(out, test, item.span),
        ItemKind::Error => {}
    }
}

fn print_use<'a>(out: &mut Printer<'a>, used: &'a Use) {
    out.keyword("use");
    match used {
        Use::Namespaces(namespaces) => out.filled(namespaces, print_namespace),
        Use::File { path, alias } => {
            print_plain_text(out, path);
            out.word(" as ");
            out.name(alias);
        }
    }
}

fn print_namespace<'a>(out: &mut Printer<'a>, used: &'a UseNamespace) {
    out.name(&used.name);
    if let Some(alias) = &used.alias {
        out.word(" as ");
        out.name(alias);
    }
}

fn print_type_item<'a>(out: &mut Printer<'a>, item: &'a TypeItem) {
    out.keyword("type");
    out.name(&item.name);
    out.word(" = ");
    print_type(out, &item.definition);
}

fn print_tool<'a>(out: &mut Printer<'a>, tool: &'a Tool) {
    out.keyword("tool");
    out.name(&tool.namespace);
    out.word(".");
    out.name(&tool.name);
    let fails = Some(&*tool.fails).filter(|names| !names.is_empty());
    let parts = present([
        tool.effect
            .as_ref()
            .map(|name| Part::Classes("", std::slice::from_ref(name))),
        fails.map(|names| Part::Classes("fails ", names)),
        tool.key.as_ref().map(|name| Part::Name("key ", name)),
    ]);
    out.grouped(|out| {
        print_parameters(
            out,
            tool.name.span,
            &tool.parameters,
            tool.returns.span.start,
            print_argument,
        );
        out.word(" -> ");
        print_type(out, &tool.returns);
        out.grouped(|out| print_parts(out, tool.returns.span.end, &parts));
    });
}

fn print_plan<'a>(out: &mut Printer<'a>, plan: &'a Plan) {
    out.keyword("plan");
    out.name(&plan.name);
    let next = plan
        .returns
        .as_ref()
        .map_or(plan.body.span.start, |ty| ty.span.start);
    out.grouped(|out| {
        print_parameters(out, plan.name.span, &plan.parameters, next, print_parameter);
        if let Some(ty) = &plan.returns {
            out.word(" -> ");
            print_type(out, ty);
        }
    });
    out.word(" ");
    print_block(out, &plan.body);
}

fn print_parameters<'a>(
    out: &mut Printer<'a>,
    name: Span,
    parameters: &'a [Parameter],
    next: u32,
    print: fn(&mut Printer<'a>, &'a Parameter),
) {
    let start = out.comments.seek(name.end, b'(');
    let behind = parameters
        .last()
        .map_or(start, |parameter| parameter.span.end);
    let end = out.comments.seek(behind, b')').min(next) + 1;
    let region = Span::from(start..end);
    out.list(
        Brackets::PARAMETERS,
        region,
        parameters,
        |parameter| parameter.span,
        print,
    );
}

/// Prints a parameter of a plan, which is a variable.
fn print_parameter<'a>(out: &mut Printer<'a>, parameter: &'a Parameter) {
    out.variable(&parameter.name.text);
    print_parameter_type(out, parameter);
}

/// Prints a parameter of a tool, which may have any name.
fn print_argument<'a>(out: &mut Printer<'a>, parameter: &'a Parameter) {
    out.name(&parameter.name);
    print_parameter_type(out, parameter);
}

fn print_parameter_type<'a>(out: &mut Printer<'a>, parameter: &'a Parameter) {
    out.word(if parameter.optional { "?: " } else { ": " });
    print_type(out, &parameter.ty);
    if let Some(default) = &parameter.default {
        out.word(" = ");
        print_value(out, default);
    }
}

/// Returns true if no blank line is required between two items.
fn side_by_side(one: Option<&Item>, other: &Item) -> bool {
    one.is_some_and(|one| {
        matches!(
            (&one.kind, &other.kind),
            (ItemKind::Use(_), ItemKind::Use(_))
                | (ItemKind::Type(_), ItemKind::Type(_))
                | (ItemKind::Tool(_), ItemKind::Tool(_))
        )
    })
}
