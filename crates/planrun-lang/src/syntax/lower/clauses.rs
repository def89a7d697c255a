//! Lowers the clauses of steps and the attributes of other statements, and reports what is written twice.

use super::{Children, DamageKind, Lowering, Node, missing, name};
use crate::diag::codes::text as codes;
use crate::diag::{Diagnostic, Edit};
use crate::source::Span;
use crate::syntax::ast::{Clause, ClauseKind, ErrorPattern, Expr, ExprKind, Name, TypeExpr, Undo};
use crate::syntax::grammar::quiet::Rule;
use crate::syntax::place::Place;

/// What may stand in any order in the head of a statement or behind a clause's first value.
#[derive(Default)]
pub(super) struct Attributes {
    pub when: Option<Box<Expr>>,
    pub after: Option<Vec<Name>>,
    pub max: Option<Box<Expr>>,
    pub parallel: Option<Box<Expr>>,
    pub by: Option<Box<Expr>>,
    pub expires: Option<Box<Expr>>,
    pub every: Option<Box<Expr>>,
    pub within: Option<Box<Expr>>,
    pub gives: Option<Box<Expr>>,
    pub payload: Option<Box<TypeExpr>>,
    pub binding: Option<Name>,
    pub settle: bool,
}

impl Lowering<'_> {
    /// The clauses that come next, behind those that stand in the head of the step.
    pub(super) fn clauses(
        &mut self,
        parts: &mut Children<'_>,
        mut clauses: Vec<Clause>,
    ) -> Vec<Clause> {
        while let Some(node) = parts.next() {
            self.add_clause(node, &mut clauses);
        }
        clauses
    }

    pub(super) fn add_clause(&mut self, node: Node<'_>, clauses: &mut Vec<Clause>) {
        let span = self.trim(self.span(&node));
        let kind = self.clause(node, span);
        if let Some(word) = clause_word(&kind)
            && let Some(first) = clauses
                .iter()
                .find(|other| clause_word(&other.kind) == Some(word))
        {
            self.repeated_clause(word, span, first.span);
        }
        clauses.push(Clause { span, kind });
    }

    fn clause(&mut self, node: Node<'_>, place: Span) -> ClauseKind {
        let rule = node.rule();
        let mut parts = Children::of(node);
        match rule {
            Rule::when_clause => ClauseKind::When(self.next_expression(&mut parts)),
            Rule::after_clause => ClauseKind::After(after(parts)),
            Rule::confirm_clause => {
                let text = self.next_expression(&mut parts);
                let mut attributes = Attributes::default();
                self.attributes(&mut attributes, &mut parts);
                ClauseKind::Confirm {
                    text,
                    by: attributes.by,
                    expires: attributes.expires,
                }
            }
            Rule::timeout_clause => ClauseKind::Timeout(self.next_expression(&mut parts)),
            Rule::within_clause => ClauseKind::Within(self.next_expression(&mut parts)),
            Rule::by_clause => ClauseKind::By(self.next_expression(&mut parts)),
            Rule::expires_clause => ClauseKind::Expires(self.next_expression(&mut parts)),
            Rule::retry_clause => ClauseKind::Retry(self.next_expression(&mut parts)),
            Rule::until_clause => {
                let condition = self.next_expression(&mut parts);
                let mut attributes = Attributes::default();
                self.attributes(&mut attributes, &mut parts);
                ClauseKind::Until {
                    condition,
                    every: attributes.every.unwrap_or_else(|| Box::new(missing(place))),
                }
            }
            Rule::cache_clause => ClauseKind::Cache(self.next_expression(&mut parts)),
            Rule::verify_clause => self.verify(parts),
            Rule::recover_clause => self.recover(parts),
            Rule::undo_clause => ClauseKind::Undo(self.undo(parts)),
            _ => {
                self.damaged(place, DamageKind::Clause);
                ClauseKind::Error
            }
        }
    }

    fn verify(&mut self, mut parts: Children<'_>) -> ClauseKind {
        let call = self.next_expression(&mut parts);
        let mut attributes = Attributes::default();
        self.attributes(&mut attributes, &mut parts);
        let check = self.next_expression(&mut parts);
        self.attributes(&mut attributes, &mut parts);
        ClauseKind::Verify {
            call,
            every: attributes.every,
            within: attributes.within,
            binding: attributes.binding.unwrap_or_else(|| name(None)),
            check: Box::new(check),
            gives: attributes.gives,
        }
    }

    fn recover(&mut self, mut parts: Children<'_>) -> ClauseKind {
        let pattern = match parts.take(Rule::error_pattern) {
            Some(node) => error_pattern(node),
            None => ErrorPattern::Any,
        };
        let mut attributes = Attributes::default();
        self.attributes(&mut attributes, &mut parts);
        ClauseKind::Recover {
            pattern,
            binding: attributes.binding,
            body: self.arm_body(&mut parts),
        }
    }

    fn undo(&mut self, mut parts: Children<'_>) -> Undo {
        match parts.take(Rule::do_body) {
            Some(node) => Undo::Do(self.next_block(&mut Children::of(node), Place::Value)),
            None => Undo::Call(self.next_expression(&mut parts)),
        }
    }

    /// Takes attributes in any order, up to a child that is none.
    pub(super) fn attributes(&mut self, attributes: &mut Attributes, parts: &mut Children<'_>) {
        while let Some(rule) = parts.peek().filter(|rule| is_attribute(*rule)) {
            let Some(node) = parts.next() else { return };
            let place = self.span(&node);
            let mut inner = Children::of(node);
            let (word, twice) = match rule {
                Rule::when_clause => ("`when`", self.fill(&mut attributes.when, inner)),
                Rule::max_attribute => ("`max`", self.fill(&mut attributes.max, inner)),
                Rule::parallel_attribute => {
                    ("`parallel`", self.fill(&mut attributes.parallel, inner))
                }
                Rule::by_attribute => ("`by`", self.fill(&mut attributes.by, inner)),
                Rule::expires_attribute => ("`expires`", self.fill(&mut attributes.expires, inner)),
                Rule::every_attribute => ("`every`", self.fill(&mut attributes.every, inner)),
                Rule::within_clause => ("`within`", self.fill(&mut attributes.within, inner)),
                Rule::gives_attribute => ("`gives`", self.fill(&mut attributes.gives, inner)),
                Rule::after_clause => ("`after`", attributes.after.replace(after(inner)).is_some()),
                Rule::payload => (
                    "the type",
                    attributes
                        .payload
                        .replace(Box::new(self.next_type(&mut inner)))
                        .is_some(),
                ),
                Rule::binding => {
                    let word = inner.take(Rule::name);
                    let name = self.variable(word);
                    ("`as`", attributes.binding.replace(name).is_some())
                }
                _ => ("`settle`", std::mem::replace(&mut attributes.settle, true)),
            };
            if twice {
                self.written_twice(word, place);
            }
        }
    }

    fn fill(&mut self, slot: &mut Option<Box<Expr>>, mut parts: Children<'_>) -> bool {
        slot.replace(Box::new(self.next_expression(&mut parts)))
            .is_some()
    }

    /// Reports a part of a head that was written before.
    pub(super) fn written_twice(&mut self, word: &str, place: Span) {
        self.diagnostics.push(
            Diagnostic::new(
                &codes::DUPLICATE_CLAUSE,
                place,
                format!("{word} is written twice"),
            )
            .help("keep one of the two")
            .unsafe_fix(
                "remove the second",
                vec![Edit {
                    span: place,
                    text: String::new(),
                }],
            ),
        );
    }

    fn repeated_clause(&mut self, word: &str, place: Span, first: Span) {
        let same = self.text.get(place.range()) == self.text.get(first.range());
        let diagnostic = Diagnostic::new(
            &codes::DUPLICATE_CLAUSE,
            place,
            format!("clause `{word}` is written twice"),
        )
        .label(first, "first written here")
        .help("keep one of the two");
        let edits = vec![Edit {
            span: place,
            text: String::new(),
        }];
        self.diagnostics.push(if same {
            diagnostic.fix_all("remove the repeated clause", edits)
        } else {
            diagnostic.unsafe_fix("remove the second clause", edits)
        });
    }

    /// An `object` node as an expression.
    pub(super) fn object(&mut self, node: Option<Node<'_>>) -> Expr {
        let Some(node) = node else {
            return missing(Span::default());
        };
        let span = self.span(&node);
        Expr {
            span,
            kind: ExprKind::Object(self.entries(node)),
        }
    }
}

