//! The short form of a plan, for standard input: statements without a head, whose namespaces need no `use`.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::ast::{
    Block, CommentKind, ExprKind, File, Inner, Item, ItemKind, LinkKind, Name, Plan, Statement,
    StatementKind, Use, UseNamespace,
};
use super::grammar::parse::Rule;
use super::lower::{Damage, DamageKind, Lowering};
use super::print::canonical_name as quoted;
use super::scan::Scan;
use super::tree::Tree;
use super::{damaged, explained};
use crate::diag::codes::text as codes;
use crate::diag::{Diagnostic, Edit};
use crate::source::{SourceFile, Span};

/// The name of the plan. `plan` is not available: it is a keyword, and in conditions it denotes the plan itself.
const NAME: &str = "main";

/// Parses a text in short form as one plan without inputs, and the `use` it needs. All spans are spans of the text.
pub(super) fn read(scan: &Scan<'_>, is_inline: bool) -> (File, Vec<Diagnostic>) {
    let mut lowering = Lowering::new(&scan.text, scan.author, &scan.comments);
    let mut file = lowering.file();
    match Tree::read(Rule::short, &scan.text, 0..scan.text.len()) {
        Ok(tree) => {
            let (items, statements) = lowering.short(&tree);
            file.items = items;
            complete(&mut file, statements);
        }
        // Does not happen: the grammar accepts every text in short form.
        Err(at) => lowering.damage.push(Damage {
            span: Span::at(at),
            kind: DamageKind::Item,
        }),
    }
    file.damaged = damaged(scan, &lowering);
    let mut diagnostics = explained(scan, lowering);
    if !is_inline {
        diagnostics.extend(missing_head(scan.author, &file));
    }
    (file, diagnostics)
}

/// Returns the text of a plan in short form with its head and its `use` written out; `None` if the file is not in short
/// form or has no statement that could be parsed.
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

/// Puts the statements into a plan and adds a `use` of the namespaces it calls.
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

/// Returns the length of the word that a statement begins with.
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

/// Returns the names that a `use` declares.
fn names_of(written: &Use) -> Vec<Arc<str>> {
    match written {
        Use::Namespaces(names) => names
            .iter()
            .map(|one| one.alias.as_ref().unwrap_or(&one.name).text.clone())
            .collect(),
        Use::File { alias, .. } => vec![alias.text.clone()],
    }
}

/// Collects the namespaces that statements call.
struct Finder {
    /// Names that are already declared.
    known: BTreeSet<Arc<str>>,
    /// The namespaces, each with the span of its first call.
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
            // From here on the name is a value, not a namespace.
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
    let message = "this statement is not inside a plan";
    let finding = codes::MISSING_HEAD.at(plan.name.span, message)
        .note("the first statement of the file")
        .help(format!(
            "write `plan {NAME}() {{` above the statements and `}}` below them; a plan without a head can only be read from standard input: `planrun run -`"
        ));
    Some(match head(text, file) {
        Some(edits) => finding.fix_all(format!("put the statements into `plan {NAME}()`"), edits),
        None => finding,
    })
}

/// Returns the plan of a text in short form; `None` for other files.
fn unheaded(file: &File) -> Option<&Plan> {
    let mut plans = file.items.iter().filter_map(|item| match &item.kind {
        ItemKind::Plan(plan) => Some(plan),
        _ => None,
    });
    plans.next().filter(|_| file.is_short)
}

/// Returns the edits that convert a text in short form to the full form: its `use`, and the head and braces of its
/// plan. Items between statements move above the head.
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

/// Returns the start of the `///` lines directly above `place`, or `place` if there are none.
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
