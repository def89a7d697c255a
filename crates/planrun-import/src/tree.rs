//! Constructors of syntax trees for plans.

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{
    Argument, ArmBody, BinaryOp, Block, ChainLink, Clause, ClauseKind, Entry, EntryKey,
    ErrorPattern, Expr, ExprKind, Guarded, Link, LinkKind, Literal, Name, Statement, StatementKind,
    Step, StepBody, TemplatePart, TypeExpr, TypeExprKind, UnaryOp,
};
use planrun_lang::yaml::{Content, Node};

/// The span of all nodes, since the trees have no source text.
pub const NOWHERE: Span = Span { start: 0, end: 0 };

pub fn name(text: &str) -> Name {
    Name::new(text, NOWHERE)
}

pub fn expr(kind: ExprKind) -> Expr {
    Expr::new(NOWHERE, kind)
}

pub fn variable(text: &str) -> Expr {
    expr(ExprKind::Name(text.into()))
}

pub fn literal(value: Literal) -> Expr {
    expr(ExprKind::Literal(value))
}

pub fn text(value: &str) -> Expr {
    literal(Literal::String(value.into()))
}

pub fn int(value: i64) -> Expr {
    literal(Literal::Int(value))
}

pub fn boolean(value: bool) -> Expr {
    literal(Literal::Bool(value))
}

pub fn null() -> Expr {
    literal(Literal::Null)
}

/// Returns a number of seconds as a duration.
pub fn seconds(value: i64) -> Expr {
    nanoseconds(i128::from(value) * 1_000_000_000)
}

pub fn nanoseconds(value: i128) -> Expr {
    literal(Literal::Duration(value))
}

/// Converts a plain value of a document. Numbers that are not 64-bit integers become doubles.
pub fn constant(node: &Node) -> Expr {
    match &node.content {
        Content::Null => null(),
        Content::Bool(value) => boolean(*value),
        Content::Number(number) => match number.as_i64() {
            Some(whole) => int(whole),
            None => literal(Literal::Double(number.as_f64().unwrap_or(f64::MAX))),
        },
        Content::Text(value) => text(value),
        Content::List(items) => list(items.iter().map(constant).collect()),
        Content::Map(entries) => {
            let fields = entries.iter();
            object(fields.map(|entry| (&entry.name, constant(&entry.value))))
        }
    }
}

/// Parses a number.
pub fn number(text: &str) -> Option<Expr> {
    let node = Node {
        span: NOWHERE,
        content: Content::Number(text.parse().ok()?),
    };
    Some(constant(&node))
}

pub fn list(elements: Vec<Expr>) -> Expr {
    expr(ExprKind::List(elements))
}

/// Returns true if a name can be written as a field without quotes.
pub fn is_word(text: &str) -> bool {
    let mut characters = text.chars();
    characters
        .next()
        .is_some_and(|c| c == '_' || c.is_ascii_alphabetic())
        && characters.all(|c| c == '_' || c.is_ascii_alphanumeric())
}

pub fn object<K: AsRef<str>>(fields: impl IntoIterator<Item = (K, Expr)>) -> Expr {
    let entries = fields.into_iter().map(|(key, value)| {
        let key = match key.as_ref() {
            word if is_word(word) => EntryKey::Name(name(word)),
            other => EntryKey::Expr(text(other)),
        };
        Entry {
            span: NOWHERE,
            key,
            value,
        }
    });
    expr(ExprKind::Object(entries.collect()))
}

/// Adds a link to a path, or starts a path.
fn link(base: Expr, kind: LinkKind) -> Expr {
    let link = Link {
        span: NOWHERE,
        kind,
    };
    match base.kind {
        ExprKind::Path { base, mut links } => {
            links.push(link);
            expr(ExprKind::Path { base, links })
        }
        kind => expr(ExprKind::Path {
            base: Box::new(expr(kind)),
            links: vec![link],
        }),
    }
}

pub fn field(base: Expr, key: &str) -> Expr {
    if is_word(key) {
        let name = name(key);
        link(base, LinkKind::Field { name, safe: false })
    } else {
        index(base, text(key))
    }
}

