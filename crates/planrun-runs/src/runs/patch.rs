//! Patches: replace the text of a run's plan, except for what has started.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use planrun_lang::diag::render::visible_line;
use planrun_lang::graph::Edge;
use planrun_lang::protocol::{Sent, StepState};
use planrun_lang::sema::{self, Node, NodeKind, OnFailure, Plan, Step};
use planrun_lang::source::SourceFile;
use planrun_lang::types::{Denied, Effect, ErrorClass, check_value};
use planrun_lang::value::Value;

use super::above::{self, PatchText, Started};
use super::pinned::Pinned;
use super::recorded::{RecordedRun, append};
use super::{CheckedPlan, Error, Planrun};
use crate::journal::store::Digest;
use planrun_core::journal::{EventKind, RecordedStep, ReplayState, StepError};
use planrun_core::run::Program;

/// The names of the statements that a patch has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patched {
    pub added: Vec<String>,
    pub replaced: Vec<String>,
    pub removed: Vec<String>,
    /// Files of the project other than plans that have changed since the run began or was last patched.
    pub files: Vec<String>,
}

impl RecordedRun {
    /// Returns a run that can be patched. The plan of the patch must have the same name.
    ///
    /// # Errors
    /// Returns an error if there is no such run, or if its record cannot be used; [`Error::Ended`]; [`Error::Invalid`]
    /// if only what follows from the end of the plan is left of the run, such as the undo of its effects;
    /// [`Error::Changed`] if the run progresses meanwhile.
    pub async fn patchable(planrun: &Planrun, run: &str) -> Result<Self, Error> {
        let journal = planrun.shared.journal_of(run)?;
        super::list::open(&journal, run)?;
        let seen = planrun.recorded(run)?;
        let last = seen.replay.last;
        if seen.outcome().await?.plan_has_ended {
            return Err(Error::Invalid(
                "the plan has ended, and only what follows from that is left of the run, such as the undo of its \
                 effects; that cannot be patched"
                    .to_owned(),
            ));
        }
        let recorded = planrun.recorded(run)?;
        if recorded.replay.last != last {
            let run = recorded.row.run.clone();
            return Err(Error::Changed { run });
        }
        Ok(recorded)
    }

    /// Replaces the text of the run's plan. Statements that have started, and everything that they have read, must stay
    /// as they are.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the text changes what must not change; [`Error::Obstacles`] if the rest of it could not
    /// complete; [`Error::Changed`] if the run has progressed since it was read; another error if another process
    /// drives the run.
    pub fn patch(&self, plan: &CheckedPlan) -> Result<Patched, Error> {
        let (before, replay) = (&self.pinned, &self.replay);
        let old = self.load()?;
        let text = SourceFile::new(&*before.file, &*before.text);
        let was = PatchText {
            plan: &old.program.plan,
            source: &text,
        };
        let is = PatchText {
            plan: &plan.plan,
            source: &plan.source,
        };
        let frozen = accepts_patch(was, is, replay, &old.inputs.0)?;
        let nodes = is.plan.body().nodes.iter();
        let over = nodes.filter(|node| {
            node.name
                .as_deref()
                .is_some_and(|name| frozen.contains(name))
        });
        plan.unobstructed(&over.map(|node| node.span).collect::<Vec<_>>())?;
        let location = &plan.workspace.location;
        let mut after = Pinned::new(
            (plan.source.name(), plan.source.text(), &plan.plan),
            (&location.folder, location.file.is_some(), &plan.pins()),
            &old.inputs,
            (before.mock, before.max_steps, before.strict),
        );
        (after.confined, after.approval) = (before.confined, before.approval.clone());
        after.within.clone_from(&before.within);
        after.base.clone_from(&before.base);
        after.own_contracts = plan.workspace.own_contracts(&plan.plan);
        self.append_patch(&after)?;
        Ok(Patched {
            files: before.changed_files(&after),
            ..Patched::between(&was.plan.definitions(), &is.plan.definitions())
        })
    }

    /// Appends the event of the patch, which contains the hashes of both pinned documents. The patch was checked
    /// against the events that had been read, so there must be no others by now.
    fn append_patch(&self, after: &Pinned) -> Result<(), Error> {
        let (journal, run) = (&self.journal, &self.row.run);
        let mut lease = journal.drive(run)?;
        if lease.last() != self.replay.last {
            drop(lease);
            // After this error, other processes can drive the run at once.
            journal.wait_released(run);
            return Err(Error::Changed { run: run.clone() });
        }
        let before = Digest::of(&self.pinned.to_bytes()).to_string();
        let document = after.to_bytes();
        let digest = Digest::of(&document).to_string();
        lease.keep(&digest, &document);
        let kind = EventKind::RunPatched {
            before: before.into(),
            after: digest.into(),
        };
        append(&mut *lease, kind, self.planrun.host().now());
        Ok(lease.close()?)
    }
}

