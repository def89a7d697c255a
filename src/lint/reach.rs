//! What the calls of a plan reach through the built-in tools, as far as constants tell.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use reqwest::Url;

use super::subject::tool_call;
use crate::host::Host;
use crate::sema::expr::{Code, Node, Op, Piece};
use crate::sema::{Call, Plan, StepKind, Target};
use crate::source::Span;
use crate::tools::{Grant, Permissions, reached_file};
use crate::types::Signature;

/// A setting of `allow`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Door {
    Net,
    Read,
    Write,
    Run,
    Env,
}

/// One thing that a call reaches, known before the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Thing {
    Address(Url),
    /// As written: relative ones begin at the project's root.
    File(Arc<str>),
    Program(Arc<str>),
    Variable(Arc<str>),
}

/// What must be allowed, and the argument or the call of a plan that wants it.
#[derive(Clone, Debug)]
pub(super) struct Need {
    pub door: Door,
    pub thing: Thing,
    pub span: Span,
    /// The called plan that wants it, if it is not this one.
    pub within: Option<Arc<str>>,
}

/// Everything that a plan reaches, called plans included.
#[derive(Default, Debug)]
pub(super) struct Reach {
    pub needs: Vec<Need>,
    /// Doors that are used with values that only a run knows, and where.
    pub open: Vec<(Door, Span)>,
}

impl Door {
    pub(super) const ALL: [Self; 5] = [Self::Net, Self::Read, Self::Write, Self::Run, Self::Env];

    /// The name of the setting.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Net => "net",
            Self::Read => "read",
            Self::Write => "write",
            Self::Run => "run",
            Self::Env => "env",
        }
    }

    /// What the door is for, as in "… is not allowed".
    pub(super) const fn deed(self) -> &'static str {
        match self {
            Self::Net => "a request",
            Self::Read => "reading files",
            Self::Write => "writing files",
            Self::Run => "running programs",
            Self::Env => "setting variables",
        }
    }

    /// The patterns of a grant.
    pub(super) fn patterns(self, grant: &Grant) -> &[String] {
        match self {
            Self::Net => &grant.net,
            Self::Read => &grant.read,
            Self::Write => &grant.write,
            Self::Run => &grant.run,
            Self::Env => &grant.env,
        }
    }

    /// A grant of one pattern.
    pub(super) fn only(self, pattern: &str) -> Grant {
        let mut grant = Grant::default();
        let patterns = match self {
            Self::Net => &mut grant.net,
            Self::Read => &mut grant.read,
            Self::Write => &mut grant.write,
            Self::Run => &mut grant.run,
            Self::Env => &mut grant.env,
        };
        patterns.push(pattern.to_owned());
        grant
    }
}

impl Need {
    /// Whether this is allowed.
    pub(super) fn granted(&self, permissions: &Permissions, root: &Path, host: &dyn Host) -> bool {
        match &self.thing {
            Thing::Address(url) => permissions.net(url).is_ok(),
            Thing::File(written) => {
                let path = reached_file(host, root, written, self.door == Door::Write);
                let allowed = |path: &Path| match self.door {
                    Door::Write => permissions.write(path, written).is_ok(),
                    Door::Net | Door::Read | Door::Run | Door::Env => permissions.read(path, written).is_ok(),
                };
                path.is_none_or(|path| allowed(&path))
            }
            Thing::Program(name) => permissions.run(name).is_ok(),
            Thing::Variable(name) => permissions.env(name).is_ok(),
        }
    }

    /// The pattern that allows this and little else.
    pub(super) fn pattern(&self) -> String {
        match &self.thing {
            Thing::Address(url) => {
                let host = url.host_str().unwrap_or_default();
                // A bare host stands for the ports 80 and 443.
                url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
            }
            Thing::File(written) => written.to_string(),
            Thing::Program(name) | Thing::Variable(name) => name.to_string(),
        }
    }
}

impl Reach {
    /// What a plan and those that it calls reach.
    pub(super) fn of(plan: &Plan) -> Self {
        let mut reach = Self::default();
        let mut seen = HashSet::new();
        reach.plan(plan, None, &mut seen);
        reach
    }

