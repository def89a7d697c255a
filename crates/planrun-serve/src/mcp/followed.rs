//! The runs that a client follows. The client is notified when their journals have grown.

use std::collections::BTreeMap;

use planrun_runs::runs::Planrun;

use super::resources::run_of;

/// Maximum number of runs that one client follows.
const MAX_FOLLOWED: usize = 50;

/// The followed runs by address, with the number of events at the client's last notification.
#[derive(Default)]
pub(super) struct Followed(BTreeMap<String, u64>);

impl Followed {
    /// Starts to follow the run at an address. Other resources cannot be followed: they never change. Fails with the
    /// reason why it cannot be followed.
    pub(super) fn follow(&mut self, planrun: &Planrun, uri: &str) -> Result<(), String> {
        let events = events(planrun, uri).ok_or_else(|| format!("there is no run at {uri}"))?;
        if self.0.len() >= MAX_FOLLOWED && !self.0.contains_key(uri) {
            return Err(format!("a client can follow at most {MAX_FOLLOWED} runs"));
        }
        self.0.insert(uri.to_owned(), events);
        Ok(())
    }

    pub(super) fn unfollow(&mut self, uri: &str) {
        self.0.remove(uri);
    }

    /// Returns the addresses of the runs that have grown since the last call.
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

/// Returns the number of events of the run at an address.
fn events(planrun: &Planrun, uri: &str) -> Option<u64> {
    let run = planrun.run(run_of(uri)?).ok()?;
    Some(run.events)
}