impl Patched {
    fn between(was: &BTreeMap<String, String>, is: &BTreeMap<String, String>) -> Self {
        let names = |all: &BTreeMap<String, String>, selects: &dyn Fn(&String) -> bool| {
            all.keys().filter(|name| selects(name)).cloned().collect()
        };
        Self {
            added: names(is, &|name| !was.contains_key(name)),
            replaced: names(is, &|name| {
                was.contains_key(name) && was.get(name) != is.get(name)
            }),
            removed: names(was, &|name| !is.contains_key(name)),
            files: Vec::new(),
        }
    }
}

/// Checks that a text may replace that of a run, and returns the names of the statements that it must not change and
/// has not changed: those that have started, and everything that they have read.
///
/// # Errors
/// [`Error::Invalid`] if the text changes what must not change.
pub fn accepts_patch(
    was: PatchText<'_>,
    is: PatchText<'_>,
    replay: &ReplayState,
    inputs: &BTreeMap<Arc<str>, Value>,
) -> Result<BTreeSet<String>, Error> {
    let (old, new) = (was.plan.definitions(), is.plan.definitions());
    let program = Program::new(was.plan.clone());
    let started = Started {
        names: started(&program, is.plan, replay),
        sets: executed_sets(was, replay),
    };
    let frozen = frozen(&program, was, &started, replay);
    refuse_changes(&frozen, (&old, &new), replay)?;
    if let Some(set) = started.missing_set(is) {
        return Err(cannot_be_changed(&format!("`{}`", visible_line(set))));
    }
    refuse_above(was, is, &started)?;
    refuse_listeners(is.plan, (&old, &new), replay)?;
    refuse_contracts(was.plan, is.plan, replay)?;
    refuse_old_failures((was.plan, is.plan), (&old, &new), replay)?;
    refuse_inputs(was.plan, is.plan, inputs)?;
    Ok(frozen)
}

/// Returns the names of the statements that have started. A call that has failed, with the run paused for that, may
/// become another call, unless an attempt at it may have taken effect: then the same execution is continued.
fn started(program: &Program, now: &Plan, replay: &ReplayState) -> BTreeSet<String> {
    let was = &program.plan;
    let called = |plan: &Plan, name: &str| {
        let step = own_step(plan, name)?;
        step.tool().map(|_| step.effect)
    };
    let stands = |(path, step): &(&Arc<str>, &RecordedStep)| {
        let unseen = step
            .call
            .as_ref()
            .is_some_and(|call| call.arrived.is_none());
        let is_over =
            |error: &StepError| error.ends_execution() || (error.sent == Sent::No && unseen);
        let is_read_only = called(was, path).is_some_and(|effect| effect <= Effect::Read);
        let is_over =
            step.call.is_some() && (is_read_only || step.error.as_deref().is_some_and(is_over));
        let may_differ = called(was, path).is_some() && called(now, path).is_some();
        !(step.state == StepState::Failed && is_over && may_differ)
    };
    above::names(replay.steps.iter().filter(stands).map(|(path, _)| path))
}

/// Returns the texts of each `set` of the plan itself that has changed its task: it waits for every step above it.
fn executed_sets(was: PatchText<'_>, replay: &ReplayState) -> Vec<String> {
    let plan = was.plan;
    let is_over = |node: &&Node| {
        let path = node.name.as_deref().unwrap_or_default();
        let state = replay.steps.get(path).map(|step| step.state);
        let settles = plan.policy.on_failure == Some(OnFailure::Settle);
        match state {
            Some(StepState::Completed | StepState::Skipped) => true,
            Some(StepState::Failed) => settles,
            Some(_) | None => node.step().is_none(),
        }
    };
    let executed = plan.body().nodes.iter().take_while(is_over);
    let sets = executed.filter(|node| match &node.kind {
        NodeKind::Set(set) => replay.tasks.contains_key(&plan.task(set.task).name),
        _ => false,
    });
    sets.map(|node| was.key(node)).collect()
}

