//! Lists the paths that can be read at a place, each with its type.

use super::scope::{Kind, Scope};
use super::ty::Ty;

/// A path as it is written in an expression.
#[derive(Clone, Debug)]
pub struct Readable {
    pub text: String,
    pub ty: Ty,
    /// Whether null can only mean that the field is missing.
    pub missing_only: bool,
    /// Whether the checker knows its type exactly as `ty`.
    pub exact: bool,
    /// Whether its value is known before the run.
    pub constant: bool,
    /// The index of its name among the variables.
    pub variable: usize,
}

/// Longest chain of fields in a path.
const MAX_DEPTH: usize = 3;
/// Most paths that start with one name.
const MAX_PATHS: usize = 24;

/// Returns every path that can be read, including those that may be absent.
pub fn readables(scope: &Scope) -> Vec<Readable> {
    let mut found = Vec::new();
    for (position, variable) in scope.variables.iter().enumerate() {
        let mut own = Vec::new();
        let start = Readable {
            text: variable.name.clone(),
            ty: seen(scope, &variable.name, variable.seen(scope)),
            missing_only: false,
            exact: variable.exact,
            constant: variable.constant,
            variable: position,
        };
        follow(scope, start, 0, &mut own);
        // The context of a task is read field by field.
        own.retain(|path| variable.kind != Kind::Context || path.text != variable.name);
        own.truncate(MAX_PATHS);
        found.extend(own);
    }
    found
}

/// Records that a path is read.
pub fn mark(scope: &Scope, readable: &Readable) {
    scope.variables[readable.variable].used.set(true);
}

/// Returns the names since `first` that have to be read and have not been.
pub fn unread(scope: &Scope, first: usize) -> Vec<String> {
    let variables = scope.variables[first.min(scope.variables.len())..].iter();
    let variables = variables.filter(|variable| {
        !matches!(variable.kind, Kind::Local | Kind::Context) && !variable.used.get()
    });
    variables.map(|variable| variable.name.clone()).collect()
}

fn seen(scope: &Scope, path: &str, ty: Ty) -> Ty {
    if scope.is_present(path) {
        ty.present()
    } else {
        ty
    }
}

fn follow(scope: &Scope, here: Readable, depth: usize, found: &mut Vec<Readable>) {
    if scope.is_hidden(&here.text) {
        return;
    }
    let (dot, inner) = match &here.ty {
        Ty::Opt(inner) => ("?.", (**inner).clone()),
        other => (".", other.clone()),
    };
    let optional = dot == "?.";
    if depth < MAX_DEPTH {
        let mut link = |name: &str, ty: Ty, missing_only: bool, exact: bool| {
            let text = format!("{}{dot}{name}", here.text);
            let ty = if optional {
                ty.optional()
            } else {
                seen(scope, &text, ty)
            };
            // Paths behind `?.` are not narrowed, which keeps conditions simple.
            let missing_only = missing_only && !optional;
            let (constant, variable) = (here.constant, here.variable);
            let next = Readable {
                text,
                ty,
                missing_only,
                exact,
                constant,
                variable,
            };
            follow(scope, next, depth + 1, found);
        };
        match &inner {
            Ty::Object(object) => {
                for field in &object.fields {
                    let there = field.required;
                    let ty = if there {
                        field.ty.clone()
                    } else {
                        field.ty.clone().optional()
                    };
                    link(
                        field.name,
                        ty,
                        !there && !matches!(field.ty, Ty::Opt(_)),
                        here.exact,
                    );
                }
            }
            Ty::Error => {
                link("class", Ty::Str, false, true);
                link("message", Ty::Str, false, true);
                link("retryable", Ty::Bool, false, true);
                // `attempts` is left out: it depends on when a process was killed.
            }
            Ty::Result(_) => link("ok", Ty::Bool, false, true),
            _ => {}
        }
    }
    found.push(here);
}
