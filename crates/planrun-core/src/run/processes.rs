//! The processes of a run, if at least one of them drives it only up to a step. Statements that a process has left out
//! are replayed where a later one has begun them, since they could fail or end the run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use planrun_lang::sema::{BlockId, NodeKind};

use super::program::Program;
use super::until::Until;
use crate::journal::ReplayState;

/// The processes of a run: those that have driven it, and this one, unless it only replays the run.
#[derive(Debug)]
pub(super) struct Processes {
    /// The process whose work is being replayed, or this one.
    current: Process,
    /// The processes after it, in order.
    later: VecDeque<Process>,
    /// The plan's own statements.
    statements: Vec<Statement>,
    /// By path of a firing, the first process that has begun a step of it.
    firings: BTreeMap<Arc<str>, u32>,
    /// Statements that would have run and were left to a later process.
    left: Vec<u32>,
}

/// A process that drives the run.
#[derive(Debug)]
struct Process {
    /// Its number, from 1; the maximum for this process.
    number: u32,
    /// Number and wall-clock time of its first event; `None` for this process.
    recorded: Option<(u64, i128)>,
    /// Numbers of the statements that it executes; `None` if it drives the run to its end. Empty if a patch has removed
    /// the step up to which it was to drive the run.
    needed: Option<Arc<BTreeSet<u32>>>,
}

/// A statement of the plan itself.
#[derive(Clone, Copy, Debug)]
enum Statement {
    /// A step, with the process that has begun or skipped it, if any.
    Step(Option<u32>),
    /// It listens in every process.
    Listener,
    /// Any other. Its execution is not recorded.
    Other,
}

impl Processes {
    /// Returns `None` if every process drives the run to its end. `until` is the step up to which this process drives it.
    pub(super) fn new(
        program: &Program,
        until: Option<&Until>,
        replay: Option<&ReplayState>,
        replay_only: bool,
    ) -> Option<Box<Self>> {
        let recorded = replay.map_or(&[][..], |replay| replay.processes.as_slice());
        if until.is_none() && recorded.iter().all(|process| process.until.is_none()) {
            return None;
        }
        let mut needed = BTreeMap::<&str, Arc<BTreeSet<u32>>>::new();
        let mut processes = VecDeque::with_capacity(recorded.len() + 1);
        for (number, process) in (1..).zip(recorded) {
            let needed = process.until.as_deref().map(|step| {
                let needed = needed.entry(step).or_insert_with(|| {
                    let until = Until::new(program, step);
                    until.map(|until| until.needed).unwrap_or_default().into()
                });
                needed.clone()
            });
            processes.push_back(Process {
                number,
                recorded: Some((process.first, process.at)),
                needed,
            });
        }
        if !replay_only {
            processes.push_back(Process {
                number: u32::MAX,
                recorded: None,
                needed: until.map(|until| until.needed.clone().into()),
            });
        }
        Some(Box::new(Self {
            current: processes.pop_front()?,
            later: processes,
            statements: statements(program, replay),
            firings: replay.map(firings).unwrap_or_default(),
            left: Vec::new(),
        }))
    }

    /// Returns true if a statement is left to a later process and the others do not wait for it.
    pub(super) fn leaves_out(&self, node: u32) -> bool {
        let needed = self.current.needed.as_ref();
        let is_needed = needed.is_none_or(|needed| needed.contains(&node));
        match self.statements.get(node as usize) {
            Some(Statement::Step(begun)) => !is_needed && !self.is_reached(*begun),
            Some(Statement::Listener) => false,
            Some(Statement::Other) | None => !is_needed,
        }
    }

    /// Leaves a statement that would run to a later process, if that has begun it. Returns false if it runs now.
    pub(super) fn leave(&mut self, node: u32) -> bool {
        let is_replayed = self.current.recorded.is_some();
        let statement = self.statements.get(node as usize);
        let is_later = matches!(statement, Some(Statement::Step(begun)) if is_replayed && !self.is_reached(*begun));
        let leaves = is_later || self.leaves_out(node);
        if leaves {
            self.left.push(node);
        }
        leaves
    }

    /// Returns true if a firing of a listener of the plan is left to a later process. `has_steps`: whether its body has
    /// any, so that its beginning is recorded.
    pub(super) fn leaves_firing(&self, firing: &str, has_steps: bool) -> bool {
        let begun = self.firings.get(firing).copied();
        let is_later = self.current.recorded.is_some() && has_steps && !self.is_reached(begun);
        is_later || self.current.needed.is_some()
    }

    /// Returns true if the run has come to this process.
    fn is_reached(&self, process: Option<u32>) -> bool {
        process.is_some_and(|process| process <= self.current.number)
    }

    /// Returns the number of the first event of the next process; `None` if that has not been recorded.
    pub(super) fn next_event(&self) -> Option<u64> {
        let (first, _) = self.later.front()?.recorded?;
        Some(first)
    }

    /// Goes on to the next process. Returns the time when it took over, if that is recorded, and the statements that
    /// were left to it or to a later one; `None` if there is no other process.
    pub(super) fn proceed(&mut self) -> Option<(Option<i128>, Vec<u32>)> {
        self.current = self.later.pop_front()?;
        let at = self.current.recorded.map(|(_, at)| at);
        Some((at, std::mem::take(&mut self.left)))
    }
}

fn statements(program: &Program, replay: Option<&ReplayState>) -> Vec<Statement> {
    let begun = |name: &str| replay?.steps.get(name)?.begun_in;
    let nodes = program.plan.block(BlockId(0)).nodes.iter();
    let statements = nodes.map(|node| match &node.kind {
        NodeKind::Step(_) => Statement::Step(node.name.as_deref().and_then(begun)),
        NodeKind::Listener(_) => Statement::Listener,
        NodeKind::Condition(_)
        | NodeKind::Let(_)
        | NodeKind::Ensure { .. }
        | NodeKind::Fail(_)
        | NodeKind::Reply(_)
        | NodeKind::Yield(_)
        | NodeKind::Next(_)
        | NodeKind::Task(_)
        | NodeKind::Set(_) => Statement::Other,
    });
    statements.collect()
}

/// Returns the firings of the plan's listeners, each with the first process that has begun a step of it.
fn firings(replay: &ReplayState) -> BTreeMap<Arc<str>, u32> {
    let mut firings = BTreeMap::<Arc<str>, u32>::new();
    for (path, step) in &replay.steps {
        let outermost = path.split_once('.').map(|(outermost, _)| outermost);
        let firing = outermost.filter(|outermost| outermost.ends_with(']'));
        if let Some((firing, begun)) = firing.zip(step.begun_in) {
            let first = firings.entry(firing.into()).or_insert(begun);
            *first = begun.min(*first);
        }
    }
    firings
}
