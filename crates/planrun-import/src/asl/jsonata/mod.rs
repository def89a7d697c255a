//! Translates expressions of JSONata that have a counterpart.

mod functions;

use planrun_lang::syntax::ast::{BinaryOp, Expr, ExprKind, Literal};

use super::data::Scope;
use crate::expression::cursor::{self, Cursor, Locals};
use crate::expression::path;
use crate::expression::quote::plan;
use crate::expression::tokens::{self, Texts, Token};
use crate::expression::value::Value;
use crate::expression::{
    DEEPEST, added, bound, concatenated, divided, element, is_list, is_single, listed, negative,
    within_bounds,
};
use crate::tree;

/// Translates the expression between `{%` and `%}`.
pub fn read(text: &str, scope: &Scope<'_>) -> Result<Value, String> {
    within_bounds(text)?;
    let tokens = tokens::tokens(text, Texts::Plain)?;
    let mut parser = Parser {
        tokens: Cursor::new(&tokens, 0),
        scope,
        context: None,
        reads_context: false,
        locals: Locals::default(),
        computed: 0,
    };
    let value = parser.expression(0)?;
    parser.tokens.end()?;
    Ok(value.value())
}

/// The result of an expression.
#[derive(Clone)]
enum Output {
    One(Value),
    /// The elements of a list: nothing if there are none, and a single one stands for itself.
    Sequence(Expr),
}

impl Output {
    fn of(value: Expr) -> Self {
        Self::One(Value::Opaque(value))
    }

    /// Returns the value. Reading that of a sequence without elements fails.
    fn value(self) -> Value {
        match self {
            Self::One(value) => value,
            Self::Sequence(list) => Value::Opaque(bound(list, &[], |list| {
                plan!("size(list) > 1 ? list : list[0]", list)
            })),
        }
    }

    fn expr(self) -> Expr {
        self.value().expr()
    }

    /// Returns the elements of a value that is used as a list.
    fn elements(self) -> Expr {
        match self {
            Self::One(value) => value.expr(),
            Self::Sequence(list) => list,
        }
    }

    /// Returns the value as a list.
    fn list(self) -> Expr {
        listed(self.elements())
    }

    fn bounded(self) -> Result<Self, String> {
        match self {
            Self::One(value) => value.bounded().map(Self::One),
            Self::Sequence(list) => Ok(Self::Sequence(Value::Opaque(list).bounded()?.expr())),
        }
    }
}

/// Returns the elements of several lists as one list; a value that is no list is an element.
fn concatenation(parts: Vec<Output>) -> Expr {
    let parts: Vec<Expr> = parts.into_iter().map(Output::elements).collect();
    if !parts.iter().all(|part| is_list(part) || is_single(part)) {
        return plan!("parts.flatten()", parts = tree::list(parts));
    }
    let mut lists: Vec<Expr> = Vec::new();
    for part in parts.into_iter().map(listed) {
        match (lists.last_mut().map(|last| &mut last.kind), part.kind) {
            (Some(ExprKind::List(elements)), ExprKind::List(more)) => elements.extend(more),
            (_, kind) => lists.push(tree::expr(kind)),
        }
    }
    tree::joined(lists, BinaryOp::Add).unwrap_or_else(|| tree::list(Vec::new()))
}

/// Returns whether JSONata takes a value for true; null, false, 0 and empty values are not.
fn truth(value: Output) -> Expr {
    match value {
        Output::Sequence(list) => {
            let holds = truth(Output::of(plan!("one")));
            plan!("list.exists(one, holds)", list, holds)
        }
        Output::One(value) => {
            let value = value.expr();
            if tree::is_truth(&value) {
                return value;
            }
            let may_be_list = !is_single(&value);
            tree::not(is_empty(&plan!("value ?? null", value), may_be_list))
        }
    }
}

/// Returns whether JSONata takes a value for false. A value that is missing is neither, so reading it fails.
fn falsity(value: Output) -> Expr {
    match value {
        Output::One(value) if !tree::is_truth(&value.expr()) => {
            let may_be_list = !is_single(&value.expr());
            is_empty(&value.expr(), may_be_list)
        }
        other => tree::not(truth(other)),
    }
}

fn is_arithmetic(operator: BinaryOp) -> bool {
    use BinaryOp::{Add, Divide, Multiply, Subtract};
    matches!(operator, Add | Subtract | Multiply | Divide)
}

fn operated(left: Output, operator: BinaryOp, right: Output) -> Expr {
    let (left, right) = match operator {
        BinaryOp::Add => return added(left.expr(), right.expr()),
        BinaryOp::Divide => return divided(left.expr(), right.expr()),
        BinaryOp::And | BinaryOp::Or => (truth(left), truth(right)),
        BinaryOp::In => (left.expr(), right.list()),
        _ => (left.expr(), right.expr()),
    };
    tree::binary(left, operator, right)
}

