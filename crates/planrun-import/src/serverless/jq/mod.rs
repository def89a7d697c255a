//! Translates expressions of jq that have a counterpart.

mod functions;
mod operators;

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::syntax::ast::{BinaryOp, Expr};

use crate::draft::excerpt;
use crate::expression::cursor::{self, Cursor, Locals};
use crate::expression::quote::plan;
use crate::expression::tokens::{self, Piece, Texts, Token};
use crate::expression::value::Value;
use crate::expression::{Caveats, concatenated, is_list, negative, part, within_bounds};
use crate::tree;
pub use operators::truth;
use operators::{alternative, field, operated, position};

/// Words that end an operand, and therefore are not fields after a dot.
const KEYWORDS: [&str; 7] = ["and", "or", "as", "then", "elif", "else", "end"];

/// The values that an expression can read.
pub struct Scope<'s> {
    /// The value of `.`.
    pub dot: Value,
    pub variables: &'s BTreeMap<String, Value>,
    /// The variables that hold errors.
    pub errors: &'s BTreeSet<String>,
    pub caveats: Caveats,
}

/// Translates an expression.
pub fn read(text: &str, scope: &Scope<'_>) -> Result<Value, String> {
    within_bounds(text)?;
    nested(text, scope, &Reader::new(&[], scope))
}

/// Translates an expression inside another one, whose bound variables it can read.
fn nested(text: &str, scope: &Scope<'_>, outer: &Reader<'_>) -> Result<Value, String> {
    let tokens = tokens::tokens(text, Texts::Templates)?;
    let mut reader = Reader {
        tokens: Cursor::new(&tokens, outer.tokens.depth),
        scope,
        dot: outer.dot.clone(),
        locals: outer.locals.clone(),
    };
    let value = reader.pipe()?.one()?;
    reader.tokens.end()?;
    Ok(value)
}

/// Reports that an expression iterates over a list: jq also iterates over the values of an object.
fn assume_list(value: &Expr, scope: &Scope<'_>) {
    if !is_list(value) {
        let why = "is assumed to iterate over lists only: over an object, jq reads the values, and a plan the keys";
        scope.caveats.borrow_mut().insert(why);
    }
}

/// The output of a part of an expression.
enum Output {
    One(Value),
    /// The elements of a list, one after another.
    Many(Expr),
    /// The input if this condition holds, else nothing.
    Where(Expr),
}

impl Output {
    fn of(value: Expr) -> Self {
        Self::One(Value::Opaque(value))
    }

    fn one(self) -> Result<Value, String> {
        match self {
            Self::One(value) => Ok(value),
            Self::Many(_) => Err(
                "several values where a plan allows one: put them into a list, as in `[.[] | …]`"
                    .into(),
            ),
            Self::Where(_) => Err("`select` outside a list returns a value or nothing".into()),
        }
    }

    fn expr(self) -> Result<Expr, String> {
        self.one().map(|value| value.expr())
    }
}

struct Reader<'p> {
    tokens: Cursor<'p>,
    scope: &'p Scope<'p>,
    dot: Value,
    locals: Locals,
}

impl<'p> Reader<'p> {
    fn new(tokens: &'p [Token], scope: &'p Scope<'p>) -> Self {
        Self {
            tokens: Cursor::new(tokens, 0),
            scope,
            dot: scope.dot.clone(),
            locals: Locals::default(),
        }
    }

    /// Parses `a | b | c`, where each part reads the output of the part before it.
    fn pipe(&mut self) -> Result<Output, String> {
        let first = self.expression(0)?;
        self.piped(first)
    }

    /// Parses the rest of a pipe after its first part.
    fn piped(&mut self, first: Output) -> Result<Output, String> {
        let (outer, locals) = (self.dot.clone(), self.locals.len());
        let mut current = first;
        loop {
            if self.tokens.eat_word("as") {
                let Token::Variable(name) = self.tokens.take()? else {
                    return Err("`as` supports only a plain name".into());
                };
                self.locals.bind(name, current.one()?.bounded()?);
                self.tokens.need("|")?;
                current = self.expression(0)?;
            } else if self.tokens.eat("|") {
                current = self.stage(current)?;
            } else {
                break;
            }
        }
        self.dot = outer;
        self.locals.truncate(locals);
        Ok(current)
    }

    /// Parses one part of a pipe, which reads the output of the part before it.
    fn stage(&mut self, before: Output) -> Result<Output, String> {
        let list = match before {
            Output::Many(list) => list,
            one => {
                self.dot = one.one()?.bounded()?;
                return self.expression(0);
            }
        };
        self.of_each(list, |reader| reader.expression(0))
    }

