//! Macros: expressions over every element of a list or map, and `cel.bind`.

use std::sync::Arc;

use super::{
    Checker, Comprehension, Local, MacroKind, Op, Typed, combine, literal, narrow, report,
};
use crate::sema::Lookup;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{Field, Type, error_object, result_union};

/// How a macro is written with so many arguments.
pub(super) struct Form {
    kind: MacroKind,
    variables: usize,
    condition: bool,
}

/// Names of macros, for suggestions.
pub(super) const NAMES: &[&str] = &[
    "all",
    "exists",
    "exists_one",
    "existsOne",
    "map",
    "filter",
    "sortBy",
    "transformList",
    "transformMap",
    "transformMapEntry",
];

/// The macro with this name and number of arguments.
pub(super) fn form(name: &str, arguments: usize) -> Option<Form> {
    let (kind, variables, condition) = match (name, arguments) {
        ("all", 2) => (MacroKind::All, 1, false),
        ("all", 3) => (MacroKind::All, 2, false),
        ("exists", 2) => (MacroKind::Exists, 1, false),
        ("exists", 3) => (MacroKind::Exists, 2, false),
        ("exists_one" | "existsOne", 2) => (MacroKind::ExistsOne, 1, false),
        ("exists_one" | "existsOne", 3) => (MacroKind::ExistsOne, 2, false),
        ("map", 2) => (MacroKind::Map, 1, false),
        ("map", 3) => (MacroKind::Map, 1, true),
        ("filter", 2) => (MacroKind::Filter, 1, false),
        ("sortBy", 2) => (MacroKind::SortBy, 1, false),
        ("transformList", 3) => (MacroKind::TransformList, 2, false),
        ("transformList", 4) => (MacroKind::TransformList, 2, true),
        ("transformMap", 3) => (MacroKind::TransformMap, 2, false),
        ("transformMap", 4) => (MacroKind::TransformMap, 2, true),
        ("transformMapEntry", 3) => (MacroKind::TransformMapEntry, 2, false),
        ("transformMapEntry", 4) => (MacroKind::TransformMapEntry, 2, true),
        _ => return None,
    };
    Some(Form {
        kind,
        variables,
        condition,
    })
}

/// What a macro goes over.
struct Range {
    /// What one variable stands for: an element, or a key.
    single: Type,
    /// What the first of two variables stands for: an index, or a key.
    position: Type,
    /// What the second of two variables stands for.
    value: Type,
}

