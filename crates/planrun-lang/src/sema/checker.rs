//! The checker of one plan: its state, and the creation of blocks, nodes and guards.

use std::collections::BTreeSet;
use std::sync::Arc;

use foldhash::HashSet;

use super::annotation::NamedTypes;
use super::blocks::{BlockKind, Blocks, GuardMark, OpenBlock};
use super::callable::Callees;
use super::candidates::Candidates;
use super::context::Contexts;
use super::expr::{CheckedExpr, Checker, Expectation, ReadKind, atoms, negated_atoms};
use super::form_to_argument::annotate_forms;
use super::names::{Collision, Names, NewName};
use super::own_plans::OwnPlans;
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
    /// The plans of this file by name.
    pub own: &'a OwnPlans,
    /// Calls that would close a cycle; they have been reported.
    pub circular: &'a BTreeSet<Span>,
    pub types: &'a mut NamedTypes,
    pub diagnostics: &'a mut Vec<Diagnostic>,
    /// The namespaces that some plan of the file has called.
    pub used: &'a mut BTreeSet<Arc<str>>,
    pub names: Names,
    /// The permissions that the plan declares.
    pub allow: Option<Grant>,
    /// Span of `policy { verify: agents }`.
    pub agents_verify: Option<Span>,
    pub blocks: Blocks,
    pub tasks: Vec<Task>,
    pub contexts: Contexts,
    pub plans: Vec<Arc<Plan>>,
    /// The declared type of the reply.
    pub declared: Option<Type>,
    pub replies: Vec<Type>,
    /// Where the names that have been read or waited for were introduced, to find unused ones.
    pub read: HashSet<Span>,
    /// The subset of `read` whose values were read.
    pub valued: HashSet<Span>,
    pub candidates: Candidates,
    /// Names that were introduced twice.
    pub ambiguous: BTreeSet<Arc<str>>,
    /// The innermost statement around what is being checked.
    pub statement: Option<Span>,
    /// Whether what is being checked is evaluated exactly once when that statement is reached: the statement has no
    /// guard, and it is not in a clause that is evaluated only in some runs.
    pub unconditional: bool,
    /// Whether it is inside an `undo`.
    pub undoing: bool,
}

impl<'a> PlanChecker<'a> {
    /// Returns true if the plan's own permissions admit calls of this tool.
    pub(super) fn may_call(&self, namespace: &str, name: &str) -> bool {
        self.allow
            .as_ref()
            .is_none_or(|allow| allow.may_call(namespace, name))
    }