    /// Parses an expression once and applies it to each element of a list.
    fn of_each(
        &mut self,
        list: Expr,
        read: impl FnOnce(&mut Self) -> Result<Output, String>,
    ) -> Result<Output, String> {
        assume_list(&list, self.scope);
        Ok(Output::Many(match self.in_element(read)? {
            Output::One(value) if value.expr() == plan!("one") => list,
            Output::One(value) => plan!("list.map(one, value)", list, value = value.expr()),
            Output::Where(holds) => plan!("list.filter(one, holds)", list, holds),
            Output::Many(inner) => plan!("list.map(one, inner).flatten()", list, inner),
        }))
    }

    fn expression(&mut self, least: u8) -> Result<Output, String> {
        self.tokens.enter()?;
        let mut left = self.operand()?;
        while let Some((binding, operator)) = self.operator() {
            if binding < least {
                break;
            }
            self.tokens.at += 1;
            // `//` is right-associative.
            let next = binding + u8::from(operator.is_some());
            let (first, second) = (left.one()?, self.expression(next)?.one()?);
            left = Output::One(match operator {
                None => Value::Opaque(alternative(first.expr(), second.expr())),
                Some(operator) => operated(first, operator, second),
            });
        }
        self.tokens.depth -= 1;
        Ok(left)
    }

    /// Returns the next operator with its precedence; `None` as the operator stands for `//`.
    fn operator(&self) -> Option<(u8, Option<BinaryOp>)> {
        let (binding, operator) = match self.tokens.operator()? {
            "//" => return Some((1, None)),
            "==" => (4, BinaryOp::Equal),
            other => cursor::binary(other)?,
        };
        Some((binding, Some(operator)))
    }

    fn operand(&mut self) -> Result<Output, String> {
        let token = self.tokens.take()?;
        let value = match token {
            Token::Sign(".") => {
                self.tokens.at -= 1;
                self.dot.clone()
            }
            Token::Text(text) => Value::Opaque(tree::text(text)),
            Token::Template(pieces) => Value::Opaque(self.template(pieces)?),
            Token::Number(number) => Value::Opaque(
                tree::number(number).ok_or_else(|| format!("`{number}` is not a number"))?,
            ),
            Token::Variable(name) => self.variable(name)?,
            Token::Name(name) => match name.as_str() {
                "true" | "false" => Value::Opaque(tree::boolean(name == "true")),
                "null" => Value::Opaque(tree::null()),
                "if" => self.conditional()?,
                _ => {
                    let output = self.function(name)?;
                    return self.links(output);
                }
            },
            Token::Sign("(") => {
                let inner = self.pipe()?;
                self.tokens.need(")")?;
                return self.links(inner);
            }
            Token::Sign("-") => {
                let operand = self.expression(7)?.expr()?;
                Value::Opaque(negative(operand))
            }
            Token::Sign("[") => Value::Opaque(self.list()?),
            Token::Sign("{") => self.object()?,
            Token::Sign(_) => return Err(format!("`{token}` has no counterpart here")),
        };
        self.links(Output::One(value))
    }

    fn template(&self, pieces: &[Piece]) -> Result<Expr, String> {
        let parts = pieces.iter().map(|piece| match piece {
            Piece::Text(text) => Ok(tree::text(text)),
            Piece::Code(code) => nested(code, self.scope, self).map(|value| value.expr()),
        });
        Ok(concatenated(parts.collect::<Result<Vec<_>, _>>()?))
    }

    fn variable(&self, name: &str) -> Result<Value, String> {
        let local = self.locals.find(name)?;
        if let Some(value) = local.or_else(|| self.scope.variables.get(name).cloned()) {
            return Ok(value);
        }
        Err(match name {
            "secrets" | "authorization" => {
                "credentials belong to the project, not to a plan".to_owned()
            }
            "runtime" => "a plan cannot read information about its run".to_owned(),
            _ => format!("there is no variable `${}` here", excerpt(name)),
        })
    }

    /// Parses the rest of `if c then a elif d then b else e end`, after its first word.
    fn conditional(&mut self) -> Result<Value, String> {
        self.tokens.enter()?;
        let condition = truth(self.pipe()?.expr()?);
        self.tokens.need_word("then")?;
        let then = self.pipe()?.expr()?;
        let otherwise = if self.tokens.eat_word("elif") {
            self.conditional()?.expr()
        } else {
            let otherwise = if self.tokens.eat_word("else") {
                self.pipe()?.expr()?
            } else {
                self.dot.expr()
            };
            self.tokens.need_word("end")?;
            otherwise
        };
        self.tokens.depth -= 1;
        Ok(Value::Opaque(tree::conditional(condition, then, otherwise)))
    }

