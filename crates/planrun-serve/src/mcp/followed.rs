//! Runs whose journals a client follows, which is told when one has grown.

use std::collections::BTreeMap;

use planrun_runs::runs::Planrun;

use super::resources::run_of;

/// Runs that one client follows at most.
const MAX_FOLLOWED: usize = 50;

/// The runs that are followed, by their addresses, with how many events each had when its client was last told.
#[derive(Default)]
pub(super) struct Followed(BTreeMap<String, u64>);

impl Followed {
    /// Follows what stands behind an address from now on. Pages of the language never change.
    ///
    /// # Errors
    /// Why it cannot be followed.
    pub(super) fn follow(&mut self, planrun: &Planrun, uri: &str) -> Result<(), String> {
        let events = events(planrun, uri).ok_or_else(|| format!("there is no run at {uri}"))?;
        if self.0.len() >= MAX_FOLLOWED && !self.0.contains_key(uri) {
            return Err(format!("a client follows {MAX_FOLLOWED} runs at most"));
        }
        self.0.insert(uri.to_owned(), events);
        Ok(())
    }

    pub(super) fn leave(&mut self, uri: &str) {
        self.0.remove(uri);
    }

    /// The addresses of those that have grown since this was last asked.
    pub(super) fn grown(&mut self, planrun: &Planrun) -> Vec<String> {
        let mut grown = Vec::new();
        for (uri, known) in &mut self.0 {
            if let Some(events) = events(planrun, uri).filter(|events| events != known) {
                *known = events;
                grown.push(uri.clone());
            }
        }
        grown
    }
}

/// How many events the run at an address has.
fn events(planrun: &Planrun, uri: &str) -> Option<u64> {
    let run = planrun.run(run_of(uri)?).ok()?;
    Some(run.events)
}
