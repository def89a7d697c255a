//! Translates expressions of JSONata that have a counterpart.

mod functions;

use planrun_lang::syntax::ast::{BinaryOp, Expr, ExprKind, Literal, UnaryOp};

use super::data::Scope;
use crate::expression::path;
use crate::expression::tokens::{self, Texts, Token};
use crate::expression::value::Value;
use crate::expression::{ONE, concatenated, within_bounds};
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
        locals: Vec::new(),
    };
    let value = parser.expression(0)?;
    match parser.peek() {
        None => Ok(value),
        Some(token) => Err(format!("`{token}` has no counterpart here")),
    }
}

/// Returns whether JSONata takes a value for true: none of null, false, 0 and what is empty is.
fn truth(value: Expr) -> Expr {
    if tree::is_truth(&value) {
        return value;
    }
    tree::not(is_empty(value))
}

/// Returns whether JSONata takes a value for false.
fn falsity(value: Expr) -> Expr {
    if tree::is_truth(&value) {
        return tree::not(value);
    }
    is_empty(value)
}

fn is_empty(value: Expr) -> Expr {
    let empty = [
        tree::null(),
        tree::boolean(false),
        tree::int(0),
        tree::text(""),
        tree::list(Vec::new()),
        tree::object(Vec::new()),
    ];
    let present = tree::coalesce(value, tree::null());
    tree::binary(present, BinaryOp::In, tree::list(empty.into()))
}