/// Returns the condition of a filter. A number would not be a condition but a position, so the filter fails for one.
fn selection(condition: Output) -> Expr {
    let value = match condition {
        Output::One(value) if !tree::is_truth(&value.expr()) => value.expr(),
        condition => return truth(condition),
    };
    bound(plan!("value ?? null", value), &[], |value| {
        let holds = truth(Output::of(value.clone()));
        plan!("type(value) in [int, double] ? value : holds", value, holds)
    })
}

/// A list, at whichever depth, counts as empty if all its elements do.
fn is_empty(value: &Expr, may_be_list: bool) -> Expr {
    if !may_be_list {
        return plan!(r#"value in [null, false, 0, "", {}]"#, value);
    }
    plan!(
        r#"[value].flatten(deepest).all(one, one in [null, false, 0, "", {}])"#,
        value,
        deepest = tree::int(DEEPEST),
    )
}

struct Parser<'p> {
    tokens: Cursor<'p>,
    scope: &'p Scope<'p>,
    /// The value that bare names refer to inside a filter.
    context: Option<Value>,
    /// Whether the innermost filter reads it.
    reads_context: bool,
    locals: Locals,
    /// How many numbers have been computed so far.
    computed: usize,
}

impl Parser<'_> {
    fn expression(&mut self, least: u8) -> Result<Output, String> {
        self.tokens.enter()?;
        let computed = self.computed;
        let mut left = self.operand()?;
        while let Some((binding, operator)) = self.operator() {
            if binding < least {
                break;
            }
            self.tokens.at += 1;
            left = Output::of(match operator {
                Operator::Choice => {
                    let then = self.expression(0)?.expr();
                    if !self.tokens.eat(":") {
                        return Err(
                            "a choice without `:` may return nothing: add a value after `:`".into(),
                        );
                    }
                    let otherwise = self.expression(0)?.expr();
                    tree::conditional(truth(left), then, otherwise)
                }
                Operator::Text => {
                    let right = self.expression(binding + 1)?.expr();
                    self.report_digits(computed);
                    concatenated([left.expr(), right])
                }
                Operator::Binary(operator) => {
                    let right = self.expression(binding + 1)?;
                    self.computed += usize::from(is_arithmetic(operator));
                    operated(left, operator, right)
                }
            });
        }
        self.tokens.depth -= 1;
        Ok(left)
    }

    /// Reports that a text may have more digits of a number, if one was computed since `before`.
    fn report_digits(&self, before: usize) {
        if self.computed > before {
            self.scope.caveats.borrow_mut().insert(functions::DIGITS);
        }
    }

    fn operator(&self) -> Option<(u8, Operator)> {
        let (binding, operator) = match self.tokens.operator()? {
            "?" => return Some((1, Operator::Choice)),
            "&" => return Some((5, Operator::Text)),
            "=" => (4, BinaryOp::Equal),
            "in" => (4, BinaryOp::In),
            other => cursor::binary(other)?,
        };
        Some((binding, Operator::Binary(operator)))
    }

    fn operand(&mut self) -> Result<Output, String> {
        let token = self.tokens.take()?;
        let value = match token {
            Token::Text(text) => Output::of(tree::text(text)),
            Token::Number(number) => Output::of(
                tree::number(number).ok_or_else(|| format!("`{number}` is not a number"))?,
            ),
            Token::Variable(name) => self.variable(name)?,
            Token::Name(name) => match name.as_str() {
                "true" | "false" => Output::of(tree::boolean(name == "true")),
                "null" => Output::of(tree::null()),
                _ => Output::One(self.context(name)?.get(name)),
            },
            Token::Sign("(") => self.block()?,
            Token::Sign("-") => {
                let operand = self.expression(7)?.expr();
                Output::of(negative(operand))
            }
            Token::Sign("[") => Output::of(self.list()?),
            Token::Sign("{") => Output::One(self.object()?),
            Token::Sign(_) | Token::Template(_) => {
                return Err(format!("`{token}` has no counterpart here"));
            }
        };
        self.links(value)
    }

    /// Parses `(e)`, or `($x := a; e)` with bound variables.
    fn block(&mut self) -> Result<Output, String> {
        let outside = self.locals.len();
        while let (Some(Token::Variable(name)), Some(Token::Sign(":="))) =
            (self.tokens.peek(), self.tokens.after_next())
        {
            self.tokens.at += 2;
            let value = self.expression(0)?.value().bounded()?;
            self.locals.bind(name, value);
            self.tokens.need(";")?;
        }
        let value = self.expression(0)?;
        self.tokens.need(")")?;
        self.locals.truncate(outside);
        Ok(value)
    }

    /// Parses the rest of a list. The elements of a list in it become its own, unless that list is written in brackets.
    fn list(&mut self) -> Result<Expr, String> {
        let mut elements = Vec::new();
        while !self.tokens.eat("]") {
            let is_bracket = matches!(self.tokens.peek(), Some(Token::Sign("[")));
            let element = self.expression(0)?;
            elements.push(match element {
                Output::One(value) if is_bracket && is_list(&value.expr()) => {
                    Output::of(plan!("[value]", value = value.expr()))
                }
                element => element,
            });
            if !self.tokens.eat(",") {
                self.tokens.need("]")?;
                break;
            }
        }
        Ok(concatenation(elements))
    }

    /// Parses the rest of a call, after its parenthesis.
    fn arguments(&mut self) -> Result<Vec<Output>, String> {
        let mut arguments = Vec::new();
        while !self.tokens.eat(")") {
            arguments.push(self.expression(0)?);
            if !self.tokens.eat(",") {
                self.tokens.need(")")?;
                break;
            }
        }
        Ok(arguments)
    }

    fn object(&mut self) -> Result<Value, String> {
        let mut fields = Vec::new();
        while !self.tokens.eat("}") {
            let Ok(Token::Text(key)) = self.tokens.take() else {
                return Err("a computed key of an object has no counterpart".into());
            };
            self.tokens.need(":")?;
            fields.push((key.clone(), self.expression(0)?.value()));
            if !self.tokens.eat(",") {
                self.tokens.need("}")?;
                break;
            }
        }
        Ok(Value::object(fields))
    }

    /// Parses the postfix operators of a value: fields, indices, filters.
    fn links(&mut self, mut value: Output) -> Result<Output, String> {
        loop {
            value = if self.tokens.eat(".") {
                let Output::One(holder) = value else {
                    return Err(
                        "a filter may return one value or several: select one, as in `[0]`".into(),
                    );
                };
                match self.tokens.take()? {
                    Token::Name(key) | Token::Text(key) => Output::One(holder.get(key)),
                    token => return Err(format!("`.{token}` has no counterpart")),
                }
            } else if self.tokens.eat("[") {
                self.bracket(value.elements())?
            } else {
                return Ok(value);
            }
        }
    }

    /// Parses the brackets after a list: a position, or a condition on its elements.
    fn bracket(&mut self, list: Expr) -> Result<Output, String> {
        let outer = self.context.replace(Value::Opaque(plan!("one")));
        let outer_reads = std::mem::take(&mut self.reads_context);
        self.locals.level += 1;
        let inner = self.expression(0)?;
        self.locals.level -= 1;
        self.context = outer;
        let of_element = std::mem::replace(&mut self.reads_context, outer_reads);
        self.tokens.need("]")?;
        let inner = match inner {
            Output::One(value) if !of_element && !tree::is_truth(&value.expr()) => value.expr(),
            condition => {
                let holds = selection(condition);
                return Ok(Output::Sequence(plan!(
                    "list.filter(one, holds)",
                    list,
                    holds
                )));
            }
        };
        match inner.kind {
            ExprKind::Literal(Literal::Int(_)) => Output::of(element(list, inner)).bounded(),
            ExprKind::Literal(_)
            | ExprKind::Template(_)
            | ExprKind::List(_)
            | ExprKind::Object(_) => Err("brackets contain a position or a condition".into()),
            _ => Ok(Output::of(tree::index(list, inner))),
        }
    }

    /// Returns the element to which a name in a filter refers.
    fn context(&mut self, name: &str) -> Result<Value, String> {
        self.reads_context = true;
        self.context
            .clone()
            .ok_or_else(|| format!("`{name}` reads a context that the state does not have"))
    }

    fn variable(&mut self, name: &str) -> Result<Output, String> {
        if self.tokens.eat("(") {
            let computed = self.computed;
            let arguments = self.arguments()?;
            if name == "string" {
                self.report_digits(computed);
            }
            let caveat = functions::caveat(name, &arguments);
            self.scope.caveats.borrow_mut().extend(caveat);
            return functions::counterpart(name, arguments)?.bounded();
        }
        if name.is_empty() {
            return self.context("$").map(Output::One);
        }
        if name == "states" {
            return self.states().map(Output::One);
        }
        let local = self.locals.find(name)?;
        let value = local.or_else(|| self.scope.variables.get(name).cloned());
        let missing = || format!("there is no variable `${name}` in this state");
        value.map(Output::One).ok_or_else(missing)
    }

    /// Parses the rest of `$states.input` and similar expressions.
    fn states(&mut self) -> Result<Value, String> {
        self.tokens.need(".")?;
        let Ok(Token::Name(part)) = self.tokens.take() else {
            return Err("`$states` as a whole has no counterpart".into());
        };
        let missing = |what: &str| format!("`$states.{what}` is not available here");
        match part.as_str() {
            "input" => Ok(self.scope.root.clone()),
            "result" => self.scope.result.clone().ok_or_else(|| missing("result")),
            "errorOutput" => self
                .scope
                .error
                .clone()
                .ok_or_else(|| missing("errorOutput")),
            "context" => {
                let mut path = "$$".to_owned();
                while self.tokens.eat(".") {
                    let Ok(Token::Name(key)) = self.tokens.take() else {
                        return Err("the context object has only names".into());
                    };
                    path.push('.');
                    path.push_str(key);
                }
                self.scope.follow(&path::Path::read(&path)?)
            }
            other => Err(format!("`$states.{other}` does not exist")),
        }
    }
}

enum Operator {
    Choice,
    Text,
    Binary(BinaryOp),
}
