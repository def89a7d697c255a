//! The short form of a plan: statements without a head and without `use`, for a text that is handed in and run once.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::ast::{
    Block, CommentKind, ExprKind, File, Inner, Item, ItemKind, LinkKind, Name, Plan, Statement,
    StatementKind, Use, UseNamespace,
};
use super::explained;
use super::grammar::parse::Rule;
use super::lower::{Damage, DamageKind, Lowering};
use super::print::canonical_name as quoted;
use super::scan::Scan;
use super::tree::Tree;
use crate::diag::codes::text as codes;
use crate::diag::{Diagnostic, Edit};
use crate::source::{SourceFile, Span};

/// The name of the plan. `plan` is a word of the language: it begins plans, and stands for the plan itself in conditions.
const NAME: &str = "main";

/// The tree of a text in short form: one plan without inputs, and what it uses. Every place is one of the text.
pub(super) fn read(scan: &Scan<'_>, is_handed_in: bool) -> (File, Vec<Diagnostic>) {
    let mut lowering = Lowering::new(&scan.text, scan.author, &scan.comments);
    let mut file = lowering.file();
    match Tree::read(Rule::short, &scan.text, 0..scan.text.len()) {
        Ok(tree) => {
            let (items, statements) = lowering.short(&tree);
            file.items = items;
            complete(&mut file, statements);
        }
        // Only where the native stack runs out: every text has a reading in short form.
        Err(at) => lowering.damage.push(Damage {
            span: Span::at(at),
            kind: DamageKind::Item,
        }),
    }
    let mut diagnostics = explained(scan, lowering);
    if !is_handed_in {
        diagnostics.extend(missing_head(scan.author, &file));
    }
    (file, diagnostics)
}

/// The text of a plan in short form with its head and its `use` written out; `None` where they are written, or where the
/// text has no statement that could be read.
#[must_use]
pub fn full_text(source: &SourceFile, file: &File) -> Option<String> {
    let mut edits = head(source.text(), file)?;
    edits.sort_by_key(|edit| edit.span);
    let mut text = source.text().to_owned();
    for edit in edits.iter().rev() {
        text.replace_range(edit.span.range(), &edit.text);
    }
    Some(text)
}

/// Puts the statements into a plan, and adds what that calls.
fn complete(file: &mut File, statements: Vec<Statement>) {
    let (Some(first), Some(last)) = (statements.first(), statements.last()) else {
        return;
    };
    let (start, span) = (first.span.start, first.span.to(last.span));
    let word = Span::new(start as usize, start as usize + first_word(first));
    let body = Block { span, statements };
    let known = file.items.iter().filter_map(|item| match &item.kind {
        ItemKind::Use(written) => Some(written),
        _ => None,
    });
    let known = known.flat_map(names_of).collect();
    let mut finder = Finder {
        known,
        found: Vec::new(),
    };
    finder.block(&body);
    let plan = Plan {
        name: Name::new(Arc::<str>::from(NAME), word),
        parameters: Vec::new(),
        returns: None,
        body,
    };
    let item = |span, kind| Item {
        span,
        doc: None,
        kind,
    };
    if !finder.found.is_empty() {
        let uses = ItemKind::Use(Use::Namespaces(finder.found));
        file.items.insert(0, item(Span::at(start as usize), uses));
    }
    file.is_short = true;
    file.items.push(item(span, ItemKind::Plan(plan)));
}

/// The length of the word that a statement begins with.
fn first_word(statement: &Statement) -> usize {
    match &statement.kind {
        StatementKind::Policy(_) => "policy",
        StatementKind::Allow(_) => "allow",
        StatementKind::Step(_) => "step",
        StatementKind::Let { .. } => "let",
        StatementKind::If { .. } => "if",
        StatementKind::Parallel(_) => "parallel",
        StatementKind::Task { .. } => "task",
        StatementKind::Set { .. } => "set",
        StatementKind::Listener { .. } => "listener",
        StatementKind::Ensure { .. } => "ensure",
        StatementKind::Fail { .. } => "fail",
        StatementKind::Reply(_) => "reply",
        StatementKind::Yield(_) => "yield",
        StatementKind::Next(_) => "next",
        StatementKind::Error => "",
    }
    .len()
}