struct Parser<'p> {
    tokens: &'p [Token],
    at: usize,
    scope: &'p Scope<'p>,
    depth: usize,
    /// The value that bare names refer to inside a filter.
    context: Option<Value>,
    /// Variables that the expression itself binds, innermost last.
    locals: Vec<(String, Value)>,
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

    fn expression(&mut self, least: u8) -> Result<Value, String> {
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
            left = match operator {
                Operator::Choice => {
                    let then = self.expression(0)?.expr();
                    let otherwise = if self.eat(":") {
                        self.expression(0)?.expr()
                    } else {
                        tree::null()
                    };
                    Value::Opaque(tree::conditional(truth(left.expr()), then, otherwise))
                }
                Operator::Text => {
                    let right = self.expression(binding + 1)?.expr();
                    Value::Opaque(concatenated([left.expr(), right]))
                }
                Operator::Binary(operator) => {
                    let right = self.expression(binding + 1)?.expr();
                    let left = left.expr();
                    let (left, right) = match operator {
                        BinaryOp::And | BinaryOp::Or => (truth(left), truth(right)),
                        // Dividing integers may give a fraction.
                        BinaryOp::Divide => (tree::function("double", vec![left]), right),
                        _ => (left, right),
                    };
                    Value::Opaque(tree::binary(left, operator, right))
                }
            };
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

    fn operand(&mut self) -> Result<Value, String> {
        let token = self.take().ok_or("unexpected end of the expression")?;
        let value = match token {
            Token::Text(text) => Value::Opaque(tree::text(&text)),
            Token::Number(number) => Value::Opaque(
                tree::number(&number).ok_or_else(|| format!("`{number}` is not a number"))?,
            ),
            Token::Variable(name) => self.variable(&name)?,
            Token::Name(name) => match name.as_str() {
                "true" | "false" => Value::Opaque(tree::boolean(name == "true")),
                "null" => Value::Opaque(tree::null()),
                _ => match &self.context {
                    Some(context) => context.get(&name),
                    None => {
                        return Err(format!(
                            "`{name}` reads a context that the state does not have"
                        ));
                    }
                },
            },
            Token::Sign("(") => self.block()?,
            Token::Sign("-") => {
                let operand = self.expression(7)?.expr();
                Value::Opaque(match operand.kind {
                    ExprKind::Literal(Literal::Int(number)) => tree::int(number.saturating_neg()),
                    ExprKind::Literal(Literal::Double(number)) => {
                        tree::literal(Literal::Double(-number))
                    }
                    _ => tree::unary(UnaryOp::Negate, operand),
                })
            }
            Token::Sign("[") => Value::Opaque(tree::list(self.list("]")?)),
            Token::Sign("{") => self.object()?,
            Token::Sign(_) | Token::Template(_) => {
                return Err(format!("`{token}` has no counterpart here"));
            }
        };
        self.links(value)
    }

    /// Parses `(e)`, or `($x := a; e)` with bound variables.
    fn block(&mut self) -> Result<Value, String> {
        let outside = self.locals.len();
        while let (Some(Token::Variable(name)), Some(Token::Sign(":="))) =
            (self.peek(), self.tokens.get(self.at + 1))
        {
            let name = name.clone();
            self.at += 2;
            let value = self.expression(0)?.bounded()?;
            self.locals.push((name, value));
            self.need(";")?;
        }
        let value = self.expression(0)?;
        self.need(")")?;
        self.locals.truncate(outside);
        Ok(value)
    }

    fn list(&mut self, close: &str) -> Result<Vec<Expr>, String> {
        let mut elements = Vec::new();
        while !self.eat(close) {
            elements.push(self.expression(0)?.expr());
            if !self.eat(",") {
                self.need(close)?;
                break;
            }
        }
        Ok(elements)
    }

    fn object(&mut self) -> Result<Value, String> {
        let mut fields = Vec::new();
        while !self.eat("}") {
            let Some(Token::Text(key)) = self.take() else {
                return Err("a computed key of an object has no counterpart".into());
            };
            self.need(":")?;
            fields.push((key, self.expression(0)?));
            if !self.eat(",") {
                self.need("}")?;
                break;
            }
        }
        Ok(Value::object(fields))
    }

    /// Parses the postfix operators of a value: fields, indices, filters.
    fn links(&mut self, mut value: Value) -> Result<Value, String> {
        let mut is_filtered = false;
        loop {
            if self.eat(".") {
                if is_filtered {
                    return Err(
                        "a filter may return one value or several: select one, as in `[0]`".into(),
                    );
                }
                value = match self.take() {
                    Some(Token::Name(key) | Token::Text(key)) => value.get(&key),
                    Some(token) => return Err(format!("`.{token}` has no counterpart")),
                    None => return Err("unexpected end of the expression".into()),
                };
            } else if self.eat("[") {
                (value, is_filtered) = self.bracket(&value)?;
            } else {
                return Ok(value);
            }
        }
    }

    /// Parses the brackets after a value. Returns the new value and whether it is filtered.
    fn bracket(&mut self, value: &Value) -> Result<(Value, bool), String> {
        let outer = self.context.replace(Value::Opaque(tree::variable(ONE)));
        let inner = self.expression(0)?.expr();
        self.context = outer;
        self.need("]")?;
        let list = value.expr();
        let (chosen, is_filter) = match &inner.kind {
            ExprKind::Literal(Literal::Int(number)) if *number < 0 => {
                let size = tree::function("size", vec![list.clone()]);
                let back = tree::int(number.saturating_neg());
                (
                    tree::index(list, tree::binary(size, BinaryOp::Subtract, back)),
                    false,
                )
            }
            ExprKind::Literal(Literal::Int(_)) => (tree::index(list, inner), false),
            _ => {
                let arguments = vec![tree::variable(ONE), tree::truth(inner)];
                (tree::method(list, "filter", arguments), true)
            }
        };
        Ok((Value::Opaque(chosen), is_filter))
    }

    fn variable(&mut self, name: &str) -> Result<Value, String> {
        if self.eat("(") {
            let arguments = self.list(")")?;
            return functions::counterpart(name, arguments).map(Value::Opaque);
        }
        if name.is_empty() {
            let context = self.context.clone();
            return context
                .ok_or_else(|| "`$` reads a context that the state does not have".into());
        }
        if name == "states" {
            return self.states();
        }
        let local = self.locals.iter().rev().find(|(local, _)| local == name);
        if let Some((_, value)) = local {
            return Ok(value.clone());
        }
        match self.scope.variables.get(name) {
            Some(value) => Ok(value.clone()),
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