/// Returns the names of the statements that must not change: those that have started, the tasks, and everything that
/// these have read, or that the run has decided and set with.
fn frozen(
    program: &Program,
    was: PatchText<'_>,
    started: &Started,
    replay: &ReplayState,
) -> BTreeSet<String> {
    let mut names = above::names(replay.tasks.keys());
    names.extend(started.names.iter().cloned());
    let (nodes, graph) = (&program.plan.body().nodes, &program.graph.blocks[0]);
    let last = nodes
        .iter()
        .rposition(|node| started.contains(was, node))
        .unwrap_or(0);
    let reads = |edge: Edge| matches!(edge, Edge::Data | Edge::State | Edge::Guard | Edge::After);
    let mut read = BTreeSet::new();
    // Statements read only earlier ones, so one pass upwards is enough.
    for (index, node) in nodes.iter().enumerate().rev() {
        let name = node.name.as_deref();
        let is_decided = index < last && node.decides();
        let is_used = is_decided || started.contains(was, node) || read.contains(&index);
        if !is_used && !name.is_some_and(|name| names.contains(name)) {
            continue;
        }
        names.extend(name.map(str::to_owned));
        let sources = graph.sources(index).into_iter();
        let sources = sources.filter(|(_, edge)| reads(*edge));
        read.extend(sources.map(|(source, _)| source));
    }
    names
}

fn refuse_changes(
    frozen: &BTreeSet<String>,
    (was, is): (&BTreeMap<String, String>, &BTreeMap<String, String>),
    replay: &ReplayState,
) -> Result<(), Error> {
    let changed = frozen.iter().filter(|name| was.get(*name) != is.get(*name));
    let changed: Vec<&String> = changed.collect();
    if changed.is_empty() {
        return Ok(());
    }
    let quoted = changed
        .iter()
        .map(|name| format!("`{}`", visible_line(name)));
    let what = quoted.collect::<Vec<_>>().join(", ");
    let has_failed = |name: &&String| {
        let step = replay.steps.get(name.as_str());
        step.is_some_and(|step| step.state == StepState::Failed)
    };
    if changed.iter().all(has_failed) {
        return Err(Error::Invalid(format!(
            "{what} cannot be changed like this: a call that has failed may become another call, or get `when false` so that \
             it is left out, unless it may have happened; it cannot be removed or become something else"
        )));
    }
    Err(cannot_be_changed(&what))
}

fn cannot_be_changed(what: &str) -> Error {
    Error::Invalid(format!(
        "{what} cannot be changed: the run has already started or read it; restore it, and add new statements below"
    ))
}

/// Refuses new and changed listeners on what has had events already. The run is continued by repeating its events with
/// the new text, so such a listener would fire for them, and a listener has no memory of what was before it.
fn refuse_listeners(
    is: &Plan,
    (old, new): (&BTreeMap<String, String>, &BTreeMap<String, String>),
    replay: &ReplayState,
) -> Result<(), Error> {
    for node in &is.body().nodes {
        let (NodeKind::Listener(listener), Some(name)) = (&node.kind, node.name.as_deref()) else {
            continue;
        };
        if old.get(name) == new.get(name) {
            continue;
        }
        let mut past = None;
        listener.on.leaves(&mut |leaf| {
            let subject = match &leaf.kind {
                sema::EventKind::Step { name, .. } => {
                    Some(name).filter(|name| replay.steps.contains_key(*name))
                }
                sema::EventKind::Task { task, .. } => {
                    Some(&is.task(*task).name).filter(|name| replay.tasks.contains_key(*name))
                }
                sema::EventKind::Plan(_)
                | sema::EventKind::Signal(_)
                | sema::EventKind::Not(_)
                | sema::EventKind::All(_)
                | sema::EventKind::Any(_)
                | sema::EventKind::Damaged => None,
            };
            past = past.take().or_else(|| subject.cloned());
        });
        if let Some(subject) = past {
            let (listener, subject) = (visible_line(name), visible_line(&subject));
            return Err(Error::Invalid(format!(
                "the listener `{listener}` cannot be added or changed: `{subject}` has begun or has been set before, and the \
                 listener would fire for that; add a step that does now what the listener would do"
            )));
        }
    }
    Ok(())
}

/// Refuses new statements for which a started step below would have had to wait.
fn refuse_above(was: PatchText<'_>, is: PatchText<'_>, started: &Started) -> Result<(), Error> {
    match above::inserted_statement(was, is, started) {
        Some((new, below)) => Err(Error::Invalid(format!(
            "`{new}` is now above `{below}`, which the run has already started; move it below the started steps"
        ))),
        None => Ok(()),
    }
}

