//! The agents of one loop: their types, and the status of each.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use planrun_runs::runs::{Error, Planrun};
use planrun_tools::project::AgentTypes;

use crate::toolbox::Toolbox;

/// The status of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Running,
    /// A sub-agent that has reported to its parent.
    Finished,
    /// A sub-agent that has not started, or has ended without a report.
    Pending,
    /// The main agent, waiting for the next request.
    Standby,
}

/// One agent of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentInfo {
    /// `1` for the main agent, `1.2` for its second sub-agent.
    pub id: String,
    /// The beginning of its request.
    pub name: String,
    pub agent_type: Arc<str>,
    pub status: Status,
}

/// The position of an agent: 1 for the main agent, followed by the number of the sub-agent on each level.
pub(super) type Position = Vec<usize>;
/// The position of the main agent.
pub(super) const FIRST: [usize; 1] = [1];

/// All agents of a loop, ordered by position.
pub(super) struct AgentTree {
    pub(super) types: Arc<AgentTypes>,
    agents: Mutex<BTreeMap<Position, AgentInfo>>,
}

/// Returns the agent types of a project. Returns an error if the project cannot be used, or has errors, which no agent
/// can fix.
pub fn agent_types(planrun: &Planrun) -> Result<Arc<AgentTypes>, Error> {
    // Includes the tools that agents add to the project.
    let toolbox = Toolbox::new(planrun, None, "")?;
    let workspace = toolbox.planrun().workspace()?;
    let found = workspace.findings();
    let mut all = found.iter().flat_map(|file| &file.diagnostics);
    if all.any(planrun_lang::diag::Diagnostic::is_error) {
        return Err(Error::Findings(found));
    }
    Ok(workspace.project.settings.agents.clone())
}

impl Status {
    /// Returns the status of an agent. Running takes precedence over finished, and both over the existence of a
    /// parent.
    pub fn of(is_running: bool, is_finished: bool, has_parent: bool) -> Self {
        match (is_running, is_finished, has_parent) {
            (true, _, _) => Self::Running,
            (false, true, _) => Self::Finished,
            (false, false, true) => Self::Pending,
            (false, false, false) => Self::Standby,
        }
    }

    /// Returns the name of the status.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Pending => "pending",
            Self::Standby => "standby",
        }
    }
}

impl AgentInfo {
    /// Returns an agent that has not started.
    fn of(position: &[usize], (name, agent_type): (String, Arc<str>)) -> Self {
        let numbers: Vec<String> = position.iter().map(usize::to_string).collect();
        Self {
            id: numbers.join("."),
            name,
            agent_type,
            status: Status::of(false, false, position.len() > FIRST.len()),
        }
    }
}

impl AgentTree {
    /// Creates a tree with a main agent of this name and type.
    pub(super) fn of(types: Arc<AgentTypes>, first: (String, Arc<str>)) -> Self {
        let agents = BTreeMap::from([(FIRST.to_vec(), AgentInfo::of(&FIRST, first))]);
        Self {
            types,
            agents: Mutex::new(agents),
        }
    }

    /// Returns all agents with their current status.
    pub(super) fn agents(&self) -> Vec<AgentInfo> {
        self.agents.lock().values().cloned().collect()
    }

    /// Adds sub-agents to an agent and returns their positions; `None` if there would be more than `max` sub-agents
    /// in all.
    pub(super) fn add(
        &self,
        parent: &[usize],
        new: impl ExactSizeIterator<Item = (String, Arc<str>)>,
        max: usize,
    ) -> Option<Vec<Position>> {
        let mut agents = self.agents.lock();
        // Not counting the main agent.
        if agents.len() - 1 + new.len() > max {
            return None;
        }
        let is_child = |position: &&Position| {
            position.len() == parent.len() + 1 && position.starts_with(parent)
        };
        let known = agents.keys().filter(is_child).count();
        let positions = new.enumerate().map(|(index, one)| {
            let position = [parent, &[known + index + 1]].concat();
            agents.insert(position.clone(), AgentInfo::of(&position, one));
            position
        });
        Some(positions.collect())
    }

    /// Sets the status of an agent, and returns the agent.
    pub(super) fn set(&self, position: &[usize], status: Status) -> Option<AgentInfo> {
        let mut agents = self.agents.lock();
        let agent = agents.get_mut(position)?;
        agent.status = status;
        Some(agent.clone())
    }
}
