//! Computes what the calls of a plan access through the built-in tools, as far as it is constant.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use foldhash::HashSet;
use url::Url;

use crate::eval::Constants;
use crate::permission::{self, Grant, PathResolver, Permissions, ReachedProgram, reached_file};
use crate::sema::expr::{CheckedExpr, MapKey, Node, Op, Piece};
use crate::sema::{BlockId, Call, Plan, Step, StepKind, Target};
use crate::source::Span;
use crate::types::{CallKind, Denied, ErrorClass, ErrorPattern, Signature};
use crate::value::Value;

/// A setting of `allow`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    Net,
    Read,
    Write,
    Run,
    Env,
    Tools,
    Agents,
}

/// Whether the plan or its project restricts the tools and agents that may be called.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lists {
    pub tools: bool,
    pub agents: bool,
}

/// A resource that a call accesses, known before the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Resource {
    Address(Url),
    /// A path as written; relative ones start at the project's root.
    File(Arc<str>),
    Program(Arc<str>),
    Variable(Arc<str>),
    /// Namespace and name of a tool.
    Tool(Arc<str>, Arc<str>),
    /// Namespace of an agent.
    Agent(Arc<str>),
    /// Any allowed tools of this namespace.
    ToolsOf(Arc<str>),
}

/// A required permission, with the argument or the call of a plan that requires it.
#[derive(Clone, Debug)]
pub(super) struct Need {
    pub access: Access,
    pub resource: Resource,
    pub span: Span,
    /// The called plan that requires it, if it is not this one.
    pub within: Option<Arc<str>>,
    pub denial: Denial,
}

/// What becomes of a denied call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Denial {
    /// It fails the plan.
    Fails,
    /// Something that settles or catches all failures hides it.
    Hidden,
    /// An arm names it, or nothing depends on it.
    Expected,
}

/// Everything that a plan accesses, including through called plans.
#[derive(Default, Debug)]
pub(super) struct Reach {
    pub needs: Vec<Need>,
    pub open: Vec<Open>,
    lists: Lists,
}

/// A setting that is required for a value known only at run time.
#[derive(Debug)]
pub(super) struct Open {
    pub access: Access,
    pub span: Span,
    /// What becomes of a denial; expected if there may be nothing to deny.
    pub denial: Denial,
}

/// A plan that is walked, and the values of its expressions as far as they are known.
pub(super) struct Walked<'a> {
    plan: &'a Plan,
    constants: OnceCell<Rc<Constants>>,
    /// Maximum amount of work to evaluate them.
    work: u64,
}

impl<'a> Walked<'a> {
    pub(super) fn new(plan: &'a Plan, constants: Rc<Constants>, work: u64) -> Self {
        Self {
            plan,
            constants: constants.into(),
            work,
        }
    }

    fn value<'c>(&'c self, code: &'c CheckedExpr) -> Option<&'c Value> {
        let constants = || Rc::new(Constants::of(self.plan, self.work));
        let value = code.constant();
        value.or_else(|| self.constants.get_or_init(constants).value(code))
    }
}

/// The called plans that have been walked, each with what becomes of a denial in it.
type Seen = HashSet<(*const Plan, Denial)>;

/// The context of a call.
#[derive(Clone, Copy)]
struct Around<'a> {
    /// The call through which the plan with this call is called, and that plan's name.
    outer: Option<(Span, &'a Arc<str>)>,
    denial: Denial,
}

impl Access {
    pub(super) const ALL: [Self; 7] = [
        Self::Net,
        Self::Read,
        Self::Write,
        Self::Run,
        Self::Env,
        Self::Tools,
        Self::Agents,
    ];

    /// Returns the name of the setting.
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

    /// Returns the action that the setting allows, for messages such as "… is not allowed".
    pub(super) const fn action(self) -> &'static str {
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

    /// Returns true if everything is allowed without the setting, so that an empty list is a restriction.
    pub(super) const fn allowed_by_default(self) -> bool {
        matches!(self, Self::Tools | Self::Agents)
    }

