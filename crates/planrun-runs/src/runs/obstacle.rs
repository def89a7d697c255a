//! Why a run cannot be driven here: a call that it makes is known to be impossible. Without this, the run would fail at
//! that call, and undo what it has done.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use planrun_core::journal::ReplayState;
use planrun_lang::diag::codes;
use planrun_lang::protocol::StepState;
use planrun_lang::sema::{Call, Node, Plan, Target};
use planrun_lang::types::{CallKind, Signature};
use planrun_models::client::Models;
use planrun_tools::project::ToolSource;

use super::Workspace;
use super::contracts::refusal;
use super::job::Job;
use super::next_calls::{EffectsBefore, NextCall, NextCalls, Resumption};

impl Job {
    /// Returns why a call of the run is impossible here: its tool is not implemented, such as one of another program, or
    /// needs an environment variable that is not set.
    pub(super) fn obstacle(&self) -> Option<String> {
        if self.broken.is_some() {
            return self.broken.clone();
        }
        let mut seen = HashSet::new();
        let tools = self.calls().into_iter().filter_map(Call::tool);
        let mut tools = tools.filter(|tool| seen.insert(Arc::as_ptr(tool)));
        tools.find_map(|tool| {
            // Models and agents answer prompts: see `unanswered`.
            if tool.kind.word().is_none() && !self.workspace.implements(tool) {
                return Some(format!("`{}` is not implemented", tool.path()));
            }
            self.unset_variable(tool).or_else(|| self.denied(tool))
        })
    }

    /// Returns why the project permits no call of a tool. Mocks need no permission.
    fn denied(&self, tool: &Signature) -> Option<String> {
        let is_own = self.workspace.is_own(tool) || self.mock;
        let denied = self.workspace.project.denied(tool, &*self.workspace.host);
        let why = denied.filter(|_| !is_own)?;
        Some(format!("`{}` cannot be called: {why}", tool.path()))
    }

    /// Returns why a call that the run is certain to make next is impossible here: its program does not exist, or its
    /// server could not be used when its contracts were compared.
    pub(super) fn missing(&self) -> Option<String> {
        let unavailable = self.prefetch.unavailable().clone();
        let mut seen = HashSet::new();
        self.next_calls().iter().find_map(|next| {
            let tool = next.tool;
            let server = match next.effects_before {
                EffectsBefore::None => unavailable.get(&tool.namespace),
                EffectsBefore::Remote => None,
                EffectsBefore::Local => return None,
            };
            // Check each tool and program once: later calls need the same.
            let program = next.program();
            let is_first = seen.insert((Arc::as_ptr(tool), program));
            let missing = || self.workspace.missing_program(tool, program);
            let why = server.cloned().or_else(|| missing().filter(|_| is_first))?;
            Some(format!("`{}` cannot be called: {why}", tool.path()))
        })
    }

    /// Connects to the servers that the run is certain to call before it has changed anything. Returns why one of them
    /// cannot be used.
    pub(super) async fn connect(&mut self) -> Option<String> {
        let catalog = self.prefetch.tools(&self.workspace);
        // One tool of each server.
        let mut tools: BTreeMap<Arc<str>, Arc<Signature>> = BTreeMap::new();
        for next in self.next_calls() {
            if next.effects_before == EffectsBefore::None {
                tools.insert(next.tool.namespace.clone(), next.tool.clone());
            }
        }
        let compared = catalog.compare_contracts(tools.values()).await;
        self.prefetch.compared(compared.unavailable);
        let missing = self.missing();
        if missing.is_some() {
            catalog.close().await;
        }
        missing
    }

    /// Returns the calls that the run is certain to make next; none if something else answers them, or if it may end.
    fn next_calls(&self) -> Vec<NextCall<'_>> {
        let ends = self.setup.replay.is_some() && self.resumption == Resumption::None;
        if ends || self.drive.stand_in.is_some() {
            return Vec::new();
        }
        let walk = NextCalls {
            policy: &self.workspace.policy,
            replay: self.setup.replay.as_ref(),
            copies: self.setup.copies.as_ref(),
            resumption: self.resumption,
            is_local: &|tool| !self.workspace.project.is_remote(tool),
        };
        let plan = &*self.program.plan;
        let own = (0..).zip(&plan.body().nodes);
        let until = self.setup.until.as_ref();
        let needed =
            own.filter(|(number, _)| until.is_none_or(|until| until.needed.contains(number)));
        walk.of(plan, needed.map(|(_, node)| node))
    }

    /// Returns the calls that the run makes, as far as this process drives it; none if something else answers them.
    fn calls(&self) -> Vec<&Call> {
        let plan = &*self.program.plan;
        let Some(until) = &self.setup.until else {
            let answered = self.drive.stand_in.is_some();
            return calls_of(plan, plan.nodes().filter(|_| !answered));
        };
        let own = (0..).zip(&plan.body().nodes);
        let needed = own.filter(|(number, _)| until.needed.contains(number));
        let mut nodes = Vec::new();
        for (_, node) in needed {
            nodes.push(node);
            node.inner(&mut |block| nodes.extend(plan.nodes_inside(block)));
        }
        calls_of(plan, nodes)
    }

    /// Returns why an `undo` of what the run has called is impossible here.
    pub(super) fn undo_obstacle(&self, replay: &ReplayState) -> Option<String> {
        // A step that contains others is undone as a whole only if it has completed.
        let called = replay
            .steps
            .iter()
            .filter(|(_, step)| step.tool.is_some() || step.state == StepState::Completed);
        let called = called.filter_map(|(path, _)| path.rsplit('.').next());
        let called: HashSet<&str> = called.collect();
        let plans = self.program.plan.with_called().into_iter();
        let undos = plans.flat_map(|plan| {
            let nodes = plan.nodes().filter(|node| {
                let name = node.name.as_deref();
                name.is_some_and(|name| called.contains(name))
            });
            let undos = nodes.filter_map(|node| node.step()?.undo());
            undos.map(move |undo| (plan, undo.body))
        });
        let calls = undos.flat_map(|(plan, body)| calls_of(plan, plan.nodes_inside(body)));
        let mut tools = calls.filter_map(Call::tool);
        tools.find_map(|tool| self.unset_variable(tool))
    }

    /// Returns which environment variable a call needs that is not set. Mocks need none.
    fn unset_variable(&self, tool: &Signature) -> Option<String> {
        let unset = self.workspace.unset_variable(tool).filter(|_| !self.mock);
        unset.map(|variable| {
            let path = tool.path();
            if variable.contains(':') {
                return format!(
                    "`{path}` needs `${{{variable}}}`, for which an editor asks a person"
                );
            }
            format!("`{path}` needs the environment variable {variable}, which is not set")
        })
    }

    /// Returns why a prompt of the run cannot be answered here, such as a key that is not set.
    pub(super) fn unanswered(&self) -> Option<String> {
        self.calls().into_iter().find_map(|call| {
            let called = call.tool()?;
            refusal(call, |model| self.workspace.refuses_prompt(called, model))
        })
    }
}

