//! What the calls of a plan reach through the built-in tools, as far as constants tell.

use std::path::Path;
use std::sync::Arc;

use foldhash::HashSet;
use url::Url;

use crate::permission::{Grant, PathResolver, Permissions, ReachedProgram, reached_file};
use crate::sema::expr::{Code, Node, Op, Piece};
use crate::sema::{BlockId, Call, Plan, Step, StepKind, Target};
use crate::source::Span;
use crate::types::{CallKind, Denied, ErrorClass, Signature};

/// A setting of `allow`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Door {
    Net,
    Read,
    Write,
    Run,
    Env,
    Tools,
    Agents,
}

/// Which lists there are of what may be called, by the plan or its project.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lists {
    pub tools: bool,
    pub agents: bool,
}

/// One thing that a call reaches, known before the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Thing {
    Address(Url),
    /// As written: relative ones begin at the project's root.
    File(Arc<str>),
    Program(Arc<str>),
    Variable(Arc<str>),
    /// By its namespace and its name.
    Tool(Arc<str>, Arc<str>),
    /// By its namespace.
    Agent(Arc<str>),
    /// Whichever tools of this namespace are allowed.
    ToolsOf(Arc<str>),
}

/// What must be allowed, and the argument or the call of a plan that wants it.
#[derive(Clone, Debug)]
pub(super) struct Need {
    pub door: Door,
    pub thing: Thing,
    pub span: Span,
    /// The called plan that wants it, if it is not this one.
    pub within: Option<Arc<str>>,
    /// Whether a denial is caught: then it is one of the ways in which the plan may go.
    pub caught: bool,
}

/// Everything that a plan reaches, called plans included.
#[derive(Default, Debug)]
pub(super) struct Reach {
    pub needs: Vec<Need>,
    /// Doors that are used with values that only a run knows, and where.
    pub open: Vec<(Door, Span)>,
    lists: Lists,
}

/// What stands around a call.
#[derive(Clone, Copy)]
struct Around<'a> {
    /// The call through which its plan is reached, and the name of that.
    outer: Option<(Span, &'a Arc<str>)>,
    /// Whether a failure of it is caught.
    caught: bool,
}

impl Door {
    pub(super) const ALL: [Self; 7] = [
        Self::Net,
        Self::Read,
        Self::Write,
        Self::Run,
        Self::Env,
        Self::Tools,
        Self::Agents,
    ];

    /// The name of the setting.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Net => "net",
            Self::Read => "read",
            Self::Write => "write",
            Self::Run => "run",
            Self::Env => "env",
            Self::Tools => "tools",
            Self::Agents => "agents",
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
            Self::Tools => "calling tools",
            Self::Agents => "calling agents",
        }
    }

    /// Whether everything may be reached where nothing is listed, so that an empty list says something.
    pub(super) const fn is_open_without_list(self) -> bool {
        matches!(self, Self::Tools | Self::Agents)
    }

    /// The patterns of a grant.
    pub(super) fn patterns(self, grant: &Grant) -> &[String] {
        match self {
            Self::Net => &grant.net,
            Self::Read => &grant.read,
            Self::Write => &grant.write,
            Self::Run => &grant.run,
            Self::Env => &grant.env,
            Self::Tools => grant.tools.as_deref().unwrap_or_default(),
            Self::Agents => grant.agents.as_deref().unwrap_or_default(),
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
            Self::Tools => grant.tools.get_or_insert_default(),
            Self::Agents => grant.agents.get_or_insert_default(),
        };
        patterns.push(pattern.to_owned());
        grant
    }
}