impl Checker<'_> {
    /// Checks a macro over a value of the given type.
    pub(super) fn comprehension(
        &mut self,
        form: &Form,
        name: &ast::Name,
        (range, place): (Type, Span),
        arguments: &[ast::Argument],
    ) -> Result<(Comprehension, Type), &'static str> {
        let (names, rest) = arguments.split_at(form.variables.min(arguments.len()));
        let variables = self.macro_variables(name, names)?;
        let lists =
            |ty: &Type| matches!(ty, Type::List(_) | Type::Any | Type::Invalid | Type::Never);
        let only_lists = form.kind == MacroKind::SortBy;
        let over = range_of(&range).filter(|_| !only_lists || range.members().iter().all(lists));
        let Some(over) = over else {
            self.report(report::not_a_list(&name.text, &range, place));
            return Err("no such overload: a macro goes over a list or a map");
        };
        let outer = self.locals.len();
        let pairs = form.variables == 2;
        let first = if pairs { &over.position } else { &over.single };
        let first = self.push(variables.first(), first);
        let second = pairs.then(|| self.push(variables.get(1), &over.value));
        let facts = self.facts.len();
        let mut parts = rest.iter();
        let condition = if form.condition { parts.next() } else { None };
        let condition = condition.map(|argument| {
            let typed = self.lazily(|checker| checker.expression(&argument.value));
            self.predicate(&name.text, &typed, argument.value.span);
            self.facts.extend(narrow::atoms(&argument.value));
            typed.node
        });
        let Some(last) = parts.next() else {
            self.locals.truncate(outer);
            return Err("a macro has a body");
        };
        let body = self.lazily(|checker| checker.expression(&last.value));
        let ty = self.macro_type(
            form.kind,
            name,
            &body,
            &last.value,
            (&range, &over, variables.first()),
        );
        self.facts.truncate(facts);
        self.locals.truncate(outer);
        Ok((
            Comprehension {
                kind: form.kind,
                first,
                second,
                condition,
                body: body.node,
            },
            ty,
        ))
    }

    /// The variables that the first arguments of a macro name.
    fn macro_variables(
        &mut self,
        name: &ast::Name,
        arguments: &[ast::Argument],
    ) -> Result<Vec<Arc<str>>, &'static str> {
        let mut variables = Vec::new();
        for argument in arguments {
            let ast::ExprKind::Name(variable) = &argument.value.kind else {
                self.report(report::variable_expected(&name.text, argument.span));
                return Err("the first argument of a macro names a variable");
            };
            self.shadows(variable, argument.span);
            variables.push(variable.clone());
        }
        Ok(variables)
    }

    /// The type of the whole macro; a body that should be a bool is checked to be one.
    fn macro_type(
        &mut self,
        kind: MacroKind,
        name: &ast::Name,
        body: &Typed,
        body_expression: &ast::Expr,
        (range, over, variable): (&Type, &Range, Option<&Arc<str>>),
    ) -> Type {
        match kind {
            MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne => {
                self.predicate(&name.text, body, body_expression.span);
                Type::Bool
            }
            MacroKind::Filter => {
                self.predicate(&name.text, body, body_expression.span);
                if *range == Type::Invalid {
                    return Type::Invalid;
                }
                variable
                    .map_or_else(
                        || over.single.clone(),
                        |name| narrow::refined(&over.single, name, body_expression),
                    )
                    .list()
            }
            MacroKind::SortBy => {
                self.sort_key(body, body_expression.span);
                if *range == Type::Invalid {
                    Type::Invalid
                } else {
                    over.single.clone().list()
                }
            }
            MacroKind::Map | MacroKind::TransformList => body.ty.clone().list(),
            MacroKind::TransformMap => {
                let map = crate::types::MapType {
                    key: over.position.clone(),
                    value: body.ty.clone(),
                };
                Type::Map(Arc::new(map))
            }
            MacroKind::TransformMapEntry => match range_of(&body.ty) {
                Some(entry) => Type::Map(Arc::new(crate::types::MapType {
                    key: entry.position,
                    value: entry.value,
                })),
                None => Type::Invalid,
            },
        }
    }

    /// `cel.bind(x, value, body)`
    pub(super) fn bind(&mut self, arguments: &[ast::Argument], span: Span) -> Typed {
        let [name, value, body] = arguments else {
            self.report(report::bind_arguments(span));
            return Typed::fail("`cel.bind` takes a name, a value and a body", span);
        };
        let ast::ExprKind::Name(variable) = &name.value.kind else {
            self.report(report::variable_expected("cel.bind", name.span));
            return Typed::fail("the first argument of `cel.bind` names a variable", span);
        };
        self.shadows(variable, name.span);
        let value = self.expression(&value.value);
        let register = self.push(Some(variable), &value.ty);
        let body = self.lazily(|checker| checker.expression(&body.value));
        self.locals.pop();
        let op = Op::Let {
            register,
            value: Box::new(value.node),
            body: Box::new(body.node),
        };
        Typed::new(op, body.ty, span)
    }

    /// Reports a variable that hides a value of the plan.
    fn shadows(&mut self, variable: &Arc<str>, span: Span) {
        // Outside of a plan nothing but the expression is there to be confused with.
        if self.origin.is_none() {
            return;
        }
        let hidden = match self.scope.lookup(variable) {
            Lookup::Found(binding) => binding.span,
            Lookup::Later(span) => span,
            Lookup::Namespace | Lookup::Missing => return,
        };
        self.report(report::hides(variable, span, hidden));
    }

    /// Brings a variable into scope and gives it a register.
    fn push(&mut self, name: Option<&Arc<str>>, ty: &Type) -> u16 {
        let register = u16::try_from(self.locals.len()).unwrap_or(u16::MAX);
        self.registers = self.registers.max(register.saturating_add(1));
        let name = name.cloned().unwrap_or_else(|| "".into());
        self.locals.push(Local {
            name,
            ty: ty.clone(),
            register,
            facts: self.facts.len(),
        });
        register
    }

    /// What elements are sorted by: values of one kind that has an order.
    fn sort_key(&mut self, key: &Typed, span: Span) {
        let ty = self.present(key, span);
        if combine::every_pair(&ty, &ty, combine::ordered).is_none() {
            self.report(report::no_order(&ty, span));
        }
    }

    fn predicate(&mut self, name: &str, typed: &Typed, span: Span) {
        let fits = |member: &Type| {
            matches!(
                literal::widened(member),
                Type::Bool | Type::Any | Type::Invalid | Type::Never
            )
        };
        if !typed.ty.members().iter().all(fits) {
            self.report(report::not_a_bool(
                &format!("the condition of `{name}`"),
                &typed.ty,
                span,
                &typed.node,
            ));
        }
    }
}

/// What a macro goes over; `None` where it can go over nothing.
fn range_of(ty: &Type) -> Option<Range> {
    let (mut singles, mut positions, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for member in ty.members() {
        let (single, position, value) = match member {
            Type::List(element) => ((**element).clone(), Type::Int, (**element).clone()),
            Type::Map(map) => (map.key.clone(), map.key.clone(), map.value.clone()),
            Type::Object(object) => (Type::String, Type::String, field_union(&object.fields)),
            Type::Result(value) => return range_of(&result_union(value)),
            Type::Error => return range_of(&error_object()),
            Type::Any | Type::Never => (Type::Any, Type::Any, Type::Any),
            Type::Invalid => (Type::Invalid, Type::Invalid, Type::Invalid),
            _ => return None,
        };
        singles.push(single);
        positions.push(position);
        values.push(value);
    }
    Some(Range {
        single: Type::union(singles),
        position: Type::union(positions),
        value: Type::union(values),
    })
}

fn field_union(fields: &[Field]) -> Type {
    Type::union(fields.iter().map(|field| {
        if field.required {
            field.ty.clone()
        } else {
            field.ty.clone().optional()
        }
    }))
}