pub fn index(base: Expr, index: Expr) -> Expr {
    link(base, LinkKind::Index { index, safe: false })
}

fn positional(values: Vec<Expr>) -> Vec<Argument> {
    let arguments = values.into_iter().map(|value| Argument {
        span: NOWHERE,
        name: None,
        value,
    });
    arguments.collect()
}

/// Returns `base.function(arguments)`.
pub fn method(base: Expr, function: &str, arguments: Vec<Expr>) -> Expr {
    let arguments = positional(arguments);
    let name = name(function);
    link(
        base,
        LinkKind::Call {
            name,
            safe: false,
            arguments,
        },
    )
}

/// Returns `function(arguments)`.
pub fn function(called: &str, arguments: Vec<Expr>) -> Expr {
    expr(ExprKind::Call {
        function: name(called),
        arguments: positional(arguments),
    })
}

pub fn call(namespace: &str, tool: &str, arguments: Vec<(String, Expr)>) -> Expr {
    let arguments = arguments.into_iter().map(|(key, value)| Argument {
        span: NOWHERE,
        name: Some(name(&key)),
        value,
    });
    link(
        variable(namespace),
        LinkKind::Call {
            name: name(tool),
            safe: false,
            arguments: arguments.collect(),
        },
    )
}

/// Returns a prefix operator applied to a value; several in a row become one expression.
pub fn unary(operator: UnaryOp, operand: Expr) -> Expr {
    let (mut operators, operand) = match operand.kind {
        ExprKind::Unary { operators, operand } => (operators, operand),
        kind => (Vec::new(), Box::new(expr(kind))),
    };
    operators.insert(0, (operator, NOWHERE));
    expr(ExprKind::Unary { operators, operand })
}

pub fn not(operand: Expr) -> Expr {
    unary(UnaryOp::Not, operand)
}

pub fn binary(first: Expr, operator: BinaryOp, operand: Expr) -> Expr {
    chain(first, [(operator, operand)])
}

/// Applies operators of one precedence level to operands, from left to right.
pub fn chain(first: Expr, rest: impl IntoIterator<Item = (BinaryOp, Expr)>) -> Expr {
    let rest = rest.into_iter().map(|(operator, operand)| ChainLink {
        operator,
        operator_span: NOWHERE,
        operand,
    });
    expr(ExprKind::Chain {
        first: Box::new(first),
        rest: rest.collect(),
    })
}

/// Joins operands with one operator; a single operand is returned unchanged, `None` if there is none.
pub fn joined(operands: Vec<Expr>, operator: BinaryOp) -> Option<Expr> {
    let mut operands = operands.into_iter();
    let first = operands.next()?;
    if operands.len() == 0 {
        return Some(first);
    }
    let rest = operands.map(|operand| (operator, operand));
    Some(chain(first, rest))
}

pub fn coalesce(value: Expr, other: Expr) -> Expr {
    expr(ExprKind::Coalesce(vec![value, other]))
}

pub fn conditional(condition: Expr, then: Expr, otherwise: Expr) -> Expr {
    expr(ExprKind::Conditional {
        arms: vec![(condition, then)],
        otherwise: Box::new(otherwise),
    })
}

/// Returns a template; a plain text if it contains no expressions.
pub fn template(parts: Vec<TemplatePart>) -> Expr {
    let mut merged: Vec<TemplatePart> = Vec::new();
    for part in parts {
        match (merged.last_mut(), part) {
            (Some(TemplatePart::Text(before)), TemplatePart::Text(more)) => {
                *before = format!("{before}{more}").into();
            }
            (_, TemplatePart::Text(plain)) if plain.is_empty() => {}
            (_, part) => merged.push(part),
        }
    }
    match merged.as_slice() {
        [] => text(""),
        [TemplatePart::Text(plain)] => text(plain),
        _ => expr(ExprKind::Template(merged)),
    }
}

/// Counts the nodes of an expression, up to a limit.
pub fn size(expression: &Expr, limit: usize) -> usize {
    let mut count = 1;
    expression.parts(&mut |part| {
        if count < limit {
            count += size(part, limit - count);
        }
    });
    count
}

