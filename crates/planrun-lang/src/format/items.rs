//! Prints files and their items.

use super::comments::Gap;
use super::document::Break;
use super::parts::{Part, present};
use super::printer::{Brackets, Printer};
use super::statements::lines_of;
use crate::source::Span;
use crate::syntax::ast::{
    Expr, File, Item, ItemKind, Parameter, Plan, Tool, TypeItem, Use, UseNamespace,
};
use crate::syntax::precedence::Level;

impl<'a> Printer<'a> {
    /// The text of a whole file.
    pub fn file(mut self, file: &'a File) -> String {
        let end = Span::at(self.text.map_or(0, str::len)).start;
        let first = file.items.first().map_or(end, |item| item.span.start);
        if self.text.is_none() {
            self.doc("//! ", file.doc.as_deref());
        }
        let mut behind = None;
        for (index, item) in file.items.iter().enumerate() {
            let mut gap = self.comments.gap(behind, item.span.start, true);
            if index == 0 {
                gap = self.header(gap, first);
                if self.text.is_none() {
                    gap.blank = file.doc.is_some();
                }
            } else {
                let apart = !side_by_side(file.items.get(index - 1), item);
                match gap.above.first_mut() {
                    Some((_, blank)) => *blank |= apart,
                    None => gap.blank |= apart,
                }
            }
            let slot = self.above(gap);
            self.statement_in(slot, item.span, |this| this.item(item));
            behind = Some(item.span.end);
            let next = file
                .items
                .get(index + 1)
                .map_or(end, |item| item.span.start);
            let trailing = self.comments.trailing(item.span.end, next, true);
            self.trailing(trailing);
            self.line(Break::Hard);
        }
        if let Some(behind) = behind {
            self.remaining(behind, end, false);
        } else {
            let gap = self.comments.gap(None, end, true);
            let gap = self.header(gap, first);
            self.above(Gap {
                blank: false,
                ..gap
            });
        }
        self.finish()
    }

    /// The comments at the top of the file, joined by every `//!` that stands elsewhere.
    fn header(&mut self, mut gap: Gap<'a>, first: u32) -> Gap<'a> {
        let strays = self.comments.take_file_docs(first);
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

    /// Documentation that a tree without a text brings along.
    pub fn doc(&mut self, marker: &'static str, doc: Option<&str>) {
        for line in doc.iter().flat_map(|doc| doc.split('\n')) {
            self.word(format!("{marker}{line}").trim_end().to_owned());
            self.line(Break::Hard);
        }
    }

    fn item(&mut self, item: &'a Item) {
        if self.text.is_none() {
            self.doc("/// ", item.doc.as_deref());
        }
        self.doc_lines = Some(lines_of(item.doc.as_deref()));
        match &item.kind {
            ItemKind::Use(used) => self.used(used),
            ItemKind::Type(item) => self.type_item(item),
            ItemKind::Tool(tool) => self.tool(tool),
            ItemKind::Plan(plan) => self.plan(plan),
            ItemKind::Test(test) => self.test(test, item.span),
            ItemKind::Error => {}
        }
    }

    fn used(&mut self, used: &'a Use) {
        self.keyword("use");
        match used {
            Use::Namespaces(namespaces) => self.filled(namespaces, Self::namespace),
            Use::File { path, alias } => {
                self.plain_text(path);
                self.word(" as ");
                self.name(alias);
            }
        }
    }

    fn namespace(&mut self, used: &'a UseNamespace) {
        self.name(&used.name);
        if let Some(alias) = &used.alias {
            self.word(" as ");
            self.name(alias);
        }
    }

    fn type_item(&mut self, item: &'a TypeItem) {
        self.keyword("type");
        self.name(&item.name);
        self.word(" = ");
        self.ty(&item.definition);
    }

    fn tool(&mut self, tool: &'a Tool) {
        self.keyword("tool");
        self.name(&tool.namespace);
        self.word(".");
        self.name(&tool.name);
        let fails = Some(&*tool.fails).filter(|names| !names.is_empty());
        let parts = present([
            tool.effect
                .as_ref()
                .map(|name| Part::Classes("", std::slice::from_ref(name))),
            fails.map(|names| Part::Classes("fails ", names)),
            tool.key.as_ref().map(|name| Part::Name("key ", name)),
        ]);
        self.grouped(|this| {
            this.parameters(
                tool.name.span,
                &tool.parameters,
                tool.returns.span.start,
                Self::argument,
            );
            this.word(" -> ");
            this.ty(&tool.returns);
            this.grouped(|this| this.parts(tool.returns.span.end, &parts));
        });
    }

    fn plan(&mut self, plan: &'a Plan) {
        self.keyword("plan");
        self.name(&plan.name);
        let next = plan
            .returns
            .as_ref()
            .map_or(plan.body.span.start, |ty| ty.span.start);
        self.grouped(|this| {
            this.parameters(plan.name.span, &plan.parameters, next, Self::parameter);
            if let Some(ty) = &plan.returns {
                this.word(" -> ");
                this.ty(ty);
            }
        });
        self.word(" ");
        self.block(&plan.body);
    }

    fn parameters(
        &mut self,
        name: Span,
        parameters: &'a [Parameter],
        next: u32,
        print: fn(&mut Self, &'a Parameter),
    ) {
        let start = self.comments.seek(name.end, b'(');
        let behind = parameters
            .last()
            .map_or(start, |parameter| parameter.span.end);
        let end = self.comments.seek(behind, b')').min(next) + 1;
        let region = Span { start, end };
        self.list(
            Brackets::PARAMETERS,
            region,
            parameters,
            |parameter| parameter.span,
            print,
        );
    }

    /// A parameter of a plan, which is a variable there.
    fn parameter(&mut self, parameter: &'a Parameter) {
        self.variable(&parameter.name.text);
        self.parameter_type(parameter);
    }

    /// A parameter of a tool, which may be called anything.
    fn argument(&mut self, parameter: &'a Parameter) {
        self.name(&parameter.name);
        self.parameter_type(parameter);
    }

    fn parameter_type(&mut self, parameter: &'a Parameter) {
        self.word(if parameter.optional { "?: " } else { ": " });
        self.ty(&parameter.ty);
        if let Some(default) = &parameter.default {
            self.word(" = ");
            self.value(default);
        }
    }

    /// An expression that stands alone.
    pub fn value(&mut self, expr: &'a Expr) {
        self.expr(expr, Level::Conditional);
    }
}

/// Whether two items may stand without a blank line between them.
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
