//! Prints the clauses of steps, one a line and in one order.

use super::comments::Gap;
use super::document::Break;
use super::parts::{Part, present};
use super::printer::Printer;
use crate::syntax::ast::{ArmBody, Clause, ClauseKind, ErrorPattern, Name, Undo};

/// A clause and the comments beside it.
struct Placed<'a> {
    clause: &'a Clause,
    gap: Gap<'a>,
    trailing: Option<&'a str>,
}

impl<'a> Printer<'a> {
    /// Clauses of a body that ends at `behind`. The `when` of a block stands on its closing line, and the bound of a form is
    /// called `within`.
    pub fn clauses(&mut self, clauses: &'a [Clause], behind: u32, (block, form): (bool, bool)) {
        let (head, mut placed) = self.placed(clauses, behind);
        self.trailing(head);
        placed.sort_by_key(|placed| placed.clause.kind.rank());
        self.indent();
        for (
            index,
            Placed {
                clause,
                gap,
                trailing,
            },
        ) in placed.into_iter().enumerate()
        {
            let when = matches!(clause.kind, ClauseKind::When(_));
            let alone = head.is_none()
                && gap.above.is_empty()
                && !self.comments.any(behind, clause.span.start);
            let inside = self.comments.any(clause.span.start, clause.span.end);
            if index == 0 && block && when && alone && !inside {
                self.word(" ");
            } else {
                self.line(Break::Hard);
            }
            let slot = self.above(Gap {
                blank: false,
                ..gap
            });
            self.clause(&clause.kind, form);
            self.hoist(slot, clause.span.start, clause.span.end);
            self.trailing(trailing);
        }
        self.dedent();
    }

    /// The comment behind the body and the clauses as they were written, with the comments that go with each.
    fn placed(&mut self, clauses: &'a [Clause], behind: u32) -> (Option<&'a str>, Vec<Placed<'a>>) {
        let mut head = None;
        let mut placed: Vec<Placed<'a>> = Vec::with_capacity(clauses.len());
        let mut behind = behind;
        for clause in clauses {
            let mut gap = self.comments.gap(Some(behind), clause.span.start, false);
            let trailing = gap.trailing.take();
            gap.above.iter_mut().for_each(|(_, blank)| *blank = false);
            match placed.last_mut() {
                // Behind the last clause a `///` would document what follows the step.
                Some(_) if trailing.is_some_and(|text| text.starts_with("///")) => {
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
            last.trailing = self.comments.trailing_alone(behind);
        }
        (head, placed)
    }

    fn clause(&mut self, kind: &'a ClauseKind, form: bool) {
        match kind {
            ClauseKind::When(condition) => {
                self.word("when ");
                self.value(condition);
            }
            ClauseKind::After(after) => Part::After(after).print(self),
            ClauseKind::Confirm { text, by, expires } => {
                self.word("confirm ");
                let by = by.as_ref().map(|by| Part::Expr("by ", by));
                let expires = expires
                    .as_ref()
                    .map(|expires| Part::Expr("expires ", expires));
                self.value_with(text, &present([by, expires]));
            }
            ClauseKind::By(role) => {
                self.word("by ");
                self.value(role);
            }
            ClauseKind::Timeout(duration) => {
                self.word("timeout ");
                self.value(duration);
            }
            ClauseKind::Within(duration) => {
                self.word("within ");
                self.value(duration);
            }
            ClauseKind::Expires(duration) => {
                self.word(if form { "within " } else { "expires " });
                self.value(duration);
            }
            ClauseKind::Retry(settings) => {
                self.word("retry ");
                self.value(settings);
            }
            ClauseKind::Until { condition, every } => {
                self.word("until ");
                self.value_with(condition, &[Part::Expr("every ", every)]);
            }
            ClauseKind::Cache(duration) => {
                self.word("cache ");
                self.value(duration);
            }
            ClauseKind::Verify { .. } => self.verify(kind),
            ClauseKind::Recover {
                pattern,
                binding,
                body,
            } => self.recover(pattern, binding.as_ref(), body),
            ClauseKind::Undo(Undo::Call(call)) => {
                self.word("undo ");
                self.value(call);
            }
            ClauseKind::Undo(Undo::Do(body)) => {
                self.word("undo do ");
                self.block(body);
            }
            ClauseKind::Error => {}
        }
    }

    fn recover(&mut self, pattern: &'a ErrorPattern, binding: Option<&'a Name>, body: &'a ArmBody) {
        self.word("recover ");
        match pattern {
            ErrorPattern::Any => self.word("_"),
            ErrorPattern::Classes(classes) => self.classes(classes),
        }
        self.word(" ");
        if let Some(binding) = binding {
            self.word("as ");
            self.variable(&binding.text);
            self.word(" ");
        }
        self.word("=> ");
        self.arm_body(body);
    }

    fn verify(&mut self, kind: &'a ClauseKind) {
        let ClauseKind::Verify {
            call,
            every,
            within,
            binding,
            check,
            gives,
        } = kind
        else {
            return;
        };
        self.word("verify ");
        let every = every.as_ref().map(|every| Part::Expr("every ", every));
        let within = within.as_ref().map(|within| Part::Expr("within ", within));
        self.grouped(|this| {
            this.value_with(call, &present([every, within]));
            this.word(" as ");
            this.variable(&binding.text);
            this.word(" => ");
            this.value(check);
            this.parts(
                check.span.end,
                &present([gives.as_ref().map(|gives| Part::Expr("gives ", gives))]),
            );
        });
    }
}