/// The names that a `use` brings.
fn names_of(written: &Use) -> Vec<Arc<str>> {
    match written {
        Use::Namespaces(names) => names
            .iter()
            .map(|one| one.alias.as_ref().unwrap_or(&one.name).text.clone())
            .collect(),
        Use::File { alias, .. } => vec![alias.text.clone()],
    }
}

/// Finds the namespaces that statements call.
struct Finder {
    /// The names that stand for something already.
    known: BTreeSet<Arc<str>>,
    /// Each where it is called first.
    found: Vec<UseNamespace>,
}

impl Finder {
    fn block(&mut self, block: &Block) {
        for statement in &block.statements {
            statement.inner(&mut |inner| match inner {
                Inner::Block(block) => self.block(block),
                Inner::Call(call) => {
                    if let ExprKind::Path { base, links } = &call.kind
                        && let (ExprKind::Name(name), [link]) = (&base.kind, links.as_slice())
                        && let LinkKind::Call { safe: false, .. } = &link.kind
                        && self.known.insert(name.clone())
                    {
                        let name = Name::new(name.clone(), base.span);
                        self.found.push(UseNamespace { name, alias: None });
                    }
                }
            });
            // From here it is a value.
            match &statement.kind {
                StatementKind::Step(step) => self.known.insert(step.name.text.clone()),
                StatementKind::Let { name, .. } => self.known.insert(name.text.clone()),
                _ => continue,
            };
        }
    }
}

fn missing_head(text: &str, file: &File) -> Option<Diagnostic> {
    let plan = unheaded(file)?;
    let message = "this statement stands in no plan";
    let finding = Diagnostic::new(&codes::MISSING_HEAD, plan.name.span, message)
        .note("the first statement of the file")
        .help(format!(
            "write `plan {NAME}() {{` above the statements and `}}` below them; without a head a plan is read from standard \
             input only: `planrun run -`"
        ));
    Some(match head(text, file) {
        Some(edits) => finding.fix_all(format!("put the statements into `plan {NAME}()`"), edits),
        None => finding,
    })
}

/// The plan of a text in short form.
fn unheaded(file: &File) -> Option<&Plan> {
    let mut plans = file.items.iter().filter_map(|item| match &item.kind {
        ItemKind::Plan(plan) => Some(plan),
        _ => None,
    });
    plans.next().filter(|_| file.is_short)
}

/// What makes the full form of a text in short form: its `use`, the head and the braces of its plan. Items that stand
/// between statements move above the head.
fn head(text: &str, file: &File) -> Option<Vec<Edit>> {
    let plan = unheaded(file)?;
    let start = documented_from(text, file, plan.body.span.start);
    let (mut uses, mut above, mut edits) = (String::new(), String::new(), Vec::new());
    for item in &file.items {
        match &item.kind {
            ItemKind::Use(Use::Namespaces(names)) if !item.is_written() => {
                let names: Vec<_> = names.iter().map(|one| quoted(&one.name.text)).collect();
                uses = format!("use {}\n\n", names.join(", "));
            }
            ItemKind::Plan(_) => {}
            ItemKind::Use(_)
            | ItemKind::Type(_)
            | ItemKind::Tool(_)
            | ItemKind::Test(_)
            | ItemKind::Error => {
                let from = documented_from(text, file, item.span.start);
                if from > start {
                    let span = Span::from(from..item.span.end);
                    above.push_str(text.get(span.range())?);
                    above.push_str("\n\n");
                    edits.push(Edit::removal(span));
                }
            }
        }
    }
    let open = format!("{uses}{above}plan {NAME}() {{\n");
    edits.push(Edit::new(Span::at(start as usize), open));
    let end = text.len();
    let close = if text.ends_with('\n') { "}\n" } else { "\n}\n" };
    edits.push(Edit::new(Span::at(end), close));
    Some(edits)
}

/// Where the `///` lines begin that stand directly above a place.
fn documented_from(text: &str, file: &File, place: u32) -> u32 {
    let mut start = place;
    for comment in file.comments.iter().rev() {
        if comment.span.end > start {
            continue;
        }
        let between = text.get(comment.span.end as usize..start as usize);
        let directly = between.is_some_and(|between| between.trim().is_empty());
        if comment.kind != CommentKind::Doc || !directly {
            break;
        }
        start = comment.span.start;
    }
    start
}
