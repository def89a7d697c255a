//! Names with types, guards and values for the tests of expressions.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use planrun_lang::diag::Diagnostic;
use planrun_lang::eval::{Environment, EvalError, evaluate};
use planrun_lang::protocol::StepState;
use planrun_lang::sema::expr::{CheckedExpr, Checker, Expectation, atoms};
use planrun_lang::sema::{Atom, Binding, Definition, Lookup, NameKind, Place, Scope};
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::syntax::parse_expression;
use planrun_lang::types::{Field, Literal, Rest, Type};
use planrun_lang::value::Value;

/// The scope of an expression.
#[derive(Default)]
pub struct World {
    bindings: Vec<(Arc<str>, Binding)>,
    values: Vec<Value>,
    states: BTreeMap<u32, StepState>,
    later: Vec<Arc<str>>,
    namespaces: Vec<Arc<str>>,
    facts: Vec<Atom>,
}

impl World {
    /// Adds a name with a type, and a value for evaluation.
    pub fn name(self, name: &str, ty: Type, value: Value) -> Self {
        self.bind(name, NameKind::Step, ty, "", &[], value)
    }

    /// Adds a parameter of the plan.
    pub fn parameter(self, name: &str, ty: Type) -> Self {
        self.bind(name, NameKind::Parameter, ty, "", &[], Value::Null)
    }

    /// Adds a step with a guard.
    pub fn guarded(self, name: &str, ty: Type, guard: &str, value: Value) -> Self {
        self.bind(name, NameKind::Step, ty, guard, &[], value)
    }

    /// Adds a step that is a race.
    pub fn race(self, name: &str, branches: &[&str]) -> Self {
        self.bind(name, NameKind::Step, Type::Any, "", branches, Value::Null)
    }

    pub fn later(mut self, name: &str) -> Self {
        self.later.push(name.into());
        self
    }

    pub fn namespace(mut self, name: &str) -> Self {
        self.namespaces.push(name.into());
        self
    }

    /// Sets the condition that encloses the expression.
    pub fn when(mut self, condition: &str) -> Self {
        self.facts.extend(condition_atoms(condition));
        self
    }

    pub fn state(mut self, name: &str, state: StepState) -> Self {
        let slot = self
            .bindings
            .iter()
            .position(|(known, _)| &**known == name)
            .unwrap();
        self.states.insert(u32::try_from(slot).unwrap(), state);
        self
    }

    fn bind(
        mut self,
        name: &str,
        kind: NameKind,
        ty: Type,
        guard: &str,
        branches: &[&str],
        value: Value,
    ) -> Self {
        let slot = u32::try_from(self.bindings.len()).unwrap();
        let guard = if guard.is_empty() {
            Vec::new()
        } else {
            condition_atoms(guard)
        };
        let names = branches
            .iter()
            .map(|branch| Type::Literal(Literal::String((*branch).into())));
        let winner = (!branches.is_empty()).then(|| Type::union(names));
        let definitions = [Definition {
            ty,
            guard: guard.into(),
            winner,
        }]
        .into();
        let binding = Binding {
            kind,
            place: Place { up: 0, slot },
            span: Span::new(0, 0),
            definitions,
        };
        self.bindings.push((name.into(), binding));
        self.values.push(value);
        self
    }

    /// Checks a text as an expression.
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method itself is not general enough over lifetimes"
    )]
    pub fn check(&self, text: &str) -> (CheckedExpr, Vec<Diagnostic>) {
        self.checked(text, |checker, tree| checker.check(tree))
    }

    pub fn against(&self, text: &str, expected: &Type) -> (CheckedExpr, Vec<Diagnostic>) {
        let expectation = Expectation::of(&"argument `to` of `email.send_email`");
        self.checked(text, |checker, tree| {
            checker.check_against(tree, expected, expectation)
        })
    }

    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method itself is not general enough over lifetimes"
    )]
    pub fn condition(&self, text: &str) -> (CheckedExpr, Vec<Diagnostic>) {
        self.checked(text, |checker, tree| checker.check_condition(tree))
    }

    fn checked(
        &self,
        text: &str,
        check: impl FnOnce(&mut Checker, &planrun_lang::syntax::ast::Expr) -> CheckedExpr,
    ) -> (CheckedExpr, Vec<Diagnostic>) {
        let source = SourceFile::new("test", text);
        let (tree, mut diagnostics) = parse_expression(&source);
        assert!(diagnostics.is_empty(), "{text}: {diagnostics:?}");
        let statement = Span::new(0, text.len());
        let code = check(
            &mut Checker::new(self, &mut diagnostics).within(&source, statement, true),
            &tree,
        );
        (code, diagnostics)
    }

    /// Returns the type of an expression without errors.
    pub fn ty(&self, text: &str) -> String {
        let (code, diagnostics) = self.check(text);
        assert!(
            diagnostics.is_empty(),
            "{text}: {}",
            describe(text, &diagnostics)
        );
        code.ty.to_string()
    }

    /// Returns the codes of the diagnostics of an expression.
    pub fn codes(&self, text: &str) -> Vec<&'static str> {
        self.check(text)
            .1
            .iter()
            .map(|diagnostic| diagnostic.code.name)
            .collect()
    }

    /// Returns the value of an expression, even if it has diagnostics.
    pub fn value(&self, text: &str) -> Result<Value, EvalError> {
        evaluate(&self.check(text).0, self)
    }
}

