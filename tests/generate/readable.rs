//! The paths that can be read at one place, each with its type.

use super::scope::{Kind, Scope};
use super::ty::Ty;

/// A path that can be written as it stands.
#[derive(Clone, Debug)]
pub struct Readable {
    pub text: String,
    pub ty: Ty,
    /// Whether a null can only mean that the field is missing.
    pub missing_only: bool,
    /// Whether the checker knows it by this very type.
    pub exact: bool,
    /// Whether its value is known before the run.
    pub constant: bool,
    /// The position of its name among the variables.
    pub variable: usize,
}

/// Paths are followed through so many fields.
const DEEPEST: usize = 3;
/// So many paths of one name are enough.
const MOST: usize = 24;

/// Every path that can be read, those that may be absent included.
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
        own.truncate(MOST);
        found.extend(own);
    }
    found
}

/// Notes that a path is read.
pub fn mark(scope: &Scope, readable: &Readable) {
    scope.variables[readable.variable].used.set(true);
}

/// A name that nothing has read yet and that somebody must read, among those since `first`.
pub fn unread(scope: &Scope, first: usize) -> Vec<String> {
    let wanted = scope.variables[first.min(scope.variables.len())..].iter();
    let wanted = wanted.filter(|variable| variable.kind != Kind::Local && !variable.used.get());
    wanted.map(|variable| variable.name.clone()).collect()
}

fn seen(scope: &Scope, path: &str, ty: Ty) -> Ty {
    if scope.is_shown(path) {
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
    if depth < DEEPEST {
        let mut link = |name: &str, ty: Ty, missing_only: bool, exact: bool| {
            let text = format!("{}{dot}{name}", here.text);
            let ty = if optional {
                ty.optional()
            } else {
                seen(scope, &text, ty)
            };
            // Behind `?.` nothing is narrowed, which keeps conditions simple.
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
                // How often something was tried hangs on when a process died, so no plan here asks for that.
            }
            Ty::Result(_) => link("ok", Ty::Bool, false, true),
            _ => {}
        }
    }
    found.push(here);
}