impl Need {
    /// Whether this is allowed.
    pub(super) fn granted(
        &self,
        permissions: &Permissions,
        root: &Path,
        paths: &dyn PathResolver,
    ) -> bool {
        match &self.thing {
            Thing::Address(url) => permissions.net(url).is_ok(),
            Thing::File(written) => {
                let path = reached_file(paths, root, written, self.door == Door::Write);
                let allowed = |path: &Path| match self.door {
                    Door::Write => permissions.write(path, written).is_ok(),
                    Door::Net | Door::Read | Door::Run | Door::Env | Door::Tools | Door::Agents => {
                        permissions.read(path, written).is_ok()
                    }
                };
                path.is_none_or(|path| allowed(&path))
            }
            Thing::Program(name) => {
                let program = ReachedProgram::of(paths, root, name);
                permissions.run(&program).is_ok()
            }
            Thing::Variable(name) => permissions.env(name).is_ok(),
            Thing::Tool(namespace, name) => permissions.tool(namespace, name).is_ok(),
            Thing::ToolsOf(namespace) => permissions.any_tool_of(namespace).is_ok(),
            Thing::Agent(name) => permissions.agent(name).is_ok(),
        }
    }

    /// The pattern that allows this and little else.
    pub(super) fn pattern(&self) -> String {
        match &self.thing {
            Thing::Address(url) => {
                let host = url.host_str().unwrap_or_default();
                // A bare host stands for the ports 80 and 443.
                url.port()
                    .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
            }
            Thing::File(written) => written.to_string(),
            Thing::Program(name) | Thing::Variable(name) | Thing::Agent(name) => name.to_string(),
            Thing::Tool(namespace, name) => format!("{namespace}.{name}"),
            Thing::ToolsOf(namespace) => format!("{namespace}.*"),
        }
    }
}

impl Reach {
    /// What a plan and those that it calls reach; which tools and agents they call only where there are such lists.
    pub(super) fn of(plan: &Plan, lists: Lists) -> Self {
        let mut reach = Self {
            lists,
            ..Self::default()
        };
        let mut seen = HashSet::default();
        reach.plan(
            plan,
            &Around {
                outer: None,
                caught: false,
            },
            &mut seen,
        );
        reach
    }

    fn plan(&mut self, plan: &Plan, around: &Around<'_>, seen: &mut HashSet<*const Plan>) {
        self.block(plan, BlockId(0), around, seen);
    }

    fn block(
        &mut self,
        plan: &Plan,
        block: BlockId,
        around: &Around<'_>,
        seen: &mut HashSet<*const Plan>,
    ) {
        for node in &plan.block(block).nodes {
            let caught = around.caught || node.step().is_some_and(catches_denial);
            let around = Around { caught, ..*around };
            if let Some(StepKind::Call(call)) = node.step().map(|step| &step.kind) {
                self.target(plan, call, &around, seen);
            }
            let asks_agent = node.step().and_then(|step| step.agent_check()?.body());
            node.inner(&mut |inner| {
                // An agent that may not be asked at the end is not asked, and nothing fails.
                let caught = caught || asks_agent == Some(inner);
                self.block(plan, inner, &Around { caught, ..around }, seen);
            });
        }
    }

    fn target(
        &mut self,
        plan: &Plan,
        call: &Call,
        around: &Around<'_>,
        seen: &mut HashSet<*const Plan>,
    ) {
        match &call.target {
            Target::Tool(signature)
                if matches!(signature.kind, CallKind::Agent | CallKind::ReadOnlyAgent) =>
            {
                self.agent(call, signature, around);
                if self.lists.tools {
                    let tools = Thing::ToolsOf(signature.namespace.clone());
                    self.add((Door::Tools, Some(tools), call.span), around);
                }
                // It calls what it likes of its own tools.
                if matches!(&*signature.namespace, "fs" | "http" | "proc") {
                    self.open.extend(Door::ALL.map(|door| (door, call.span)));
                }
            }
            Target::Tool(signature) => self.call(call, signature, around),
            Target::Plan(index, name) => {
                if let Some(inner) = plan.plans.get(*index)
                    && seen.insert(Arc::as_ptr(inner))
                {
                    self.plan(
                        inner,
                        &Around {
                            outer: around.outer.or(Some((call.span, name))),
                            ..*around
                        },
                        seen,
                    );
                }
            }
        }
    }