impl Scope for World {
    fn lookup(&self, name: &str) -> Lookup {
        if let Some((_, binding)) = self.bindings.iter().find(|(known, _)| &**known == name) {
            return Lookup::Found(binding.clone());
        }
        if self.later.iter().any(|known| &**known == name) {
            return Lookup::Later(Span::new(0, 1));
        }
        if self.namespaces.iter().any(|known| &**known == name) {
            Lookup::Namespace
        } else {
            Lookup::Missing
        }
    }

    fn visible(&self) -> Vec<Arc<str>> {
        self.bindings.iter().map(|(name, _)| name.clone()).collect()
    }

    fn facts(&self) -> &[Atom] {
        &self.facts
    }
}

impl Environment for World {
    fn value(&self, place: Place) -> Result<Value, EvalError> {
        Ok(self.values[place.slot as usize].clone())
    }

    fn state(&self, place: Place) -> StepState {
        self.states
            .get(&place.slot)
            .copied()
            .unwrap_or(StepState::Completed)
    }

    fn winner(&self, place: Place) -> Option<Arc<str>> {
        match self.bindings[place.slot as usize].1.definitions[0]
            .winner
            .as_ref()?
            .members()
            .first()?
        {
            Type::Literal(Literal::String(first)) => Some(first.clone()),
            _ => None,
        }
    }
}

fn condition_atoms(text: &str) -> Vec<Atom> {
    let (tree, diagnostics) = parse_expression(&SourceFile::new("guard", text));
    assert!(diagnostics.is_empty(), "{text}");
    atoms(&tree)
}

/// Returns an object type; a field whose name ends in `?` is optional.
pub fn object(fields: &[(&str, Type)]) -> Type {
    let fields = fields.iter().map(|(name, ty)| {
        let required = !name.ends_with('?');
        Field {
            name: name.trim_end_matches('?').into(),
            ty: ty.clone(),
            required,
        }
    });
    Type::object(fields.collect(), Rest::Closed)
}

/// Returns a union of string literals.
pub fn texts(texts: &[&str]) -> Type {
    Type::union(texts.iter().map(|text| Type::text(text)))
}

/// Formats diagnostics: code, text at the span, message, and the expression with the fix applied.
pub fn describe(text: &str, diagnostics: &[Diagnostic]) -> String {
    let mut report = String::new();
    for diagnostic in diagnostics {
        let place = text.get(diagnostic.span.range()).unwrap_or("?");
        let _ = writeln!(
            report,
            "{} at `{place}`: {}",
            diagnostic.code.name, diagnostic.message
        );
        if let Some(help) = &diagnostic.help {
            let _ = writeln!(report, "  help: {help}");
        }
        if let (Some(expected), Some(actual)) = (&diagnostic.expected, &diagnostic.actual) {
            let _ = writeln!(report, "  expected: {expected}; actual: {actual}");
        }
        if !diagnostic.available.is_empty() {
            let _ = writeln!(report, "  available: {}", diagnostic.available.join(", "));
        }
        if let Some(fix) = &diagnostic.fix {
            let safe = if fix.safe { "fix" } else { "unsafe fix" };
            let _ = writeln!(
                report,
                "  {safe}: {} => {}",
                fix.title,
                fixed(text, diagnostic)
            );
        }
    }
    report
}

/// Applies the edits of a diagnostic to a text.
pub fn fixed(text: &str, diagnostic: &Diagnostic) -> String {
    let mut edits = diagnostic.fix.as_ref().unwrap().edits.clone();
    edits.sort_by_key(|edit| edit.span);
    let mut text = text.to_owned();
    for edit in edits.iter().rev() {
        text.replace_range(edit.span.range(), &edit.text);
    }
    text
}

/// Compares a text with the snapshot of this name.
pub fn snapshot(name: &str, text: &str) {
    insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!(format!("expr-{name}"), text);
    });
}
