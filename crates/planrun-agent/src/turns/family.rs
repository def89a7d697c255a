//! The agents of one loop: the types that they can have, and what each of them is doing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use planrun_runs::runs::{Error, Planrun};
use planrun_tools::project::AgentTypes;

use crate::toolbox::Toolbox;

/// What an agent is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Running,
    /// Its task is done, and reported to whoever gave it.
    Finished,
    /// A sub-agent that has ended without a report.
    Pending,
    /// An agent that nobody has begun waits for the next request.
    Standby,
}

/// One agent of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// `1` for the first agent, `1.2` for the second that it has begun.
    pub id: String,
    /// The beginning of what it was asked for.
    pub name: String,
    pub agent_type: Arc<str>,
    pub status: Status,
}

/// Where an agent stands below others: 1 for the first, and which sub-agent of the one above it.
pub(super) type Place = Vec<usize>;
/// The place of the first agent.
pub(super) const FIRST: [usize; 1] = [1];

/// All agents of a loop, in the order of their places.
pub(super) struct Family {
    pub(super) types: Arc<AgentTypes>,
    members: Mutex<BTreeMap<Place, Member>>,
}

/// The types of agents of a project.
///
/// # Errors
/// Where the project cannot be used, or has errors: no agent can mend it.
pub fn agent_types(planrun: &Planrun) -> Result<Arc<AgentTypes>, Error> {
    // With the tools that agents bring along.
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
    /// That of an agent: what it does counts before what it has done, and that before who is above it.
    #[must_use]
    pub fn of(is_running: bool, is_finished: bool, has_parent: bool) -> Self {
        match (is_running, is_finished, has_parent) {
            (true, _, _) => Self::Running,
            (false, true, _) => Self::Finished,
            (false, false, true) => Self::Pending,
            (false, false, false) => Self::Standby,
        }
    }

    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Pending => "pending",
            Self::Standby => "standby",
        }
    }
}

impl Member {
    /// One that has not begun.
    fn of(place: &[usize], (name, agent_type): (String, Arc<str>)) -> Self {
        let numbers: Vec<String> = place.iter().map(usize::to_string).collect();
        Self {
            id: numbers.join("."),
            name,
            agent_type,
            status: Status::of(false, false, place.len() > FIRST.len()),
        }
    }
}

impl Family {
    /// A first agent of this name and type.
    pub(super) fn of(types: Arc<AgentTypes>, first: (String, Arc<str>)) -> Self {
        let members = BTreeMap::from([(FIRST.to_vec(), Member::of(&FIRST, first))]);
        Self {
            types,
            members: Mutex::new(members),
        }
    }

    /// All of them as they are now.
    pub(super) fn members(&self) -> Vec<Member> {
        self.lock().values().cloned().collect()
    }

    /// Adds agents below one, if there are at most so many below the first then. Gives their places.
    pub(super) fn add(
        &self,
        parent: &[usize],
        new: impl ExactSizeIterator<Item = (String, Arc<str>)>,
        most: usize,
    ) -> Option<Vec<Place>> {
        let mut members = self.lock();
        // Beside the first.
        if members.len() - 1 + new.len() > most {
            return None;
        }
        let is_child =
            |place: &&Place| place.len() == parent.len() + 1 && place.starts_with(parent);
        let known = members.keys().filter(is_child).count();
        let places = new.enumerate().map(|(index, one)| {
            let place = [parent, &[known + index + 1]].concat();
            members.insert(place.clone(), Member::of(&place, one));
            place
        });
        Some(places.collect())
    }

    /// Notes what an agent does now, and gives it as it is then.
    pub(super) fn set(&self, place: &[usize], status: Status) -> Option<Member> {
        let mut members = self.lock();
        let member = members.get_mut(place)?;
        member.status = status;
        Some(member.clone())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Place, Member>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
