//! Translates functions of jq.

use planrun_lang::syntax::ast::{BinaryOp, Expr, ExprKind, Literal};

use super::operators::padded;
use super::{Output, Reader, assume_list, truth};
use crate::draft::excerpt;
use crate::expression::value::Value;
use crate::expression::{
    DEEPEST, ONE, bound, has_type, last_method, once, only_list, real, text_of,
};
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
                    Output::Many(list) => Output::One(Value::Opaque(list)),
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
                Output::One(Value::Opaque(tree::method(sorted, end, Vec::new())))
            }
            _ => {
                let argument = self.pipe()?.expr()?;
                of_one(name, &self.dot, argument)?
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
        let arguments = vec![tree::variable(ONE), inner];
        Output::One(Value::Opaque(tree::method(list, method, arguments)))
    }

    /// Parses an expression in which `.` is an element of the current list.
    fn in_element(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Expr, String>,
    ) -> Result<Expr, String> {
        let outer = std::mem::replace(&mut self.dot, Value::Opaque(tree::variable(ONE)));
        self.locals.level += 1;
        let read = read(self);
        self.locals.level -= 1;
        self.dot = outer;
        read
    }
}

/// Translates a function without arguments.
fn of_dot(name: &str, dot: Expr) -> Result<Output, String> {
    let function = |called: &str, value: Expr| tree::function(called, vec![value]);
    let method = |value: Expr, called: &str| tree::method(value, called, Vec::new());
    let math =
        |called: &str, value: Expr| tree::method(tree::variable("math"), called, vec![real(value)]);
    Ok(Output::One(Value::Opaque(match name {
        "length" => function("size", padded(dot, Some(tree::list(Vec::new())))),
        "not" => match truth(dot).kind {
            ExprKind::Literal(Literal::Bool(holds)) => tree::boolean(!holds),
            kind => tree::not(tree::expr(kind)),
        },
        "add" if last_method(&dot).is_none() => added(&dot),
        "add" => once(dot, added),
        "tostring" => text_of(dot),
        "tojson" => function("json", dot),
        "tonumber" => function("double", dot),
        "floor" | "ceil" | "round" => function("int", math(name, dot)),
        "ascii_downcase" => method(dot, "lowerAscii"),
        "ascii_upcase" => method(dot, "upperAscii"),
        "unique" => method(method(dot, "distinct"), "sort"),
        "flatten" => tree::method(dot, name, vec![tree::int(DEEPEST)]),
        "first" | "last" | "min" | "max" | "trim" | "reverse" | "sort" => method(dot, name),
        "any" | "all" => {
            let one = tree::variable(ONE);
            let method = if name == "any" { "exists" } else { "all" };
            tree::method(dot, method, vec![one.clone(), truth(one)])
        }
        "keys" => {
            let one = || tree::variable(ONE);
            let keys = vec![one(), tree::field(one(), "key")];
            let keys = tree::method(function("entries", dot), "map", keys);
            method(keys, "sort")
        }
        "empty" => return Ok(Output::Where(tree::boolean(false))),
        _ => {
            let called = excerpt(name);
            return Err(format!("the function `{called}` has no counterpart"));
        }
    })))
}

/// Adds the elements of a list: numbers, texts or lists. Without elements the result is null.
fn added(list: &Expr) -> Expr {
    let method = |called: &str, arguments| tree::method(list.clone(), called, arguments);
    let all_are = |ty: &str| {
        let one = tree::variable(ONE);
        let is_ty = has_type(&one, &[ty]);
        method("all", vec![one, is_ty])
    };
    let size = tree::function("size", vec![list.clone()]);
    let is_empty = tree::binary(size, BinaryOp::Equal, tree::int(0));
    let arms = vec![
        (is_empty, tree::null()),
        (all_are("string"), method("join", vec![tree::text("")])),
        (all_are("list"), method("flatten", Vec::new())),
    ];
    let otherwise = Box::new(tree::function("sum", vec![list.clone()]));
    let added = tree::expr(ExprKind::Conditional { arms, otherwise });
    // Which of these types the result has is known only in the run.
    tree::function("dyn", vec![added])
}

/// Translates a function with one argument that is a value.
fn of_one(name: &str, dot: &Value, argument: Expr) -> Result<Output, String> {
    let is_text = matches!(
        argument.kind,
        ExprKind::Literal(Literal::String(_)) | ExprKind::Template(_)
    );
    let subject = dot.expr();
    let value = match name {
        "has" => match (&argument.kind, dot) {
            (ExprKind::Literal(Literal::String(key)), Value::Object { .. })
                if dot.has(key).is_some() =>
            {
                tree::boolean(dot.has(key) == Some(true))
            }
            (ExprKind::Literal(Literal::String(key)), _) if tree::is_word(key) => {
                tree::function("has", vec![dot.get(key).expr()])
            }
            // `entries` fails for lists, in which `in` would look for an element.
            (ExprKind::Literal(Literal::String(_)), _) => {
                let entries = tree::function("entries", vec![subject]);
                let key = tree::field(tree::variable(ONE), "key");
                let is_key = tree::binary(key, BinaryOp::Equal, argument);
                tree::method(entries, "exists", vec![tree::variable(ONE), is_key])
            }
            (ExprKind::Literal(Literal::Int(at @ 0..)), _) => {
                let size = tree::function("size", vec![only_list(subject)]);
                tree::binary(size, BinaryOp::Greater, tree::int(*at))
            }
            _ => return Err("`has` of a key that is not constant has no counterpart".to_owned()),
        },
        "startswith" => tree::method(subject, "startsWith", vec![argument]),
        "endswith" => tree::method(subject, "endsWith", vec![argument]),
        "test" => tree::method(subject, "matches", vec![argument]),
        "join" => tree::method(texts_of(subject), name, vec![argument]),
        "split" => bound(subject, &[&argument], |text| {
            let parts = tree::method(text.clone(), name, vec![argument.clone()]);
            let is_empty = tree::binary(text.clone(), BinaryOp::Equal, tree::text(""));
            tree::conditional(is_empty, tree::list(Vec::new()), parts)
        }),
        "flatten" if matches!(argument.kind, ExprKind::Literal(Literal::Int(_))) => {
            tree::method(subject, name, vec![argument])
        }
        // For lists and objects, `contains` compares recursively, which has no counterpart.
        "contains" if is_text => tree::method(subject, "contains", vec![argument]),
        _ => {
            let called = excerpt(name);
            return Err(format!("`{called}` with an argument has no counterpart"));
        }
    };
    Ok(Output::One(Value::Opaque(value)))
}

/// Returns the elements of a list as texts; null is empty.
fn texts_of(list: Expr) -> Expr {
    let is_text = |one: &Expr| {
        matches!(
            one.kind,
            ExprKind::Literal(Literal::String(_)) | ExprKind::Template(_)
        )
    };
    if matches!(&list.kind, ExprKind::List(elements) if elements.iter().all(is_text)) {
        return list;
    }
    let one = || tree::variable(ONE);
    let is_null = tree::binary(one(), BinaryOp::Equal, tree::null());
    let text = tree::function("string", vec![one()]);
    let text = tree::conditional(is_null, tree::text(""), text);
    tree::method(list, "map", vec![one(), text])
}
