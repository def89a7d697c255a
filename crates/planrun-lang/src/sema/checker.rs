//! The checker of one plan: its state, and how blocks, nodes and guards are made.

use std::collections::BTreeSet;
use std::sync::Arc;

use foldhash::HashSet;

use super::annotation::NamedTypes;
use super::blocks::{BlockKind, Blocks, GuardMark, OpenBlock};
use super::callable::Callees;
use super::context::Contexts;
use super::expr::{Checker, Code, Expectation, ReadKind, atoms, negated_atoms};
use super::made::Made;
use super::names::{Collision, Names, NewName};
use super::own_plans::OwnPlans;
use super::passed_on::take_over;
use super::plan::{BlockId, GuardAtom, NodeId, NodeKind, Plan, Task, TaskId};
use super::scope::{Atom, Lookup, NameKind, Scope as _};
use super::settings::SettingsReader;
use super::shared::Shared;
use crate::diag::{Diagnostic, codes};
use crate::permission::Grant;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::Type;

/// The checker of one plan.
pub(super) struct PlanChecker<'a> {
    pub shared: &'a Shared<'a>,
    /// The plans of this file, by which name they are called.
    pub own: &'a OwnPlans,
    /// The places of calls that would go round in a circle, which have been reported.
    pub circular: &'a BTreeSet<Span>,
    pub types: &'a mut NamedTypes,
    pub diagnostics: &'a mut Vec<Diagnostic>,
    /// The namespaces that some plan of the file has called.
    pub used: &'a mut BTreeSet<Arc<str>>,
    pub names: Names,
    /// What the plan says it may reach.
    pub allow: Option<Grant>,
    /// `policy { verify: agents }`, at its place.
    pub agents_verify: Option<Span>,
    pub blocks: Blocks,
    pub tasks: Vec<Task>,
    pub contexts: Contexts,
    pub plans: Vec<Arc<Plan>>,
    /// The declared type of the reply.
    pub declared: Option<Type>,
    pub replies: Vec<Type>,
    /// The places of the names that have been read or waited for, so that what has not can be told.
    pub read: HashSet<Span>,
    /// The part of it whose values were read.
    pub valued: HashSet<Span>,
    pub made: Made,
    /// Names that were introduced twice.
    pub ambiguous: BTreeSet<Arc<str>>,
    /// The innermost statement around what is being checked.
    pub statement: Option<Span>,
    /// Whether that takes something back.
    pub undoing: bool,
}

impl<'a> PlanChecker<'a> {
    /// Whether the plan may call this tool, as far as it says so itself.
    pub(super) fn may_call(&self, namespace: &str, name: &str) -> bool {
        self.allow
            .as_ref()
            .is_none_or(|allow| allow.may_call(namespace, name))
    }