    /// Creates a checker of expressions that sees the names in scope.
    pub(super) fn expressions(&mut self) -> Checker<'_> {
        let callees = self.callees();
        let checker = Checker::new(&self.names, self.diagnostics).with_callees(callees);
        match self.statement {
            Some(statement) => checker.within(self.shared.source, statement, self.unconditional),
            None => checker,
        }
    }

    /// Checks a part of a statement that is evaluated only in some runs, or more than once.
    pub(super) fn conditionally<T>(&mut self, check: impl FnOnce(&mut Self) -> T) -> T {
        let around = std::mem::replace(&mut self.unconditional, false);
        let checked = check(self);
        self.unconditional = around;
        checked
    }

    /// Checks an expression of any type.
    pub(super) fn value(&mut self, expression: &ast::Expr) -> CheckedExpr {
        let before = self.diagnostics.len();
        let code = self.expressions().check(expression);
        self.note_reads(before, expression, &code);
        code
    }

    /// Checks an expression whose place requires a type.
    pub(super) fn value_of(
        &mut self,
        expression: &ast::Expr,
        ty: &Type,
        expectation: Expectation<'_>,
    ) -> CheckedExpr {
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

    /// Checks an expression of type string.
    pub(super) fn text(&mut self, expression: &ast::Expr, what: &str) -> super::expr::CheckedExpr {
        self.value_of(expression, &Type::String, Expectation::of(&what))
    }

    /// Creates a reader of settings that reports into the plan's diagnostics.
    pub(super) fn settings(&mut self) -> SettingsReader<'_> {
        SettingsReader {
            source: Some(self.shared.source),
            diagnostics: self.diagnostics,
        }
    }

    /// Checks a condition.
    pub(super) fn condition(&mut self, expression: &ast::Expr) -> CheckedExpr {
        let before = self.diagnostics.len();
        let code = self.expressions().check_condition(expression);
        self.note_reads(before, expression, &code);
        code
    }

    /// Records the names that an expression reads. If the expression has errors, every name in it counts as read, so
    /// that none is also reported as unused.
    fn note_reads(&mut self, before: usize, expression: &ast::Expr, code: &CheckedExpr) {
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

    /// Records that a name is read or waited for, and returns where it was introduced.
    pub(super) fn note_read(&mut self, name: &str) -> Option<Span> {
        let place = match self.names.lookup(name) {
            Lookup::Found(binding) => binding.span,
            // Reading it here is an error, but the name is not unused.
            Lookup::Later(span) => span,
            Lookup::Namespace | Lookup::Missing => return None,
        };
        self.read.insert(place);
        Some(place)
    }

    /// Returns where a name was introduced first, the span that [`Self::note_read`] records.
    pub(super) fn origin(&self, name: &ast::Name) -> Span {
        if let Lookup::Found(binding) = self.names.lookup(&name.text) {
            binding.span
        } else {
            name.span
        }
    }

    /// Returns the task with this name.
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

    /// Opens a block with its own frame. `statements` are those of the block.
    pub(super) fn open_block(
        &mut self,
        kind: BlockKind,
        label: Option<Arc<str>>,
        statements: &[ast::Statement],
    ) -> BlockId {
        let mut later = Vec::new();
        introduced(statements, &mut later);
        self.names.open(later);
        self.blocks.open(kind, label, self.names.known.mark())
    }

    /// Closes the innermost block.
    pub(super) fn close_block(&mut self) -> Option<OpenBlock> {
        let slots = self.names.close();
        let mut open = self.blocks.leave()?;
        self.names.known.forget(open.known);
        self.diagnostics.extend(annotate_forms(
            &mut open.nodes,
            &self.blocks.all,
            &self.plans,
        ));
        self.blocks.complete(&mut open, slots);
        Some(open)
    }

    /// Returns true if there are more conditions than a plan may have, so that checking stops; reported once.
    pub(super) fn has_too_many_conditions(&mut self, span: Span) -> bool {
        let limit = self.shared.max_conditions;
        if self.blocks.conditions + self.names.conditions <= limit {
            return false;
        }
        // Later calls return true without another report.
        if self.blocks.conditions < usize::MAX / 2 {
            self.blocks.conditions = usize::MAX / 2;
            let message = format!(
                "this plan has more than {limit} conditions, counted for each statement that they guard"
            );
            let diagnostic = codes::text::TOO_DEEP.at(span, message).help(
                "use `match`, or split the plan: each `else if` is guarded by all conditions above it",
            );
            self.report(diagnostic);
        }
        true
    }

    /// Adds a condition to the guard, and returns the mark that removes it.
    pub(super) fn guard(&mut self, condition: &ast::Expr) -> GuardMark {
        let code = self.condition(condition);
        let node = self.blocks.push(condition.span, NodeKind::Condition(code));
        self.guard_by(node, condition, false)
    }

    /// Adds a condition that already has a node to the guard.
    pub(super) fn guard_by(
        &mut self,
        node: NodeId,
        condition: &ast::Expr,
        negated: bool,
    ) -> GuardMark {
        let facts = self.facts_of(condition, !negated);
        if !negated {
            self.report_contradiction(condition, &facts);
        }
        // A condition that always holds makes nothing absent.
        let facts = self.names.known.assume(
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

    /// Adds what holds below a statement that ends the block if `condition` is `truth`: the opposite.
    pub(super) fn assume_not_taken(&mut self, condition: &ast::Expr, truth: bool) {
        let facts = self.facts_of(condition, !truth);
        self.names.known.prove(
            facts
                .into_iter()
                .filter(|fact| !matches!(&*fact.text, "true" | "false")),
        );
    }

    /// Returns what a condition proves if it is `truth`.
    pub(super) fn facts_of(&self, condition: &ast::Expr, truth: bool) -> Vec<Atom> {
        let facts = if truth {
            atoms(condition)
        } else {
            negated_atoms(condition)
        };
        let at = condition.span.start;
        let facts = facts.iter().map(|fact| self.names.dated(fact, at));
        facts.collect()
    }

    /// Reports a condition that contradicts one around it.
    fn report_contradiction(&mut self, condition: &ast::Expr, facts: &[Atom]) {
        let around = self.names.facts();
        let opposite = |fact: &&Atom| {
            around
                .iter()
                .any(|known| known.condition() == fact.condition() && known.negated != fact.negated)
        };
        let Some(fact) = facts.iter().find(opposite) else {
            return;
        };
        let known = if fact.negated {
            fact.text.to_string()
        } else {
            format!("!({})", fact.text)
        };
        let message = if self.names.known.is_guarded_by(fact) {
            "this can never run: an enclosing condition requires the opposite"
        } else {
            "this can never run: if it holds, execution has already ended above"
        };
        let diagnostic = codes::order::UNREACHABLE_STEP
            .at(condition.span, message)
            .note("never true here")
            .help(format!(
                "`{known}` already holds here; move this out of that condition, or remove it"
            ));
        self.report(diagnostic);
    }

    /// Removes the guards that were added since `mark`.
    pub(super) fn unguard(&mut self, mark: impl Into<Option<GuardMark>>) {
        let Some(mark) = mark.into() else { return };
        self.names.known.forget(mark.facts);
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

    /// Claims a name for the innermost block, or reports the collision.
    pub(super) fn claim(&mut self, what: &str, name: &ast::Name, kind: NameKind) {
        let finding = match self.names.claim(&name.text, kind) {
            Ok(()) => None,
            Err(Collision::Twice(first)) => Some(super::finding::duplicate_name(what, name, first)),
            Err(Collision::Hides(outer)) => Some(super::finding::hiding_name(what, name, outer)),
        };
        // A name inside text that could not be parsed may be a reference instead of a second definition.
        let read = !self.shared.damage.any_contains(name.span);
        if let Some(finding) = finding.filter(|_| read) {
            self.report(finding);
            self.ambiguous.insert(name.text.clone());
        }
        self.refuse_namespace_name(name);
        if matches!(kind, NameKind::Step | NameKind::Let | NameKind::Task) {
            self.diagnostics
                .extend(super::finding::separated_name(what, name));
        }
    }

    /// Introduces a loop variable, a loop state or an `as` name.
    pub(super) fn introduce_local(&mut self, name: &ast::Name, ty: Type) -> u32 {
        self.claim("name", name, NameKind::Local);
        if let Some(span) = self.types.place(&name.text) {
            let message = format!("`{}` is already the name of a type", name.text);
            let diagnostic = codes::names::SHADOWED_NAME
                .at(name.span, message)
                .label(span, "this one would be hidden")
                .help("rename the inner one");
            self.report(diagnostic);
        }
        self.introduce(name, NameKind::Local, ty)
    }

    /// Returns the type that readers of a name see; ambiguous names have the invalid type, which suppresses further
    /// diagnostics.
    pub(super) fn seen_type(&self, name: &str, ty: Type) -> Type {
        if self.ambiguous.contains(name) || self.names.is_namespace(name) {
            Type::Invalid
        } else {
            ty.bounded()
        }
    }

    /// Reports a value with the name of a namespace: `a.b(…)` would be ambiguous.
    pub(super) fn refuse_namespace_name(&mut self, name: &ast::Name) {
        if self.names.is_namespace(&name.text) {
            let message = format!("`{}` is the name of a namespace of this file", name.text);
            self.report(
                codes::names::DUPLICATE_NAME
                    .at(name.span, message)
                    .help(format!(
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

/// Collects the names that statements introduce in their frame, including those inside `if` and `parallel`.
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
