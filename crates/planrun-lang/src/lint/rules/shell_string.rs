//! `shell-string`: a text that is built from values is executed as code.

use super::Subject;
use super::subject::StepSite;
use crate::diag::{Diagnostic, Edit, codes};
use crate::sema::expr::{CheckedExpr, Link, LinkOp, Node, Op, Operator, Piece};
use crate::sema::{NodeKind, Place, StepKind};
use crate::types::{FieldLookup, Type, field};

/// Programs that execute an argument as code, with the flag before it.
const SHELLS: [(&str, &str); 12] = [
    ("sh", "-c"),
    ("bash", "-c"),
    ("zsh", "-c"),
    ("dash", "-c"),
    ("ksh", "-c"),
    ("fish", "-c"),
    ("cmd", "/c"),
    ("powershell", "-Command"),
    ("pwsh", "-Command"),
    ("python", "-c"),
    ("python3", "-c"),
    ("node", "-e"),
];

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for (site, call, signature) in subject.calls() {
        if (&*signature.namespace, &*signature.name) == ("proc", "run") {
            if let Some(argv) = call.argument("argv") {
                program(subject, site, argv, found);
            }
            continue;
        }
        for (name, code) in &call.arguments {
            if signature.command.contains(name) && is_built(subject, site, &code.root) {
                let message = format!(
                    "`{}` runs its `{name}` as code, but this string is built from values",
                    signature.path()
                );
                let finding = codes::safety::SHELL_STRING
                    .at(code.span, message)
                    .note("a value with a quote or a semicolon in it becomes a command")
                    .help("pass the values as separate arguments, and keep the code constant");
                found.push(finding);
            }
        }
    }
}

/// Reports a command that runs a string as code, such as `["sh", "-c", "… ${value} …"]`.
fn program(
    subject: &Subject<'_>,
    site: &StepSite<'_>,
    argv: &CheckedExpr,
    found: &mut Vec<Diagnostic>,
) {
    let Op::List(words) = &argv.root.op else {
        return;
    };
    let [(program, _), (flag, _), (code, _), rest @ ..] = words.as_slice() else {
        return;
    };
    let constant = |node: &Node| {
        node.constant()
            .and_then(|value| value.as_str().map(str::to_owned))
    };
    let (Some(shell), Some(flag)) = (constant(program), constant(flag)) else {
        return;
    };
    let name = shell.rsplit('/').next().unwrap_or(&shell);
    if !SHELLS.contains(&(name, flag.as_str())) || !is_built(subject, site, code) {
        return;
    }
    let message = format!("`{name}` runs this string as code, but it is built from values");
    let finding = codes::safety::SHELL_STRING.at(code.span, message)
        .note("a value with a quote or a semicolon in it becomes a command")
        .help("call the program directly, with one element for each word: `argv: [\"git\", \"log\", name]`");
    let plain = rest.is_empty() && !matches!(name, "python" | "python3" | "node");
    found.push(match plain.then(|| words_of(subject, code)).flatten() {
        Some(argv_text) => finding.unsafe_fix(
            "call the program directly",
            vec![Edit::new(argv.span, argv_text)],
        ),
        None => finding,
    });
}

/// Returns true if a text is built from constant parts and values that can be any text.
fn is_built(subject: &Subject<'_>, site: &StepSite<'_>, node: &Node) -> bool {
    let any_text = |node: &Node| {
        let ty = type_of(subject, site, node);
        ty.is_some_and(|ty| matches!(ty.without_null(), Type::String | Type::Any))
    };
    match &node.op {
        Op::Template(pieces) => pieces.iter().filter_map(Piece::value).any(any_text),
        Op::Chain { first, rest } => {
            let parts = || std::iter::once(&**first).chain(rest.iter().map(|(_, node)| node));
            rest.iter().all(|(operator, _)| *operator == Operator::Add)
                && parts().any(|node| {
                    node.constant()
                        .is_some_and(|value| value.as_str().is_some())
                })
                && parts().any(any_text)
        }
        _ => false,
    }
}

/// Returns the type of a name and the fields after it; `None` for other expressions.
fn type_of(subject: &Subject<'_>, site: &StepSite<'_>, node: &Node) -> Option<Type> {
    match &node.op {
        Op::Place(place) => type_at(subject, site, *place),
        Op::Path { base, links } => {
            links
                .iter()
                .try_fold(type_of(subject, site, base)?, |ty, link| match link {
                    Link {
                        op: LinkOp::Field { key, .. },
                        ..
                    } => match field(&ty.without_null(), key.as_str()?) {
                        FieldLookup::Found { ty, .. } => Some(ty),
                        FieldLookup::Any => Some(Type::Any),
                        FieldLookup::Missing | FieldLookup::NotAnObject => None,
                    },
                    _ => None,
                })
        }
        _ => None,
    }
}

fn type_at(subject: &Subject<'_>, site: &StepSite<'_>, place: Place) -> Option<Type> {
    let frame = subject.frame(site.block, place)?;
    if frame.0 == 0
        && let Some(parameter) = subject.plan.parameters.get(place.slot as usize)
    {
        return Some(parameter.ty.clone());
    }
    let content = subject.plan.block(frame);
    let given = content.producers(place.slot).map(|node| match &node.kind {
        NodeKind::Step(step) => Some(step.ty.clone()),
        NodeKind::Let(code) => Some(code.ty.clone()),
        _ => None,
    });
    match given.collect::<Option<Vec<_>>>()? {
        types if !types.is_empty() => Some(Type::union(types)),
        _ => {
            let (_, owner) = subject.owner(frame)?;
            let StepKind::Each(each) = &owner.step()?.kind else {
                return None;
            };
            let Type::List(element) = each.list.ty.without_null() else {
                return None;
            };
            (place.slot == 0).then(|| (*element).clone())
        }
    }
}

/// Returns the words of a plain command as a list; `None` if a shell would do more than split it at spaces.
fn words_of(subject: &Subject<'_>, node: &Node) -> Option<String> {
    let Op::Template(pieces) = &node.op else {
        return None;
    };
    let mut words = vec![String::new()];
    for piece in pieces {
        match piece {
            Piece::Text(text) => {
                for (index, part) in text.split(' ').enumerate() {
                    if index > 0 {
                        words.push(String::new());
                    }
                    let plain = |letter: char| {
                        letter.is_ascii_alphanumeric() || "-_./=:,@%+".contains(letter)
                    };
                    if !part.chars().all(plain) {
                        return None;
                    }
                    words.last_mut()?.push_str(part);
                }
            }
            Piece::Value(value) => {
                let written = format!("${{{}}}", subject.source.slice(value.span));
                words.last_mut()?.push_str(&written);
            }
        }
    }
    let words = words
        .into_iter()
        .filter(|word| !word.is_empty())
        .map(|word| format!("\"{word}\""));
    let words = words.collect::<Vec<_>>();
    let program = words.first().filter(|program| !program.contains('$'));
    program.map(|_| format!("[{}]", words.join(", ")))
}