    /// A checker of expressions that sees what can be named here.
    pub(super) fn expressions(&mut self) -> Checker<'_> {
        let callees = self.callees();
        let checker = Checker::new(&self.names, self.diagnostics).beside(callees);
        match self.statement {
            Some(statement) => checker.within(self.shared.source, statement),
            None => checker,
        }
    }

    /// An expression of any type.
    pub(super) fn value(&mut self, expression: &ast::Expr) -> Code {
        let before = self.diagnostics.len();
        let code = self.expressions().check(expression);
        self.note_reads(before, expression, &code);
        code
    }

    /// An expression of a type that its place wants.
    pub(super) fn value_of(
        &mut self,
        expression: &ast::Expr,
        ty: &Type,
        expectation: Expectation<'_>,
    ) -> Code {
        let before = self.diagnostics.len();
        let code = self
            .expressions()
            .check_against(expression, ty, expectation);
        self.note_reads(before, expression, &code);
        code
    }

    pub(super) fn callees(&self) -> Callees<'a> {
        Callees {
            shared: self.shared,
            own: self.own,
        }
    }

    /// An expression that gives text.
    pub(super) fn text(&mut self, expression: &ast::Expr, what: &str) -> super::expr::Code {
        self.value_of(expression, &Type::String, Expectation::of(&what))
    }

    /// An expression that gives a length of time.
    pub(super) fn duration(&mut self, expression: &ast::Expr, what: &str) -> Code {
        self.value_of(expression, &Type::Duration, Expectation::of(&what))
    }

    /// A reader of settings that reports where the plan's findings go.
    pub(super) fn settings(&mut self) -> SettingsReader<'_> {
        SettingsReader {
            source: Some(self.shared.source),
            diagnostics: self.diagnostics,
        }
    }

    /// An expression that decides.
    pub(super) fn condition(&mut self, expression: &ast::Expr) -> Code {
        let before = self.diagnostics.len();
        let code = self.expressions().check_condition(expression);
        self.note_reads(before, expression, &code);
        code
    }

    /// Remembers what an expression reads. Where something is wrong with it, every name in it counts: one that is read in
    /// a wrong way is not unused.
    fn note_reads(&mut self, before: usize, expression: &ast::Expr, code: &Code) {
        if self.diagnostics.len() > before {
            self.note_names(expression);
        }
        for read in &code.reads {
            let place = self.note_read(&read.name);
            if read.kind == ReadKind::Value {
                self.valued.extend(place);
            }
        }
    }

    fn note_names(&mut self, expression: &ast::Expr) {
        let name = match &expression.kind {
            ast::ExprKind::Name(name) => Some(name),
            ast::ExprKind::Call { function, .. } => Some(&function.text),
            _ => None,
        };
        if let Some(name) = name {
            self.note_read(name);
            if self.names.is_namespace(name) {
                self.used.insert(name.clone());
            }
        }
        expression.parts(&mut |part| self.note_names(part));
    }

    /// Remembers that something reads a name, or waits for it, and tells where that was introduced.
    pub(super) fn note_read(&mut self, name: &str) -> Option<Span> {
        let place = match self.names.lookup(name) {
            Lookup::Found(binding) => binding.span,
            // A mistake, and not a name that nobody wants.
            Lookup::Later(span) => span,
            Lookup::Namespace | Lookup::Missing => return None,
        };
        self.read.insert(place);
        Some(place)
    }

    /// Where a name was introduced first, as `note_read` tells it.
    pub(super) fn origin(&self, name: &ast::Name) -> Span {
        if let Lookup::Found(binding) = self.names.lookup(&name.text) {
            binding.span
        } else {
            name.span
        }
    }

    /// The task with this name.
    pub(super) fn task_named(&self, name: &str) -> Option<TaskId> {
        let Lookup::Found(binding) = self.names.lookup(name) else {
            return None;
        };
        let position = self
            .tasks
            .iter()
            .position(|task| task.span == binding.span)?;
        u32::try_from(position)
            .ok()
            .filter(|_| binding.kind == NameKind::Task)
            .map(TaskId)
    }

    /// Opens a block with a frame of its own. `later` are the statements whose names it introduces.
    pub(super) fn open_block(
        &mut self,
        kind: BlockKind,
        label: Option<Arc<str>>,
        statements: &[ast::Statement],
    ) -> BlockId {
        let mut later = Vec::new();
        introduced(statements, &mut later);
        self.names.open(later);
        self.blocks.open(kind, label, self.names.mark())
    }

    /// Closes the innermost block; what it touches belongs to the step that owns it.
    pub(super) fn close_block(&mut self) -> Option<OpenBlock> {
        let slots = self.names.close();
        let mut open = self.blocks.leave()?;
        self.names.forget(open.known);
        self.diagnostics
            .extend(take_over(&mut open.nodes, &self.blocks.all, &self.plans));
        self.blocks.complete(&mut open, slots);
        Some(open)
    }

    /// Whether there are more conditions than a plan may have, so that it is checked no further; told where they become too many.
    pub(super) fn has_too_many_conditions(&mut self, span: Span) -> bool {
        let limit = self.shared.max_conditions;
        if self.blocks.conditions + self.names.conditions <= limit {
            return false;
        }
        // Whatever is asked from here on has been told.
        if self.blocks.conditions < usize::MAX / 2 {
            self.blocks.conditions = usize::MAX / 2;
            let message = format!(
                "with this, more than {limit} conditions stand around the statements of this plan, counted for each"
            );
            let diagnostic = Diagnostic::new(&codes::text::TOO_DEEP, span, message).help(
                "each `else if` stands under all conditions above it; choose with `match`, or make plans of the parts",
            );
            self.report(diagnostic);
        }
        true
    }

    /// Puts a condition around what follows, and tells how to take it away again.
    pub(super) fn guard(&mut self, condition: &ast::Expr) -> GuardMark {
        let code = self.condition(condition);
        let node = self.blocks.push(condition.span, NodeKind::Condition(code));
        self.guard_by(node, condition, false)
    }

    /// Puts a condition that has a node already around what follows.
    pub(super) fn guard_by(
        &mut self,
        node: NodeId,
        condition: &ast::Expr,
        negated: bool,
    ) -> GuardMark {
        let facts = if negated {
            negated_atoms(condition)
        } else {
            atoms(condition)
        };
        if !negated {
            self.contradiction(condition, &facts);
        }
        // What holds anyway makes nothing absent.
        let facts = self.names.assume(
            facts
                .into_iter()
                .filter(|fact| &*fact.text != "true" || fact.negated)
                .collect(),
        );
        let atoms = self.blocks.innermost_mut().map_or(0, |block| {
            block.guard.push(GuardAtom {
                condition: node,
                negated,
            });
            block.guard.len() - 1
        });
        GuardMark { atoms, facts }
    }

    /// Adds what holds below an end that is taken where `condition` comes out as `truth`, and was not: the other way.
    pub(super) fn survive(&mut self, condition: &ast::Expr, node: NodeId, truth: bool) {
        if self.may_change(node) {
            return;
        }
        let facts = if truth {
            negated_atoms(condition)
        } else {
            atoms(condition)
        };
        self.names.prove(
            facts
                .into_iter()
                .filter(|fact| !matches!(&*fact.text, "true" | "false")),
        );
    }

    /// Whether a condition reads a context that a `set` may empty again.
    pub(super) fn may_change(&self, node: NodeId) -> bool {
        let nodes = self
            .blocks
            .innermost()
            .map_or(&[][..], |block| &block.nodes);
        let code = nodes
            .get(node.0 as usize)
            .and_then(|node| match &node.kind {
                NodeKind::Condition(code)
                | NodeKind::Ensure {
                    condition: code, ..
                } => Some(code),
                _ => None,
            });
        let reads = code.map_or(&[][..], |code| &code.reads);
        reads
            .iter()
            .any(|read| read.binding == NameKind::Task && self.contexts.may_empty(&read.name))
    }

    /// Reports a condition that cannot hold, since one around it says the opposite.
    fn contradiction(&mut self, condition: &ast::Expr, facts: &[Atom]) {
        let around = self.names.facts();
        let opposite = |fact: &&Atom| {
            around
                .iter()
                .any(|known| known.text == fact.text && known.negated != fact.negated)
        };
        let Some(fact) = facts.iter().find(opposite) else {
            return;
        };
        let known = if fact.negated {
            fact.text.to_string()
        } else {
            format!("!({})", fact.text)
        };
        let message = if self.names.is_guarded_by(&fact.text) {
            "this can never run: a condition around it says the opposite"
        } else {
            "this can never run: where it holds, everything has ended above"
        };
        let diagnostic = Diagnostic::new(&codes::order::UNREACHABLE_STEP, condition.span, message)
            .note("never true here")
            .help(format!(
                "here `{known}` holds already; move it out of that condition, or take it out"
            ));
        self.report(diagnostic);
    }

    /// Takes away what was put around since `mark`, if there is one.
    pub(super) fn unguard(&mut self, mark: impl Into<Option<GuardMark>>) {
        let Some(mark) = mark.into() else { return };
        self.names.forget(mark.facts);
        if let Some(block) = self.blocks.innermost_mut() {
            block.guard.truncate(mark.atoms);
        }
    }

    /// Introduces a value in the innermost frame.
    pub(super) fn introduce(&mut self, name: &ast::Name, kind: NameKind, ty: Type) -> u32 {
        let ty = self.seen_type(&name.text, ty);
        self.names.introduce(NewName {
            name: &name.text,
            span: name.span,
            kind,
            ty,
        })
    }

    /// Claims a name for the innermost block, or reports what it collides with.
    pub(super) fn claim(&mut self, what: &str, name: &ast::Name, kind: NameKind) {
        let finding = match self.names.claim(&name.text, kind) {
            Ok(()) => None,
            Err(Collision::Twice(first)) => Some(super::finding::duplicate_name(what, name, first)),
            Err(Collision::Hides(outer)) => Some(super::finding::hiding_name(what, name, outer)),
        };
        // What could not be read may mean the name that it repeats.
        let read = !self.shared.damage.any_contains(name.span);
        if let Some(finding) = finding.filter(|_| read) {
            self.report(finding);
            self.ambiguous.insert(name.text.clone());
        }
        self.refuse_namespace_name(name);
    }

    /// Introduces a loop variable, a carried state or an `as` name.
    pub(super) fn introduce_local(&mut self, name: &ast::Name, ty: Type) -> u32 {
        self.claim("name", name, NameKind::Local);
        if let Some(span) = self.types.place(&name.text) {
            let message = format!("`{}` is the name of a type already", name.text);
            let diagnostic = Diagnostic::new(&codes::names::SHADOWED_NAME, name.span, message)
                .label(span, "this one cannot be seen inside")
                .help("give the inner one a name of its own");
            self.report(diagnostic);
        }
        self.introduce(name, NameKind::Local, ty)
    }

    /// The type that readers of a name see: nothing is said of a name that means two things.
    pub(super) fn seen_type(&self, name: &str, ty: Type) -> Type {
        if self.ambiguous.contains(name) || self.names.is_namespace(name) {
            Type::Invalid
        } else {
            ty.bounded()
        }
    }

    /// A value may not bear a namespace's name: `a.b(…)` would mean two things.
    pub(super) fn refuse_namespace_name(&mut self, name: &ast::Name) {
        if self.names.is_namespace(&name.text) {
            let message = format!("`{}` is the name of a namespace of this file", name.text);
            self.report(
                Diagnostic::new(&codes::names::DUPLICATE_NAME, name.span, message).help(format!(
                    "rename the value, or write `use {} as …`",
                    name.text
                )),
            );
        }
    }

    pub(super) fn report(&mut self, finding: Diagnostic) {
        self.diagnostics.push(finding);
    }
}

/// The names that statements introduce in their frame, those under an `if` included.
fn introduced(statements: &[ast::Statement], names: &mut Vec<(Arc<str>, Span)>) {
    for statement in statements {
        if let Some(name) = statement.kind.name() {
            names.push((name.text.clone(), name.span));
        } else if let ast::StatementKind::If { arms, otherwise } = &statement.kind {
            for block in arms.iter().map(|(_, block)| block).chain(otherwise) {
                introduced(&block.statements, names);
            }
        } else if let ast::StatementKind::Parallel(block) = &statement.kind {
            introduced(&block.statements, names);
        }
    }
}