    /// Returns the patterns of a grant for this setting.
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

    /// Returns a grant with one pattern.
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
    /// Returns true if the permissions allow this.
    pub(super) fn granted(
        &self,
        permissions: &Permissions,
        root: &Path,
        paths: &dyn PathResolver,
    ) -> bool {
        self.ask(permissions, root, paths).is_ok()
    }

    /// Asks the permissions whether they allow this.
    pub(super) fn ask(
        &self,
        permissions: &Permissions,
        root: &Path,
        paths: &dyn PathResolver,
    ) -> Result<(), permission::Denial> {
        match &self.resource {
            Resource::Address(url) => permissions.net(url),
            Resource::File(written) => {
                let path = reached_file(paths, root, written, self.access == Access::Write);
                let ask = |path: PathBuf| match self.access {
                    Access::Write => permissions.write(&path, written),
                    Access::Net
                    | Access::Read
                    | Access::Run
                    | Access::Env
                    | Access::Tools
                    | Access::Agents => permissions.read(&path, written),
                };
                path.map_or(Ok(()), ask)
            }
            Resource::Program(name) => {
                let program = ReachedProgram::of(paths, root, name);
                permissions.run(&program)
            }
            Resource::Variable(name) => permissions.env(name),
            Resource::Tool(namespace, name) => permissions.tool(namespace, name),
            Resource::ToolsOf(namespace) => permissions.any_tool_of(namespace),
            Resource::Agent(name) => permissions.agent(name),
        }
    }

    /// Returns why no permission gives access to this; `None` if permissions decide.
    pub(super) fn forbidden(
        &self,
        project: Option<&Permissions>,
        (root, paths): (&Path, &dyn PathResolver),
    ) -> Option<&'static str> {
        let Resource::File(written) = &self.resource else {
            return None;
        };
        let writes = self.access == Access::Write;
        let path = reached_file(paths, root, written, writes)?;
        match project {
            Some(project) => project.forbidden(&path, writes),
            None => Permissions::none().forbidden(&path, writes),
        }
    }

    /// Returns a pattern that allows this and as little else as possible.
    pub(super) fn pattern(&self) -> String {
        match &self.resource {
            Resource::Address(url) => {
                let host = url.host_str().unwrap_or_default();
                // A host without a port allows the ports 80 and 443.
                url.port()
                    .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
            }
            Resource::File(written) => written.to_string(),
            Resource::Program(name) | Resource::Variable(name) | Resource::Agent(name) => {
                name.to_string()
            }
            Resource::Tool(namespace, name) => format!("{namespace}.{name}"),
            Resource::ToolsOf(namespace) => format!("{namespace}.*"),
        }
    }
}

impl Reach {
    /// Computes what a plan and the plans it calls access. The tools and agents they call are included only if
    /// restricted by `lists`.
    pub(super) fn of(plan: &Walked<'_>, lists: Lists) -> Self {
        let mut reach = Self {
            lists,
            ..Self::default()
        };
        let mut seen = HashSet::default();
        reach.plan(
            plan,
            &Around {
                outer: None,
                denial: Denial::Fails,
            },
            &mut seen,
        );
        reach
    }

    fn plan(&mut self, plan: &Walked<'_>, around: &Around<'_>, seen: &mut Seen) {
        self.block(plan, BlockId(0), around, seen);
    }

    fn block(&mut self, plan: &Walked<'_>, block: BlockId, around: &Around<'_>, seen: &mut Seen) {
        for node in &plan.plan.block(block).nodes {
            let step = node.step();
            let own = step.map_or(Denial::Fails, denial_in);
            let denial = around.denial.max(own);
            if let Some(StepKind::Call(call)) = step.map(|step| &step.kind) {
                self.target(plan, call, &Around { denial, ..*around }, seen);
            }
            node.inner(&mut |inner| {
                // The arms of the step catch nothing in each other or in its `verify` and `undo`. The
                // agent check at the end is skipped if it is not allowed, so nothing fails.
                let is_body = step.is_some_and(|step| step.bodies().any(|body| body == inner));
                let asks_agent = step.and_then(|step| step.agent_check()?.body()) == Some(inner);
                let denial = match (asks_agent, is_body) {
                    (true, _) => Denial::Expected,
                    (false, true) => denial,
                    (false, false) => around.denial,
                };
                self.block(plan, inner, &Around { denial, ..*around }, seen);
            });
        }
    }