fn is_attribute(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::when_clause
            | Rule::max_attribute
            | Rule::parallel_attribute
            | Rule::by_attribute
            | Rule::expires_attribute
            | Rule::every_attribute
            | Rule::within_clause
            | Rule::gives_attribute
            | Rule::after_clause
            | Rule::payload
            | Rule::binding
            | Rule::settle_attribute
    )
}

fn after(parts: Children<'_>) -> Vec<Name> {
    parts.nodes.map(|node| name(Some(node))).collect()
}

fn error_pattern(node: Node<'_>) -> ErrorPattern {
    let mut parts = Children::of(node);
    if parts.take(Rule::wildcard).is_some() {
        return ErrorPattern::Any;
    }
    ErrorPattern::Classes(parts.nodes.map(|node| name(Some(node))).collect())
}

/// The word of a clause that may stand once; `recover` may be repeated.
fn clause_word(kind: &ClauseKind) -> Option<&'static str> {
    match kind {
        ClauseKind::When(_) => Some("when"),
        ClauseKind::After(_) => Some("after"),
        ClauseKind::Confirm { .. } => Some("confirm"),
        ClauseKind::Timeout(_) => Some("timeout"),
        ClauseKind::By(_) => Some("by"),
        // Two names of one bound: whoever writes both has written it twice.
        ClauseKind::Within(_) | ClauseKind::Expires(_) => Some("within"),
        ClauseKind::Retry(_) => Some("retry"),
        ClauseKind::Until { .. } => Some("until"),
        ClauseKind::Cache(_) => Some("cache"),
        ClauseKind::Verify { .. } => Some("verify"),
        ClauseKind::Undo(_) => Some("undo"),
        ClauseKind::Recover { .. } | ClauseKind::Error => None,
    }
}
