//! Prints blocks and statements.

use super::document::Break;
use super::parts::{Part, present};
use super::printer::{Brackets, Printer};
use crate::source::Span;
use crate::syntax::ast::{Block, Expr, Guarded, Name, Statement, StatementKind, Text, TypeExpr};

impl<'a> Printer<'a> {
    pub fn block(&mut self, block: &'a Block) {
        self.list(
            Brackets::BLOCK,
            block.span,
            &block.statements,
            |statement| statement.span,
            Self::statement,
        );
    }

    fn statement(&mut self, statement: &'a Statement) {
        self.statement_doc(statement.doc.as_deref());
        match &statement.kind {
            StatementKind::Policy(settings) => self.settings("policy", settings),
            StatementKind::Allow(settings) => self.settings("allow", settings),
            StatementKind::Step(step) => self.step(step),
            StatementKind::Let { name, ty, value } => self.let_value(name, ty.as_deref(), value),
            StatementKind::If { arms, otherwise } => self.if_statement(arms, otherwise.as_ref()),
            StatementKind::Parallel(block) => self.parallel(block),
            StatementKind::Task {
                name,
                title,
                statuses,
                context,
                external,
            } => {
                self.task(name, title, statuses, context.as_deref(), *external);
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
                self.set(task, status, context.as_deref(), &parts);
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
                self.listener(name, on, &parts);
                self.block(body);
            }
            StatementKind::Ensure { condition, message } => self.ensure(condition, message),
            StatementKind::Fail {
                class,
                message,
                when,
            } => self.fail(class, message.as_deref(), when.as_deref()),
            StatementKind::Reply(guarded) => self.guarded("reply", guarded),
            StatementKind::Yield(guarded) => self.guarded("yield", guarded),
            StatementKind::Next(guarded) => self.guarded("next", guarded),
            StatementKind::Error => {}
        }
    }

    fn statement_doc(&mut self, doc: Option<&'a str>) {
        if self.text.is_none() {
            self.doc("/// ", doc);
        }
        self.doc_lines = Some(lines_of(doc));
    }

    fn settings(&mut self, keyword: &'static str, settings: &'a Expr) {
        self.keyword(keyword);
        self.value(settings);
    }

    fn let_value(&mut self, name: &'a Name, ty: Option<&'a TypeExpr>, value: &'a Expr) {
        self.keyword("let");
        self.variable(&name.text);
        if let Some(ty) = ty {
            self.word(": ");
            self.ty(ty);
        }
        self.word(" = ");
        self.value(value);
    }

    fn parallel(&mut self, block: &'a Block) {
        self.keyword("parallel");
        self.block(block);
    }

    fn ensure(&mut self, condition: &'a Expr, message: &'a Expr) {
        self.keyword("ensure");
        self.value_with(condition, &[Part::Expr("else ", message)]);
    }

    fn set(
        &mut self,
        task: &'a Name,
        status: &'a Name,
        context: Option<&'a Expr>,
        parts: &[Part<'a>],
    ) {
        self.keyword("set");
        self.variable(&task.text);
        self.word(" ");
        self.name(status);
        if let Some(context) = context {
            self.word(" ");
            self.value(context);
        }
        let behind = context.map_or(status.span.end, |context| context.span.end);
        self.grouped(|this| this.parts(behind, parts));
    }

    fn listener(&mut self, name: &'a Name, on: &'a Expr, parts: &[Part<'a>]) {
        self.keyword("listener");
        self.head(
            |this| {
                this.variable(&name.text);
                this.word(" on ");
                this.value(on);
            },
            on.span.end,
            parts,
        );
    }

    /// What stands before a block: on one line, else with its parts and the brace on lines of their own.
    pub fn head(&mut self, print: impl FnOnce(&mut Self), behind: u32, parts: &[Part<'a>]) {
        self.grouped(|this| {
            print(this);
            this.parts(behind, parts);
            this.line(Break::Space);
        });
    }

    fn guarded(&mut self, word: &'static str, guarded: &'a Guarded) {
        self.keyword(word);
        match &guarded.when {
            Some(when) => self.value_with(&guarded.value, &[Part::Expr("when ", when)]),
            None => self.value(&guarded.value),
        }
    }

    fn fail(&mut self, class: &'a Name, message: Option<&'a Expr>, when: Option<&'a Expr>) {
        self.keyword("fail");
        self.word(&*class.text);
        if let Some(message) = message {
            self.word(" ");
            self.value(message);
        }
        let behind = message.map_or(class.span.end, |message| message.span.end);
        let parts = present([when.map(|when| Part::Expr("when ", when))]);
        self.grouped(|this| this.parts(behind, &parts));
    }

    fn if_statement(&mut self, arms: &'a [(Expr, Block)], otherwise: Option<&'a Block>) {
        let mut behind = None;
        for (index, (condition, block)) in arms.iter().enumerate() {
            if index == 0 {
                self.keyword("if");
            } else {
                self.word(" else if ");
            }
            self.branch_comments(behind, condition.span.start);
            self.head(|this| this.value(condition), condition.span.end, &[]);
            self.block(block);
            behind = Some(block.span.end);
        }
        if let Some(block) = otherwise {
            self.word(" else ");
            self.branch_comments(behind, block.span.start);
            self.block(block);
        }
    }

    /// Comments before a further branch stand at the top of its block.
    fn branch_comments(&mut self, behind: Option<u32>, next: u32) {
        if let Some(behind) = behind {
            self.moved = self.comments.take_plain(behind, next);
        }
    }

    fn task(
        &mut self,
        name: &'a Name,
        title: &'a Text,
        statuses: &'a [Name],
        context: Option<&'a TypeExpr>,
        external: bool,
    ) {
        self.keyword("task");
        self.variable(&name.text);
        self.word(" ");
        self.plain_text(title);
        if let (Some(first), Some(last)) = (statuses.first(), statuses.last()) {
            self.word(" statuses ");
            let start = first.span.start.saturating_sub(1);
            let region = Span {
                start,
                end: self.comments.seek(last.span.end, b']') + 1,
            };
            self.list(
                Brackets::LIST,
                region,
                statuses,
                |name| name.span,
                Self::name,
            );
        }
        if let Some(context) = context {
            self.word(" ");
            self.ty(context);
        }
        if external {
            self.word(" external");
        }
    }
}

/// How many lines a documentation has.
pub(super) fn lines_of(doc: Option<&str>) -> usize {
    doc.map_or(0, |doc| doc.split('\n').count())
}