pub fn type_named(text: &str) -> TypeExpr {
    TypeExpr {
        span: NOWHERE,
        kind: TypeExprKind::Name(text.into()),
    }
}

pub fn statement(kind: StatementKind) -> Statement {
    Statement {
        span: NOWHERE,
        doc: None,
        kind,
    }
}

pub fn block(statements: Vec<Statement>) -> Block {
    Block {
        span: NOWHERE,
        statements,
    }
}

pub fn bind(called: &str, value: Expr) -> Statement {
    statement(StatementKind::Let {
        name: name(called),
        ty: None,
        value,
    })
}

pub fn step(called: &str, body: StepBody, clauses: Vec<ClauseKind>) -> Statement {
    let clauses = clauses.into_iter().map(|kind| Clause {
        span: NOWHERE,
        kind,
    });
    statement(StatementKind::Step(Box::new(Step {
        name: name(called),
        body,
        clauses: clauses.collect(),
    })))
}

fn guarded(value: Expr) -> Guarded {
    Guarded { value, when: None }
}

pub fn reply(value: Expr) -> Statement {
    statement(StatementKind::Reply(guarded(value)))
}

pub fn yields(value: Expr) -> Statement {
    statement(StatementKind::Yield(guarded(value)))
}

pub fn next(value: Expr) -> Statement {
    statement(StatementKind::Next(guarded(value)))
}

/// Returns a failure; its message is converted to text.
pub fn fail(class: &str, message: Expr) -> Statement {
    statement(StatementKind::Fail {
        class: name(class),
        message: Some(Box::new(as_text(message))),
        when: None,
    })
}

/// Returns a failure with a guard.
pub fn fail_when(class: &str, message: Expr, condition: Expr) -> Statement {
    statement(StatementKind::Fail {
        class: name(class),
        message: Some(Box::new(as_text(message))),
        when: Some(Box::new(condition)),
    })
}

/// Converts a value to text; texts stay unchanged.
pub fn as_text(value: Expr) -> Expr {
    if is_text(&value) {
        return value;
    }
    template(vec![TemplatePart::Expr(value)])
}

/// Returns true if an expression is certainly a text.
pub fn is_text(value: &Expr) -> bool {
    let kind = &value.kind;
    matches!(
        kind,
        ExprKind::Literal(Literal::String(_)) | ExprKind::Template(_)
    )
}

/// Converts a value that the document uses as a boolean to a condition.
pub fn truth(value: Expr) -> Expr {
    if is_truth(&value) {
        value
    } else {
        binary(value, BinaryOp::Equal, boolean(true))
    }
}

/// Returns true if an expression is certainly a boolean.
pub fn is_truth(value: &Expr) -> bool {
    let compares = |operator: BinaryOp| {
        !matches!(
            operator,
            BinaryOp::Add
                | BinaryOp::Subtract
                | BinaryOp::Multiply
                | BinaryOp::Divide
                | BinaryOp::Remainder
        )
    };
    match &value.kind {
        ExprKind::Chain { rest, .. } => rest.iter().all(|link| compares(link.operator)),
        ExprKind::Unary { operators, .. } => operators.iter().all(|(one, _)| *one == UnaryOp::Not),
        ExprKind::Literal(Literal::Bool(_)) | ExprKind::Is { .. } => true,
        ExprKind::Call { function, .. } => &*function.text == "has",
        ExprKind::Path { links, .. } => links.last().is_some_and(|link| {
            matches!(&link.kind, LinkKind::Call { name, .. } if matches!(&*name.text, "contains" | "matches" | "startsWith" | "endsWith" | "exists" | "all"))
        }),
        _ => false,
    }
}

/// Returns an arm for some classes of errors, or for all if none is named.
pub fn recover(classes: &[String], binding: Option<&str>, body: ArmBody) -> ClauseKind {
    let pattern = if classes.is_empty() {
        ErrorPattern::Any
    } else {
        ErrorPattern::Classes(classes.iter().map(|class| name(class)).collect())
    };
    ClauseKind::Recover {
        pattern,
        binding: binding.map(name),
        body,
    }
}
