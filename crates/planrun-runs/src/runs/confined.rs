//! Restricts the plans that a model has written.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::permission::{Confinement, Giver, Grant, Permissions};
use planrun_lang::sema::Budget;

use super::{Error, Workspace};

/// Default limit for the calls of a run whose plan a model has written.
const MAX_CALLS_OF_A_MODEL: u64 = 200;
/// Default limit for the duration of such a run, without the time in which it waits for people.
const MAX_TIME_OF_A_MODEL: Duration = Duration::from_mins(10);

impl Workspace {
    /// Restricts the project for plans that a model has written: see [`Planrun::confined`](super::Planrun::confined).
    ///
    /// # Errors
    /// [`Error::Invalid`] if a pattern of a grant is invalid.
    pub(super) fn confined(mut self, within: &Arc<[Confinement]>) -> Result<Self, Error> {
        let compiled = |grant: &Grant| {
            Permissions::new(grant, &self.project.root, &*self.host)
                .map_err(|error| Error::Invalid(error.to_string()))
        };
        // A project without `allow` allows a model nothing.
        let mut limit = if let Some(limit) = self.limit.take() {
            limit
        } else {
            let nothing = compiled(&Grant::default())?.given_by(&Giver::Project);
            self.project.protecting(nothing, &*self.host)
        };
        for confinement in &**within {
            let giver = match &confinement.agent_type {
                Some(name) => Giver::AgentType(name.clone()),
                None => Giver::Starter,
            };
            limit = compiled(&confinement.grant)?
                .given_by(&giver)
                .within(&limit);
        }
        self.limit = Some(limit);
        self.confined = Some(within.clone());
        self.limits = self.limits.over(&Budget {
            calls: Some(MAX_CALLS_OF_A_MODEL),
            time: Some(MAX_TIME_OF_A_MODEL),
            ..Budget::default()
        });
        Ok(self)
    }
}
