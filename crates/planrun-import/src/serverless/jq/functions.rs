//! Translates functions of jq.

use planrun_lang::syntax::ast::{Expr, ExprKind, Literal};

use super::operators::padded;
use super::{Output, Reader, assume_list, truth};
use crate::draft::excerpt;
use crate::expression::quote::plan;
use crate::expression::value::Value;
use crate::expression::{DEEPEST, bound, last_method, once, only_list, real, text_of};
use crate::tree;

impl Reader<'_> {
    /// Parses the rest of a function call, after its name.
    pub fn function(&mut self, name: &str) -> Result<Output, String> {
        match name {
            "now" | "today" | "localtime" | "gmtime" => {
                return Err(
                    "an expression cannot read the time: call `sys.now()` in a step".into(),
                );
            }
            "env" | "input" | "inputs" | "debug" => {
                return Err("a plan cannot read information about its run".into());
            }
            "try" | "reduce" | "foreach" | "def" | "label" | "limit" | "range" | "recurse"
            | "while" | "until" | "repeat" | "walk" | "path" | "paths" => {
                return Err(format!("`{name}` has no counterpart in an expression"));
            }
            _ => {}
        }
        if matches!(name, "any" | "all" | "join") {
            assume_list(&self.dot.expr(), self.scope);
        }
        if !self.tokens.eat("(") {
            return of_dot(name, self.dot.expr());
        }
        let output = match name {
            "map" => {
                let list = self.dot.expr();
                match self.of_each(list, Self::pipe)? {
                    Output::Many(list) => Output::of(list),
                    other => other,
                }
            }
            "select" => Output::Where(truth(self.pipe()?.expr()?)),
            "any" => self.quantified("exists")?,
            "all" => self.quantified("all")?,
            "sort_by" => {
                let key = self.in_element(|reader| reader.pipe()?.expr())?;
                self.comprehension("sortBy", key)
            }
            "min_by" | "max_by" => {
                let key = self.in_element(|reader| reader.pipe()?.expr())?;
                let sorted = self.comprehension("sortBy", key).expr()?;
                let end = if name == "min_by" { "first" } else { "last" };
                Output::of(tree::method(sorted, end, Vec::new()))
            }
            _ => {
                let argument = self.pipe()?.expr()?;
                of_one(name, &self.dot, &argument)?
            }
        };
        if self.tokens.is_sign(";") {
            let called = excerpt(name);
            return Err(format!(
                "`{called}` with several arguments has no counterpart"
            ));
        }
        self.tokens.need(")")?;
        Ok(output)
    }

    fn quantified(&mut self, method: &str) -> Result<Output, String> {
        let holds = self.in_element(|reader| reader.pipe()?.expr())?;
        Ok(self.comprehension(method, truth(holds)))
    }

    fn comprehension(&self, method: &str, inner: Expr) -> Output {
        let list = self.dot.expr();
        assume_list(&list, self.scope);
        Output::of(tree::method(list, method, vec![plan!("one"), inner]))
    }

    /// Parses an expression in which `.` is an element of the current list.
    pub(super) fn in_element<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, String>,
    ) -> Result<T, String> {
        let outer = std::mem::replace(&mut self.dot, Value::Opaque(plan!("one")));
        self.locals.level += 1;
        let read = read(self);
        self.locals.level -= 1;
        self.dot = outer;
        read
    }
}