    /// Parses the rest of a list, after its bracket.
    fn list(&mut self) -> Result<Expr, String> {
        if self.tokens.eat("]") {
            return Ok(tree::list(Vec::new()));
        }
        let first = self.expression(0)?;
        if !self.tokens.is_sign(",") {
            let all = self.piped(first)?;
            self.tokens.need("]")?;
            return Ok(match all {
                Output::Many(list) => list,
                one => tree::list(vec![one.expr()?]),
            });
        }
        let mut elements = vec![first.expr()?];
        while self.tokens.eat(",") {
            elements.push(self.expression(0)?.expr()?);
        }
        self.tokens.need("]")?;
        Ok(tree::list(elements))
    }

    /// Parses the rest of an object, after its brace.
    fn object(&mut self) -> Result<Value, String> {
        let mut fields: Vec<(String, Value)> = Vec::new();
        while !self.tokens.eat("}") {
            let (key, value) = match self.tokens.take()? {
                Token::Variable(name) => (name.clone(), Some(self.variable(name)?)),
                Token::Name(key) | Token::Text(key) | Token::Number(key) => (key.clone(), None),
                _ => return Err("a computed key of an object has no counterpart".into()),
            };
            let value = match value {
                Some(value) => value,
                None if self.tokens.eat(":") => self.expression(0)?.one()?,
                None => field(&self.dot, &key),
            };
            fields.retain(|(there, _)| *there != key);
            fields.push((key, value));
            if !self.tokens.eat(",") {
                self.tokens.need("}")?;
                break;
            }
        }
        Ok(Value::object(fields))
    }

    /// Parses the postfix operators of a value: fields, indices, slices.
    fn links(&mut self, mut output: Output) -> Result<Output, String> {
        loop {
            if self.tokens.eat("..") {
                return Err(
                    "`..` searches at every depth, but a path in a plan leads to one place".into(),
                );
            }
            if self.tokens.is_sign(".") {
                match self.tokens.after_next() {
                    Some(Token::Name(key) | Token::Text(key))
                        if !KEYWORDS.contains(&key.as_str()) =>
                    {
                        self.tokens.at += 2;
                        self.may_read(key)?;
                        output = self.linked(output, |value| field(&value, key))?;
                        continue;
                    }
                    // Either `.[0]` or `.` alone.
                    _ => self.tokens.at += 1,
                }
                if !self.tokens.is_sign("[") {
                    return Ok(output);
                }
            }
            if self.tokens.eat("[") {
                output = self.bracket(output)?;
            } else if self.tokens.eat("?") {
                output = self.linked(output, |value| {
                    Value::Opaque(plan!("value ?? null", value = value.expr()))
                })?;
            } else {
                return Ok(output);
            }
        }
    }

    /// Returns a message if the expression reads a property of an error that plans do not have.
    fn may_read(&self, key: &str) -> Result<(), String> {
        match self.tokens.before(3) {
            Some(Token::Variable(name))
                if self.scope.errors.contains(name) && ["status", "instance"].contains(&key) =>
            {
                Err(format!(
                    "in a plan, an error has only a class and a message, but no `{key}`"
                ))
            }
            _ => Ok(()),
        }
    }

    fn linked(
        &mut self,
        output: Output,
        link: impl FnOnce(Value) -> Value,
    ) -> Result<Output, String> {
        match output {
            Output::Many(list) => {
                self.of_each(list, |reader| Ok(Output::One(link(reader.dot.clone()))))
            }
            one => link(one.one()?).bounded().map(Output::One),
        }
    }

    /// Parses the brackets after a value.
    fn bracket(&mut self, output: Output) -> Result<Output, String> {
        if self.tokens.eat("]") {
            return match output {
                Output::Many(list) => {
                    self.of_each(list, |reader| Ok(Output::Many(reader.dot.expr())))
                }
                one => {
                    let list = one.expr()?;
                    assume_list(&list, self.scope);
                    Ok(Output::Many(list))
                }
            };
        }
        let start = if self.tokens.is_sign(":") {
            None
        } else {
            Some(self.pipe()?.expr()?)
        };
        if self.tokens.eat(":") {
            let end = if self.tokens.is_sign("]") {
                None
            } else {
                Some(self.pipe()?.expr()?)
            };
            self.tokens.need("]")?;
            return self.linked(output, |value| {
                Value::Opaque(part(value.expr(), start.as_ref(), end.as_ref()))
            });
        }
        self.tokens.need("]")?;
        let Some(index) = start else {
            return Err("the brackets are empty".into());
        };
        self.linked(output, |value| position(&value, index))
    }
}