/// Returns the calls of some statements of a plan, with all calls of the plans that these call.
fn calls_of<'p>(plan: &'p Plan, nodes: impl IntoIterator<Item = &'p Node>) -> Vec<&'p Call> {
    let (mut calls, mut seen) = (Vec::new(), HashSet::new());
    let mut open: Vec<(&Plan, Vec<&Node>)> = vec![(plan, nodes.into_iter().collect())];
    while let Some((plan, nodes)) = open.pop() {
        for call in nodes.into_iter().filter_map(|node| node.step()?.call()) {
            calls.push(call);
            if let Target::Plan(index, _) = call.target {
                let called = &*plan.plans[index];
                if seen.insert(std::ptr::from_ref(called)) {
                    open.push((called, called.nodes().collect()));
                }
            }
        }
    }
    calls
}

impl Workspace {
    /// Returns true if a tool is implemented.
    fn implements(&self, tool: &Signature) -> bool {
        self.tools.find(&tool.namespace, &tool.name).is_some()
    }

    /// Returns true if a tool is one of the program that uses the service.
    fn is_own(&self, tool: &Signature) -> bool {
        let mut own = self.own_tools.iter();
        own.any(|own| own.signature.path() == tool.path())
    }

    /// Returns the contracts of the program's own tools that a plan calls, as digests by the names of the tools.
    pub(super) fn own_contracts(&self, plan: &Plan) -> BTreeMap<String, String> {
        let plans = plan.with_called();
        let calls = plans.iter().flat_map(|plan| plan.steps());
        let tools = calls.filter_map(|step| step.call()?.tool());
        tools
            .filter(|tool| self.is_own(tool))
            .map(|tool| (tool.path(), tool.digest()))
            .collect()
    }

    /// Returns which contract of the program's own tools is no longer the one that a run of the plan began with. Tools
    /// without a pinned contract were not called then.
    pub(super) fn changed_contract(
        &self,
        plan: &Plan,
        pinned: &BTreeMap<String, String>,
    ) -> Option<String> {
        let now = self.own_contracts(plan);
        let mut both = now
            .iter()
            .filter_map(|(tool, is)| Some((tool, is, pinned.get(tool)?)));
        let (tool, ..) = both.find(|(_, is, was)| is != was)?;
        let code = codes::contracts::CONTRACT_BROKEN.name;
        Some(format!(
            "the contract of `{tool}` has changed since the run began ({code})"
        ))
    }

    /// Returns why the program of a tool, or the one that its call names, cannot be started, if it does not exist.
    fn missing_program(&self, tool: &Signature, named: Option<&str>) -> Option<String> {
        if self.is_own(tool) {
            return None;
        }
        let of_tool = self.project.missing_program(tool, &*self.host);
        let of_call = || named.filter(|program| self.project.lacks(program, &*self.host));
        let missing = of_tool.or_else(of_call)?;
        Some(if missing.contains('/') {
            format!("there is no program {missing}")
        } else {
            format!("there is no program {missing} in the search path")
        })
    }

    /// Returns an environment variable without a default that the calls of a tool need and that is not set.
    fn unset_variable(&self, tool: &Signature) -> Option<&str> {
        self.project
            .unset_variable(tool)
            .filter(|_| !self.is_own(tool))
    }

    /// Returns why no model can answer a prompt, as far as the project's configuration shows.
    fn refuses_prompt(&self, called: &Signature, model: Option<&str>) -> Option<String> {
        if self.answers_itself(called) {
            return None;
        }
        let refused = Models::of(&self.project, &self.host).open(model).err();
        refused.map(|refused| refused.message)
    }

    /// Returns true if a call needs no model of the project: only prompts do, and agents that are servers answer
    /// themselves.
    pub(super) fn answers_itself(&self, called: &Signature) -> bool {
        let mut servers = self.project.servers.iter();
        match called.kind {
            CallKind::Tool | CallKind::Skill => true,
            CallKind::Model => false,
            CallKind::Agent | CallKind::ReadOnlyAgent => servers.any(|server| {
                server.name == called.namespace && matches!(server.source, ToolSource::A2a(_))
            }),
        }
    }
}