/// Refuses a patch after which a recorded failure would not only be retried, but have another effect: the new call would
/// then not be made.
fn refuse_old_failures(
    (old, new): (&Plan, &Plan),
    (was, is): (&BTreeMap<String, String>, &BTreeMap<String, String>),
    replay: &ReplayState,
) -> Result<(), Error> {
    let failed = replay
        .steps
        .iter()
        .filter(|(_, step)| step.state == StepState::Failed);
    if old.policy.on_failure != new.policy.on_failure
        && let Some((name, _)) = failed.clone().next()
    {
        return Err(Error::Invalid(format!(
            "`{}` has failed, and the new `on_failure` would apply to that failure; resume the run before the policy is \
             changed",
            visible_line(name)
        )));
    }
    let replaced = failed.filter(|(name, _)| was.get(&***name) != is.get(&***name));
    for (name, step) in replaced {
        let Some(error) = &step.error else { continue };
        let (Some(before), Some(now)) = (own_step(old, name), own_step(new, name)) else {
            continue;
        };
        let catches = now.recover.iter().any(|arm| arm.catches(&error.class));
        let asks = now.confirm().is_some() && before.confirm().is_none();
        let what = if catches {
            "its `recover` arm"
        } else if asks {
            "its `confirm`"
        } else {
            continue;
        };
        return Err(Error::Invalid(format!(
            "`{}` has failed with {}, and {what} would apply to that failure instead of to the new call; \
             patch the call alone, and resume the run before anything else is changed",
            visible_line(name),
            error.class
        )));
    }
    Ok(())
}

/// Returns a step of the plan itself.
fn own_step<'p>(plan: &'p Plan, name: &str) -> Option<&'p Step> {
    let mut nodes = plan.body().nodes.iter();
    let node = nodes.find(|node| node.name.as_deref() == Some(name))?;
    node.step()
}

fn refuse_contracts(old: &Plan, new: &Plan, replay: &ReplayState) -> Result<(), Error> {
    let (old, new) = (contracts(old), contracts(new));
    let refused = |step: &RecordedStep| {
        let error = step.error.as_deref();
        error.is_some_and(|error| error.class == ErrorClass::Denied(Denied::Contract))
    };
    let called = replay
        .steps
        .values()
        .filter(|step| !refused(step))
        .filter_map(|step| step.tool.as_deref())
        .collect::<BTreeSet<&str>>();
    match called
        .into_iter()
        .find(|tool| match (old.get(*tool), new.get(*tool)) {
            (Some(old), Some(new)) => old != new,
            // A call that has failed may be replaced by one of another tool.
            (Some(_) | None, None) | (None, Some(_)) => false,
        }) {
        Some(tool) => Err(Error::Invalid(format!(
            "the run has called `{tool}`, but its contract has changed; a run must keep the contracts that it has used"
        ))),
        None => Ok(()),
    }
}

fn contracts(plan: &Plan) -> BTreeMap<String, String> {
    let plans = plan.with_called().into_iter();
    let tools = plans.flat_map(Plan::tool_calls);
    tools
        .map(|signature| (signature.path(), signature.digest()))
        .collect()
}

/// Checks that the run has the same inputs with the new text, because they cannot be changed. One that was not given is
/// what the old text says.
fn refuse_inputs(was: &Plan, is: &Plan, inputs: &BTreeMap<Arc<str>, Value>) -> Result<(), Error> {
    let (old, new) = (was.parameter_texts(), is.parameter_texts());
    if let Some(lost) = old.keys().find(|name| !new.contains_key(*name)) {
        return Err(Error::Invalid(format!(
            "the new text has no input `{}`, with which the run has begun; restore it",
            visible_line(lost)
        )));
    }
    for parameter in &is.parameters {
        let (name, ty) = (&parameter.name, &parameter.ty);
        let fault = match inputs.get(name) {
            Some(value) => check_value(value, ty)
                .err()
                .map(|mismatch| mismatch.to_string()),
            None if old.contains_key(&**name) => (old.get(&**name) != new.get(&**name)).then(|| {
                "the run was not given it, and has begun with what the old text says; restore its type and default"
                    .to_owned()
            }),
            None => parameter
                .required
                .then(|| "the run has no value for it, and none can be added".to_owned()),
        };
        if let Some(fault) = fault {
            return Err(Error::Invalid(format!(
                "the input `{}` of the new text: {fault}",
                visible_line(name)
            )));
        }
    }
    Ok(())
}