    fn target(&mut self, plan: &Walked<'_>, call: &Call, around: &Around<'_>, seen: &mut Seen) {
        match &call.target {
            Target::Tool(signature)
                if matches!(signature.kind, CallKind::Agent | CallKind::ReadOnlyAgent) =>
            {
                self.agent(call, signature, around);
                if self.lists.tools {
                    let tools = Resource::ToolsOf(signature.namespace.clone());
                    self.add((Access::Tools, Some(tools), call.span), around);
                }
                // The agent chooses among its own tools.
                if matches!(&*signature.namespace, "fs" | "http" | "proc") {
                    self.open.extend(Access::ALL.map(|access| Open {
                        access,
                        span: call.span,
                        denial: Denial::Expected,
                    }));
                }
            }
            Target::Tool(signature) => self.call(plan, call, signature, around),
            Target::Plan(index, name) => {
                // A walk in which less is caught also finds what this one would find.
                let covers = |denial: &Denial, inner| {
                    *denial < around.denial && seen.contains(&(Arc::as_ptr(inner), *denial))
                };
                if let Some(inner) = plan.plan.plans.get(*index)
                    && ![Denial::Fails, Denial::Hidden]
                        .iter()
                        .any(|denial| covers(denial, inner))
                    && seen.insert((Arc::as_ptr(inner), around.denial))
                {
                    let inner = Walked {
                        plan: inner,
                        constants: OnceCell::new(),
                        work: plan.work,
                    };
                    self.plan(
                        &inner,
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
            let agent = Resource::Agent(signature.namespace.clone());
            self.add((Access::Agents, Some(agent), call.span), around);
        }
    }

    fn call(&mut self, plan: &Walked<'_>, call: &Call, signature: &Signature, around: &Around<'_>) {
        let Signature {
            namespace, name, ..
        } = signature;
        if self.lists.tools {
            let tool = Resource::Tool(namespace.clone(), name.clone());
            self.add((Access::Tools, Some(tool), call.span), around);
        }
        self.agent(call, signature, around);
        if &*signature.namespace == "proc" {
            self.working_folder(plan, call, around);
        }
        let mut add = |access, resource, span| self.add((access, resource, span), around);
        let file = |code: &CheckedExpr| {
            let text = plan.value(code)?.as_str();
            text.map(|text| Resource::File(text.into()))
        };
        match (&*signature.namespace, &*signature.name) {
            ("http", "fetch") => {
                if let Some(code) = call.argument("url").filter(|code| !code.is_invalid()) {
                    add(
                        Access::Net,
                        address(&code.root, plan.value(code)).map(Resource::Address),
                        code.span,
                    );
                }
            }
            ("fs", tool) => {
                if let Some(code) = call.argument("path").filter(|code| !code.is_invalid()) {
                    add(
                        if tool == "write" {
                            Access::Write
                        } else {
                            Access::Read
                        },
                        file(code),
                        code.span,
                    );
                }
            }
            ("proc", _) => {
                if let Some(code) = call.argument("argv").filter(|code| !code.is_invalid()) {
                    let (program, span) = first_word(code, plan.value(code));
                    add(Access::Run, program.map(Resource::Program), span);
                }
                match call.argument("env") {
                    Some(code) => variables(code, plan.value(code), &mut |name, span| {
                        add(Access::Env, name.map(Resource::Variable), span);
                    }),
                    // Programs get all allowed variables.
                    None => add(Access::Env, None, call.span),
                }
            }
            _ => {}
        }
    }

    /// Adds the folder in which a program runs, which requires a permission only if it is outside of the project.
    fn working_folder(&mut self, plan: &Walked<'_>, call: &Call, around: &Around<'_>) {
        let Some(code) = call.argument("cwd") else {
            return;
        };
        let folder = plan.value(code).and_then(Value::as_str);
        let folder = folder.map(|folder| Resource::File(folder.into()));
        let folder = folder.filter(leaves_root);
        let denial = match folder {
            Some(_) => around.denial,
            None => Denial::Expected,
        };
        let around = Around { denial, ..*around };
        self.add((Access::Read, folder, code.span), &around);
    }

    fn add(
        &mut self,
        (access, resource, span): (Access, Option<Resource>, Span),
        around: &Around<'_>,
    ) {
        let span = around.outer.map_or(span, |(span, _)| span);
        let Some(resource) = resource else {
            return self.open.push(Open {
                access,
                span,
                denial: around.denial,
            });
        };
        let need = Need {
            access,
            resource,
            span,
            within: around.outer.map(|(_, name)| name.clone()),
            denial: around.denial,
        };
        let mut needs = self.needs.iter_mut();
        match needs.find(|known| known.access == access && known.resource == need.resource) {
            // The call whose denial is caught least is the one to report.
            Some(known) if known.denial > need.denial => *known = need,
            Some(_) => {}
            None => self.needs.push(need),
        }
    }
}

/// Returns what becomes of a denied call in this step.
fn denial_in(step: &Step) -> Denial {
    let denied = ErrorClass::Denied(Denied::Policy);
    let named = |pattern: &ErrorPattern| pattern.matches(&denied);
    let arms = &step.recover;
    let catches = || arms.iter().any(|arm| arm.patterns.is_empty());
    if arms.iter().any(|arm| arm.patterns.iter().any(named)) {
        Denial::Expected
    } else if catches()
        || matches!(&step.kind, StepKind::Race(_))
        || matches!(&step.kind, StepKind::Each(each) if each.settle)
    {
        Denial::Hidden
    } else {
        Denial::Fails
    }
}

/// Returns true if a relative path leaves the root through `..`.
pub(super) fn leaves_root(resource: &Resource) -> bool {
    let Resource::File(written) = resource else {
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

/// Returns the address that an expression evaluates to, at least up to the host; the beginning of a template suffices.
pub(super) fn address(node: &Node, value: Option<&Value>) -> Option<Url> {
    if let Some(value) = value {
        return Url::parse(value.as_str()?).ok().filter(Url::has_host);
    }
    match &node.op {
        Op::Template(pieces) => {
            let Some(Piece::Text(start)) = pieces.first() else {
                return None;
            };
            let (_, behind) = start.split_once("://")?;
            // Without one of these characters, the host may continue in the next piece.
            behind
                .contains(['/', '?', '#'])
                .then(|| Url::parse(start).ok())?
                .filter(Url::has_host)
        }
        _ => None,
    }
}

/// Returns the program of an argument vector; `None` if it is not constant.
fn first_word(code: &CheckedExpr, value: Option<&Value>) -> (Option<Arc<str>>, Span) {
    let text = |value: &Value| {
        value
            .as_str()
            .filter(|word| !word.is_empty())
            .map(Into::into)
    };
    if let Some(value) = value {
        return (value.at(0).and_then(text), code.span);
    }
    match &code.root.op {
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

/// Calls `add` with the names of the variables in a map, and with `None` for those known only at run time.
fn variables(
    code: &CheckedExpr,
    value: Option<&Value>,
    add: &mut dyn FnMut(Option<Arc<str>>, Span),
) {
    // In addition to the variables that the call sets, programs get all allowed ones.
    add(None, code.span);
    if let Some(value) = value {
        let entries = value.as_map().into_iter().flatten();
        let names = entries.filter_map(|(key, _)| key.as_str());
        names.for_each(|name| add(Some(name.into()), code.span));
    } else if let Op::Map(entries) = &code.root.op {
        for (key, value) in entries {
            if let MapKey::Constant(key) = key {
                add(key.as_str().map(Into::into), value.span);
            }
        }
    }
}
