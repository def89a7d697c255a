//! Translates expressions of JSONata that have a counterpart.

mod functions;

use planrun_lang::syntax::ast::{BinaryOp, Expr, ExprKind, Literal, UnaryOp};

use super::data::Scope;
use crate::expression::path;
use crate::expression::tokens::{self, Texts, Token};
use crate::expression::value::Value;
use crate::expression::{
    DEEPEST, ONE, added, bound, concatenated, divided, element, has_type, is_list, is_single,
    listed, reads, within_bounds,
};
use crate::tree;

/// The deepest nesting of expressions.
const MAX_DEPTH: usize = 40;

/// Translates the expression between `{%` and `%}`.
///
/// # Errors
/// Returns a message if it is invalid or has no counterpart.
pub fn read(text: &str, scope: &Scope<'_>) -> Result<Value, String> {
    within_bounds(text)?;
    let tokens = tokens::tokens(text, Texts::Plain)?;
    let mut parser = Parser {
        tokens: &tokens,
        at: 0,
        scope,
        depth: 0,
        context: None,
        reads_context: false,
        level: 0,
        locals: Vec::new(),
    };
    let value = parser.expression(0)?;
    match parser.peek() {
        None => Ok(value.value()),
        Some(token) => Err(format!("`{token}` has no counterpart here")),
    }
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
                let size = tree::function("size", vec![list.clone()]);
                let several = tree::binary(size, BinaryOp::Greater, tree::int(1));
                let first = tree::index(list.clone(), tree::int(0));
                tree::conditional(several, list.clone(), first)
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
        return tree::method(tree::list(parts), "flatten", Vec::new());
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
            let one = tree::variable(ONE);
            let holds = truth(Output::of(one.clone()));
            tree::method(list, "exists", vec![one, holds])
        }
        Output::One(value) => {
            let value = value.expr();
            if tree::is_truth(&value) {
                return value;
            }
            let may_be_list = !is_single(&value);
            tree::not(is_empty(tree::coalesce(value, tree::null()), may_be_list))
        }
    }
}

/// Returns whether JSONata takes a value for false. A value that is missing is neither, so reading it fails.
fn falsity(value: Output) -> Expr {
    match value {
        Output::One(value) if !tree::is_truth(&value.expr()) => {
            let may_be_list = !is_single(&value.expr());
            is_empty(value.expr(), may_be_list)
        }
        other => tree::not(truth(other)),
    }
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
    bound(tree::coalesce(value, tree::null()), &[], |value| {
        let holds = truth(Output::of(value.clone()));
        tree::conditional(has_type(value, &["int", "double"]), value.clone(), holds)
    })
}

/// A list, at whichever depth, counts as empty if all its elements do.
fn is_empty(value: Expr, may_be_list: bool) -> Expr {
    let empty = [
        tree::null(),
        tree::boolean(false),
        tree::int(0),
        tree::text(""),
        tree::object(Vec::new()),
    ];
    let empty = tree::list(empty.into());
    if !may_be_list {
        return tree::binary(value, BinaryOp::In, empty);
    }
    let one = || tree::variable(ONE);
    let elements = tree::method(tree::list(vec![value]), "flatten", vec![tree::int(DEEPEST)]);
    let is_one_empty = tree::binary(one(), BinaryOp::In, empty);
    tree::method(elements, "all", vec![one(), is_one_empty])
}

