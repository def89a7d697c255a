//! What the listeners of a document lead to: which statuses precede a listener, which listeners react to a status, and
//! whether a run may stand still.

use std::collections::{BTreeMap, BTreeSet};

use super::condition::When;
use super::listener::{Listener, MAX_FIRINGS};

/// What an output sets.
pub struct Set {
    /// The id of the task.
    pub task: String,
    pub status: &'static str,
    /// The fields of the context.
    pub fields: BTreeSet<String>,
    /// Whether it is set after a failure.
    pub is_failure: bool,
}

/// What follows the output that a listener sets after a failure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum AfterFailure {
    /// No listener reacts to the error, so the run pauses until a person resumes it.
    Pause,
    /// The listener is triggered again, so many times; after the next failure the run pauses.
    Again(i64),
    /// The run continues.
    Continue,
}

/// A field of the context of a task, with the id of the task.
pub type Field = (String, String);

/// The listeners of a document.
pub struct Flow<'l, 'd> {
    listeners: &'l [Listener<'d>],
    main: Option<&'l str>,
    /// The listeners that set each task.
    setters: BTreeMap<&'l str, Vec<usize>>,
}

impl<'l, 'd> Flow<'l, 'd> {
    pub fn new(listeners: &'l [Listener<'d>], main: Option<&'l str>) -> Self {
        let mut setters: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (number, listener) in listeners.iter().enumerate() {
            for set in &listener.sets {
                let found = setters.entry(&set.task).or_default();
                if found.last() != Some(&number) {
                    found.push(number);
                }
            }
        }
        Self {
            listeners,
            main,
            setters,
        }
    }

    /// Returns the fields that may have been set when a listener fires for the first time: by the outputs of other
    /// listeners that lead to its condition. What ends the run leads nowhere.
    pub fn fields_before(&self, number: usize) -> BTreeSet<Field> {
        let (mut fields, mut seen) = (BTreeSet::new(), BTreeSet::new());
        let mut visited = BTreeSet::from([number]);
        let mut open = vec![number];
        while let Some(next) = open.pop() {
            for state in self.awaited(next) {
                if !seen.insert(state.clone()) {
                    continue;
                }
                let (task, status) = state;
                let setters = self.setters.get(task.as_str()).into_iter().flatten();
                for setter in setters.filter(|setter| **setter != number) {
                    let sets = self.listeners.get(*setter).map(|listener| &listener.sets);
                    let sets = sets.into_iter().flatten().filter(|set| {
                        let leads = status.is_none_or(|status| status == set.status);
                        set.task == task && leads && !self.is_end(set)
                    });
                    for set in sets {
                        let named = set.fields.iter();
                        fields.extend(named.map(|field| (task.clone(), field.clone())));
                        if visited.insert(*setter) {
                            open.push(*setter);
                        }
                    }
                }
            }
        }
        fields
    }

    /// Returns true if the plan ends with what an output sets.
    fn is_end(&self, set: &Set) -> bool {
        self.main == Some(set.task.as_str()) && set.status == "done"
    }

    /// Returns the tasks that a listener waits for, each with the status; `None` for any.
    fn awaited(&self, number: usize) -> Vec<(String, Option<&'static str>)> {
        let mut awaited = Vec::new();
        let on = self.listeners.get(number).and_then(|one| one.on.as_ref());
        if let Some(on) = on {
            on.visit(&mut |id, status| awaited.push((id.to_owned(), status)));
        }
        awaited
    }

    /// Returns what follows the output that a listener sets after a failure; `None` if there is no such output.
    pub fn after_failure(&self, number: usize) -> Option<AfterFailure> {
        let listener = self.listeners.get(number)?;
        let set = listener.sets.iter().find(|set| set.is_failure)?;
        let reacts = |listener: &Listener<'_>| {
            let on = listener.on.as_ref();
            on.is_some_and(|on| on.may_hold_at(&set.task, set.status))
        };
        Some(if reacts(listener) && !listener.is_code() {
            let setters = self.setters.get(set.task.as_str()).into_iter().flatten();
            let others = setters.filter(|setter| **setter != number);
            let sets = others.filter_map(|other| self.listeners.get(*other));
            let sets = sets.flat_map(|listener| &listener.sets);
            let same = sets.filter(|other| other.task == set.task && other.status == set.status);
            let others = i64::try_from(same.count()).unwrap_or(MAX_FIRINGS);
            AfterFailure::Again((MAX_FIRINGS - others.max(1)).max(0))
        } else if set.status == "failed" && !self.listeners.iter().any(reacts) {
            AfterFailure::Pause
        } else {
            AfterFailure::Continue
        })
    }

    /// Returns true if some output sets a task to a status.
    pub fn sets(&self, task: &str, status: &str) -> bool {
        let all = self.listeners.iter().flat_map(|listener| &listener.sets);
        all.into_iter()
            .any(|set| set.task == task && set.status == status)
    }

    /// Returns true if a run may come to a point where no call has failed and no listener is triggered any more, but the
    /// main task is not done.
    pub fn may_stand_still(&self) -> bool {
        let is_open = |(number, listener): (usize, &Listener<'_>)| {
            let Some(on) = &listener.on else {
                return false;
            };
            // The order of the events decides whether such a condition is ever true.
            !on.is_plain()
                || self.after_failure(number) == Some(AfterFailure::Continue)
                || self.may_be_missed(on)
                || repeats(listener, on)
        };
        self.listeners.iter().enumerate().any(is_open) || !self.may_end()
    }

    /// Returns true if a condition asks for several statuses at once, and one of them may have changed before the others
    /// come.
    fn may_be_missed(&self, on: &When) -> bool {
        let mut asked = Vec::new();
        on.visit(&mut |id, status| asked.push((id.to_owned(), status)));
        let leaves = |id: &str, status: &str| {
            self.listeners.iter().any(|listener| {
                let is_next = listener
                    .on
                    .as_ref()
                    .is_some_and(|on| on.may_hold_at(id, status));
                let mut sets = listener.sets.iter();
                is_next && sets.any(|set| set.task == id && set.status != status)
            })
        };
        let mut changing = asked.iter();
        asked.len() > 1
            && changing.any(|(id, status)| status.is_none_or(|status| leaves(id, status)))
    }

    /// Returns true if the main task may be done: if every listener is triggered whose statuses are all set at some time.
    fn may_end(&self) -> bool {
        let Some(main) = self.main else { return false };
        let mut reached = BTreeSet::from([(main, "running")]);
        let mut left: Vec<&Listener<'_>> = self.listeners.iter().collect();
        loop {
            let before = left.len();
            left.retain(|listener| {
                let may_hold = |id: &str, status: Option<&str>| match status {
                    Some(status) => Some(reached.contains(&(id, status))),
                    None => Some(true),
                };
                let Some(on) = &listener.on else {
                    return false;
                };
                let waits = on.holds(&may_hold) == Some(false);
                if !waits {
                    let sets = listener.sets.iter().filter(|set| !set.is_failure);
                    reached.extend(sets.map(|set| (set.task.as_str(), set.status)));
                }
                waits
            });
            if left.len() == before {
                return reached.contains(&(main, "done"));
            }
        }
    }
}

/// Returns true if a listener triggers itself again after a success.
fn repeats(listener: &Listener<'_>, on: &When) -> bool {
    let mut sets = listener.sets.iter().filter(|set| !set.is_failure);
    sets.any(|set| on.may_hold_at(&set.task, set.status))
}