    fn agent(&mut self, call: &Call, signature: &Signature, around: &Around<'_>) {
        if self.lists.agents && signature.kind.is_agent() {
            let agent = Thing::Agent(signature.namespace.clone());
            self.add((Door::Agents, Some(agent), call.span), around);
        }
    }

    fn call(&mut self, call: &Call, signature: &Signature, around: &Around<'_>) {
        let Signature {
            namespace, name, ..
        } = signature;
        if self.lists.tools {
            let tool = Thing::Tool(namespace.clone(), name.clone());
            self.add((Door::Tools, Some(tool), call.span), around);
        }
        self.agent(call, signature, around);
        let mut add = |door, thing, span| self.add((door, thing, span), around);
        let file = |code: &Code| {
            code.constant()?
                .as_str()
                .map(|text| Thing::File(text.into()))
        };
        match (&*signature.namespace, &*signature.name) {
            ("http", "fetch") => {
                if let Some(code) = call.argument("url").filter(|code| !code.is_invalid()) {
                    add(
                        Door::Net,
                        address(&code.root).map(Thing::Address),
                        code.span,
                    );
                }
            }
            ("fs", tool) => {
                if let Some(code) = call.argument("path").filter(|code| !code.is_invalid()) {
                    add(
                        if tool == "write" {
                            Door::Write
                        } else {
                            Door::Read
                        },
                        file(code),
                        code.span,
                    );
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
                    Some(code) => variables(code, &mut |name, span| {
                        add(Door::Env, name.map(Thing::Variable), span);
                    }),
                    // Programs see every variable that is allowed.
                    None => add(Door::Env, None, call.span),
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, (door, thing, span): (Door, Option<Thing>, Span), around: &Around<'_>) {
        let span = around.outer.map_or(span, |(span, _)| span);
        let Some(thing) = thing else {
            return self.open.push((door, span));
        };
        let mut needs = self.needs.iter_mut();
        if let Some(known) = needs.find(|need| need.door == door && need.thing == thing) {
            known.caught &= around.caught;
            return;
        }
        let within = around.outer.map(|(_, name)| name.clone());
        self.needs.push(Need {
            door,
            thing,
            span,
            within,
            caught: around.caught,
        });
    }
}

/// Whether a call that is denied does not fail what stands around this step.
fn catches_denial(step: &Step) -> bool {
    let denied = ErrorClass::Denied(Denied::Policy);
    let arms = &step.recover;
    arms.iter().any(|arm| {
        arm.patterns.is_empty() || arm.patterns.iter().any(|pattern| pattern.matches(&denied))
    }) || matches!(&step.kind, StepKind::Race(_))
        || matches!(&step.kind, StepKind::Each(each) if each.settle)
}

/// Whether a path leads out of the folder where relative ones begin, by `..` alone.
pub(super) fn leaves_root(thing: &Thing) -> bool {
    let Thing::File(written) = thing else {
        return false;
    };
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
            let Some(Piece::Text(start)) = pieces.first() else {
                return None;
            };
            let (_, behind) = start.split_once("://")?;
            // Without one of these the host may go on in what follows.
            behind
                .contains(['/', '?', '#'])
                .then(|| Url::parse(start).ok())?
                .filter(Url::has_host)
        }
        _ => None,
    }
}

/// The program of an argument vector.
fn first_word(code: &Code) -> (Option<Arc<str>>, Span) {
    let text = |value: &crate::value::Value| {
        value
            .as_str()
            .filter(|word| !word.is_empty())
            .map(Into::into)
    };
    match &code.root.op {
        Op::Constant(value) => (value.at(0).and_then(text), code.span),
        Op::List(words) => {
            let first = words.first().map(|(first, _)| first);
            (
                first.and_then(Node::constant).and_then(text),
                first.map_or(code.span, |first| first.span),
            )
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
            let names = value
                .as_map()
                .into_iter()
                .flatten()
                .filter_map(|(key, _)| key.as_str());
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