struct Parser<'p> {
    tokens: &'p [Token],
    at: usize,
    scope: &'p Scope<'p>,
    depth: usize,
    /// The value that bare names refer to inside a filter.
    context: Option<Value>,
    /// Whether the innermost filter reads it.
    reads_context: bool,
    /// Number of enclosing filters.
    level: usize,
    /// Variables that the expression itself binds, with the level at which it does, innermost last.
    locals: Vec<(String, Value, usize)>,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn take(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    fn eat(&mut self, sign: &str) -> bool {
        let is_there = matches!(self.peek(), Some(Token::Sign(there)) if *there == sign);
        self.at += usize::from(is_there);
        is_there
    }

    fn need(&mut self, sign: &str) -> Result<(), String> {
        if self.eat(sign) {
            return Ok(());
        }
        let found = self
            .peek()
            .map_or("the end of the expression".to_owned(), |token| {
                format!("`{token}`")
            });
        Err(format!("expected `{sign}`, found {found}"))
    }

    fn expression(&mut self, least: u8) -> Result<Output, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("the expression is nested too deeply".into());
        }
        let mut left = self.operand()?;
        while let Some((binding, operator)) = self.operator() {
            if binding < least {
                break;
            }
            self.at += 1;
            left = Output::of(match operator {
                Operator::Choice => {
                    let then = self.expression(0)?.expr();
                    if !self.eat(":") {
                        return Err(
                            "a choice without `:` may return nothing: add a value after `:`".into(),
                        );
                    }
                    let otherwise = self.expression(0)?.expr();
                    tree::conditional(truth(left), then, otherwise)
                }
                Operator::Text => {
                    let right = self.expression(binding + 1)?.expr();
                    concatenated([left.expr(), right])
                }
                Operator::Binary(operator) => {
                    let right = self.expression(binding + 1)?;
                    operated(left, operator, right)
                }
            });
        }
        self.depth -= 1;
        Ok(left)
    }

    fn operator(&self) -> Option<(u8, Operator)> {
        let word = match self.peek()? {
            Token::Sign(sign) => sign,
            Token::Name(name) => name.as_str(),
            Token::Variable(_) | Token::Text(_) | Token::Template(_) | Token::Number(_) => {
                return None;
            }
        };
        let binary = |binding, operator| Some((binding, Operator::Binary(operator)));
        match word {
            "?" => Some((1, Operator::Choice)),
            "or" => binary(2, BinaryOp::Or),
            "and" => binary(3, BinaryOp::And),
            "=" => binary(4, BinaryOp::Equal),
            "!=" => binary(4, BinaryOp::NotEqual),
            "<" => binary(4, BinaryOp::Less),
            "<=" => binary(4, BinaryOp::LessEqual),
            ">" => binary(4, BinaryOp::Greater),
            ">=" => binary(4, BinaryOp::GreaterEqual),
            "in" => binary(4, BinaryOp::In),
            "&" => Some((5, Operator::Text)),
            "+" => binary(5, BinaryOp::Add),
            "-" => binary(5, BinaryOp::Subtract),
            "*" => binary(6, BinaryOp::Multiply),
            "/" => binary(6, BinaryOp::Divide),
            "%" => binary(6, BinaryOp::Remainder),
            _ => None,
        }
    }

    fn operand(&mut self) -> Result<Output, String> {
        let token = self.take().ok_or("unexpected end of the expression")?;
        let value = match token {
            Token::Text(text) => Output::of(tree::text(&text)),
            Token::Number(number) => Output::of(
                tree::number(&number).ok_or_else(|| format!("`{number}` is not a number"))?,
            ),
            Token::Variable(name) => self.variable(&name)?,
            Token::Name(name) => match name.as_str() {
                "true" | "false" => Output::of(tree::boolean(name == "true")),
                "null" => Output::of(tree::null()),
                _ => Output::One(self.context(&name)?.get(&name)),
            },
            Token::Sign("(") => self.block()?,
            Token::Sign("-") => {
                let operand = self.expression(7)?.expr();
                Output::of(match operand.kind {
                    ExprKind::Literal(Literal::Int(number)) => tree::int(number.saturating_neg()),
                    ExprKind::Literal(Literal::Double(number)) => {
                        tree::literal(Literal::Double(-number))
                    }
                    _ => tree::unary(UnaryOp::Negate, operand),
                })
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
            (self.peek(), self.tokens.get(self.at + 1))
        {
            let name = name.clone();
            self.at += 2;
            let value = self.expression(0)?.value().bounded()?;
            self.locals.push((name, value, self.level));
            self.need(";")?;
        }
        let value = self.expression(0)?;
        self.need(")")?;
        self.locals.truncate(outside);
        Ok(value)
    }

    /// Parses the rest of a list. The elements of a list in it become its own, unless that list is written in brackets.
    fn list(&mut self) -> Result<Expr, String> {
        let mut elements = Vec::new();
        while !self.eat("]") {
            let is_bracket = matches!(self.peek(), Some(Token::Sign("[")));
            let element = self.expression(0)?;
            elements.push(match element {
                Output::One(value) if is_bracket && is_list(&value.expr()) => {
                    Output::of(tree::list(vec![value.expr()]))
                }
                element => element,
            });
            if !self.eat(",") {
                self.need("]")?;
                break;
            }
        }
        Ok(concatenation(elements))
    }

    /// Parses the rest of a call, after its parenthesis.
    fn arguments(&mut self) -> Result<Vec<Output>, String> {
        let mut arguments = Vec::new();
        while !self.eat(")") {
            arguments.push(self.expression(0)?);
            if !self.eat(",") {
                self.need(")")?;
                break;
            }
        }
        Ok(arguments)
    }

    fn object(&mut self) -> Result<Value, String> {
        let mut fields = Vec::new();
        while !self.eat("}") {
            let Some(Token::Text(key)) = self.take() else {
                return Err("a computed key of an object has no counterpart".into());
            };
            self.need(":")?;
            fields.push((key, self.expression(0)?.value()));
            if !self.eat(",") {
                self.need("}")?;
                break;
            }
        }
        Ok(Value::object(fields))
    }

    /// Parses the postfix operators of a value: fields, indices, filters.
    fn links(&mut self, mut value: Output) -> Result<Output, String> {
        loop {
            value = if self.eat(".") {
                let Output::One(holder) = value else {
                    return Err(
                        "a filter may return one value or several: select one, as in `[0]`".into(),
                    );
                };
                match self.take() {
                    Some(Token::Name(key) | Token::Text(key)) => Output::One(holder.get(&key)),
                    Some(token) => return Err(format!("`.{token}` has no counterpart")),
                    None => return Err("unexpected end of the expression".into()),
                }
            } else if self.eat("[") {
                self.bracket(value.elements())?
            } else {
                return Ok(value);
            }
        }
    }

    /// Parses the brackets after a list: a position, or a condition on its elements.
    fn bracket(&mut self, list: Expr) -> Result<Output, String> {
        let outer = self.context.replace(Value::Opaque(tree::variable(ONE)));
        let outer_reads = std::mem::take(&mut self.reads_context);
        self.level += 1;
        let inner = self.expression(0)?;
        self.level -= 1;
        self.context = outer;
        let of_element = std::mem::replace(&mut self.reads_context, outer_reads);
        self.need("]")?;
        let inner = match inner {
            Output::One(value) if !of_element && !tree::is_truth(&value.expr()) => value.expr(),
            condition => {
                let arguments = vec![tree::variable(ONE), selection(condition)];
                return Ok(Output::Sequence(tree::method(list, "filter", arguments)));
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
        if self.eat("(") {
            let arguments = self.arguments()?;
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
        let mut locals = self.locals.iter().rev();
        if let Some((_, value, level)) = locals.find(|(local, ..)| local == name) {
            if *level != self.level && reads(&value.expr(), ONE) {
                return Err(format!(
                    "`${name}` is an element of an outer list, which is hidden by an inner one"
                ));
            }
            return Ok(Output::One(value.clone()));
        }
        match self.scope.variables.get(name) {
            Some(value) => Ok(Output::One(value.clone())),
            None => Err(format!("there is no variable `${name}` in this state")),
        }
    }

    /// Parses the rest of `$states.input` and similar expressions.
    fn states(&mut self) -> Result<Value, String> {
        self.need(".")?;
        let Some(Token::Name(part)) = self.take() else {
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
                while self.eat(".") {
                    let Some(Token::Name(key)) = self.take() else {
                        return Err("the context object has only names".into());
                    };
                    path.push('.');
                    path.push_str(&key);
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