    /// `outer` is the call through which a plan is reached, and its name.
    fn plan(&mut self, plan: &Plan, outer: Option<(Span, &Arc<str>)>, seen: &mut HashSet<*const Plan>) {
        for step in plan.blocks.iter().flat_map(|block| &block.nodes).filter_map(|node| node.step()) {
            if let Some((call, signature)) = tool_call(step) {
                self.call(call, signature, outer);
            } else if let StepKind::Call(Call { target: Target::Plan(index, name), span, .. }) = &step.kind
                && let Some(inner) = plan.plans.get(*index)
                && seen.insert(Arc::as_ptr(inner))
            {
                self.plan(inner, Some(outer.unwrap_or((*span, name))), seen);
            }
        }
    }

    fn call(&mut self, call: &Call, signature: &Signature, outer: Option<(Span, &Arc<str>)>) {
        let mut add = |door: Door, thing: Option<Thing>, span: Span| {
            let span = outer.map_or(span, |(span, _)| span);
            match thing {
                None => self.open.push((door, span)),
                Some(thing) if self.needs.iter().any(|need| need.door == door && need.thing == thing) => {}
                Some(thing) => {
                    self.needs.push(Need { door, thing, span, within: outer.map(|(_, name)| name.clone()) });
                }
            }
        };
        let file = |code: &Code| code.constant()?.as_str().map(|text| Thing::File(text.into()));
        match (&*signature.namespace, &*signature.name) {
            ("http", "fetch") => {
                if let Some(code) = call.argument("url").filter(|code| !code.is_invalid()) {
                    add(Door::Net, address(&code.root).map(Thing::Address), code.span);
                }
            }
            ("fs", tool) => {
                if let Some(code) = call.argument("path").filter(|code| !code.is_invalid()) {
                    add(if tool == "write" { Door::Write } else { Door::Read }, file(code), code.span);
                }
            }
            ("proc", _) => {
                if let Some(code) = call.argument("argv").filter(|code| !code.is_invalid()) {
                    let (program, span) = first_word(code);
                    add(Door::Run, program.map(Thing::Program), span);
                }
                if let Some(code) = call.argument("cwd") {
                    add(Door::Read, file(code).filter(leaves_root), code.span);
                }
                match call.argument("env") {
                    Some(code) => variables(code, &mut |name, span| add(Door::Env, name.map(Thing::Variable), span)),
                    // Programs see every variable that is allowed.
                    None => add(Door::Env, None, call.span),
                }
            }
            _ => {}
        }
    }
}

/// Whether a path leads out of the folder where relative ones begin, by `..` alone.
pub(super) fn leaves_root(thing: &Thing) -> bool {
    let Thing::File(written) = thing else { return false };
    let mut depth = 0_i64;
    !written.starts_with('/')
        && written.split('/').any(|part| {
            match part {
                "" | "." => {}
                ".." => depth -= 1,
                _ => depth += 1,
            }
            depth < 0
        })
}

/// The address that an expression gives, as far as the host: the beginning of a template is enough.
pub(super) fn address(node: &Node) -> Option<Url> {
    match &node.op {
        Op::Constant(value) => Url::parse(value.as_str()?).ok().filter(Url::has_host),
        Op::Template(pieces) => {
            let Some(Piece::Text(start)) = pieces.first() else { return None };
            let (_, behind) = start.split_once("://")?;
            // Without one of these the host may go on in what follows.
            behind.contains(['/', '?', '#']).then(|| Url::parse(start).ok())?.filter(Url::has_host)
        }
        _ => None,
    }
}

/// The program of an argument vector.
fn first_word(code: &Code) -> (Option<Arc<str>>, Span) {
    let text = |value: &crate::value::Value| value.as_str().filter(|word| !word.is_empty()).map(Into::into);
    match &code.root.op {
        Op::Constant(value) => (value.at(0).and_then(text), code.span),
        Op::List(words) => {
            let first = words.first();
            (first.and_then(Node::constant).and_then(text), first.map_or(code.span, |first| first.span))
        }
        _ => (None, code.span),
    }
}

/// The names of the variables that a map gives; `None` where only the run knows one.
fn variables(code: &Code, add: &mut dyn FnMut(Option<Arc<str>>, Span)) {
    use crate::sema::expr::MapKey;
    // Programs see every variable that is allowed besides those that the call sets.
    add(None, code.span);
    match &code.root.op {
        Op::Constant(value) => {
            let names = value.as_map().into_iter().flatten().filter_map(|(key, _)| key.as_str());
            names.for_each(|name| add(Some(name.into()), code.span));
        }
        Op::Map(entries) => {
            for (key, value) in entries {
                if let MapKey::Constant(key) = key {
                    add(key.as_str().map(Into::into), value.span);
                }
            }
        }
        _ => {}
    }
}