/// Translates a function without arguments.
fn of_dot(name: &str, dot: Expr) -> Result<Output, String> {
    Ok(Output::of(match name {
        "length" => plan!("size(list)", list = padded(dot, Some(plan!("[]")))),
        "not" => match truth(dot).kind {
            ExprKind::Literal(Literal::Bool(holds)) => tree::boolean(!holds),
            kind => tree::not(tree::expr(kind)),
        },
        "add" if last_method(&dot).is_none() => added(&dot),
        "add" => once(dot, added),
        "tostring" => text_of(dot),
        "tojson" => plan!("json(dot)", dot),
        "tonumber" => plan!("double(dot)", dot),
        "floor" => plan!("int(math.floor(number))", number = real(dot)),
        "ceil" => plan!("int(math.ceil(number))", number = real(dot)),
        "round" => plan!("int(math.round(number))", number = real(dot)),
        "ascii_downcase" => plan!("dot.lowerAscii()", dot),
        "ascii_upcase" => plan!("dot.upperAscii()", dot),
        "unique" => plan!("dot.distinct().sort()", dot),
        "flatten" => plan!("dot.flatten(deepest)", dot, deepest = tree::int(DEEPEST)),
        "first" | "last" | "min" | "max" | "trim" | "reverse" | "sort" => {
            tree::method(dot, name, Vec::new())
        }
        "any" => plan!("dot.exists(one, holds)", dot, holds = truth(plan!("one"))),
        "all" => plan!("dot.all(one, holds)", dot, holds = truth(plan!("one"))),
        "keys" => plan!("entries(dot).map(one, one.key).sort()", dot),
        "empty" => return Ok(Output::Where(tree::boolean(false))),
        _ => {
            let called = excerpt(name);
            return Err(format!("the function `{called}` has no counterpart"));
        }
    }))
}

/// Adds the elements of a list: numbers, texts or lists. Without elements the result is null.
fn added(elements: &Expr) -> Expr {
    // Which of these types the result has is known only in the run.
    plan!(
        r#"dyn(size(elements) == 0 ? null
            : elements.all(one, type(one) == string) ? elements.join("")
            : elements.all(one, type(one) == list) ? elements.flatten()
            : sum(elements))"#,
        elements,
    )
}

/// Translates a function with one argument that is a value.
fn of_one(name: &str, dot: &Value, argument: &Expr) -> Result<Output, String> {
    let is_text = tree::is_text(argument);
    let subject = dot.expr();
    let value = match name {
        "has" => match (&argument.kind, dot) {
            (ExprKind::Literal(Literal::String(key)), Value::Object { .. })
                if dot.has(key).is_some() =>
            {
                tree::boolean(dot.has(key) == Some(true))
            }
            (ExprKind::Literal(Literal::String(key)), _) if tree::is_word(key) => {
                plan!("has(field)", field = dot.get(key).expr())
            }
            // `entries` fails for lists, in which `in` would look for an element.
            (ExprKind::Literal(Literal::String(_)), _) => {
                plan!(
                    "entries(subject).exists(one, one.key == argument)",
                    subject,
                    argument
                )
            }
            (ExprKind::Literal(Literal::Int(0..)), _) => {
                plan!("size(list) > argument", list = only_list(subject), argument)
            }
            _ => return Err("`has` of a key that is not constant has no counterpart".to_owned()),
        },
        "startswith" => plan!("subject.startsWith(argument)", subject, argument),
        "endswith" => plan!("subject.endsWith(argument)", subject, argument),
        "test" => plan!("subject.matches(argument)", subject, argument),
        "join" => plan!("texts.join(argument)", texts = texts_of(subject), argument),
        "split" => bound(subject, &[argument], |text| {
            plan!(r#"text == "" ? [] : text.split(argument)"#, text, argument)
        }),
        "flatten" if matches!(argument.kind, ExprKind::Literal(Literal::Int(_))) => {
            plan!("subject.flatten(argument)", subject, argument)
        }
        // For lists and objects, `contains` compares recursively, which has no counterpart.
        "contains" if is_text => plan!("subject.contains(argument)", subject, argument),
        _ => {
            let called = excerpt(name);
            return Err(format!("`{called}` with an argument has no counterpart"));
        }
    };
    Ok(Output::of(value))
}

/// Returns the elements of a list as texts; null is empty.
fn texts_of(list: Expr) -> Expr {
    if matches!(&list.kind, ExprKind::List(elements) if elements.iter().all(tree::is_text)) {
        return list;
    }
    plan!(r#"list.map(one, one == null ? "" : string(one))"#, list)
}
