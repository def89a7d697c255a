//! Slots: limits the number of attempts in flight in a plan instance and in those that called it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::protocol::StepState;

use crate::run::command::ScopeId;
use crate::run::context::Context;
use crate::run::frame::{FrameId, NodeRef};
use crate::run::recording::LeftQueue;
use crate::run::tree::{Tree, each_scope_around};

/// The calls that wait for a slot.
#[derive(Default)]
pub(in crate::run) struct Slots {
    /// Queued calls in source order, each with the number of the attempt that it waits to make; `None` if it has not
    /// begun.
    queued: BTreeMap<NodeRef, Option<u64>>,
    /// Calls that were woken for a free slot and have not taken it yet.
    woken: BTreeSet<NodeRef>,
    recorded: Recorded,
}

/// Steps that wait in a replay, because they are recorded to have waited for a slot.
#[derive(Default)]
struct Recorded {
    /// Those that went on, each with the number of the event.
    going_on: BTreeSet<(u64, NodeRef)>,
    /// Those that did not, as far as it is known.
    staying: BTreeSet<NodeRef>,
    /// Those that go on now.
    released: BTreeSet<NodeRef>,
}

impl Recorded {
    fn is_empty(&self) -> bool {
        self.going_on.is_empty() && self.staying.is_empty() && self.released.is_empty()
    }

    fn remove(&mut self, at: NodeRef) {
        self.going_on.retain(|(_, other)| *other != at);
        self.staying.remove(&at);
        self.released.remove(&at);
    }
}

impl Slots {
    /// Takes a slot for a call in a frame; false if none is free.
    pub(in crate::run) fn take(&mut self, ctx: &mut Context, frame: FrameId) -> bool {
        let is_free = is_free(&ctx.tree, ctx.tree[frame].scope);
        if is_free {
            self.hold(ctx, frame);
        }
        is_free
    }

    /// Takes a slot even if none is free. A recorded call is not held up, because its answer is replayed at its place;
    /// neither is a call whose peer has got its reply.
    #[expect(clippy::unused_self, reason = "part of the interface of slots")]
    pub(in crate::run) fn hold(&mut self, ctx: &mut Context, frame: FrameId) {
        each_scope_around(&mut ctx.tree, frame, |scope| scope.in_use += 1);
    }

    /// Releases the slot of a call in a frame, and wakes the first call that can use it.
    pub(in crate::run) fn give(&mut self, ctx: &mut Context, frame: FrameId) {
        each_scope_around(&mut ctx.tree, frame, |scope| {
            scope.in_use = scope.in_use.saturating_sub(1);
        });
        self.wake_next(ctx);
    }

    /// Releases the slot of a call in a frame if more are in use than there may be. Returns true if so. Calls that an earlier
    /// process had sent hold a slot each, although some of them may have waited for their peers without one.
    pub(in crate::run) fn give_excess(&mut self, ctx: &mut Context, frame: FrameId) -> bool {
        let tree = &ctx.tree;
        let is_excess = tree.scopes_around(tree[frame].scope).any(|scope| {
            let scope = &tree.scopes[scope];
            scope.in_use > scope.policy.concurrency
        });
        if is_excess {
            self.give(ctx, frame);
        }
        is_excess
    }

    /// Queues a call until a slot is free, to begin or to make the attempt with this number.
    pub(in crate::run) fn wait(&mut self, ctx: &mut Context, at: NodeRef, attempt: Option<u64>) {
        ctx.tree.set_state(at, StepState::Queued);
        self.queued.insert(at, attempt);
    }

    /// Lets a step wait for the place in a replay where it is recorded to have gone on, or for the end of the replay.
    pub(in crate::run) fn wait_in_replay(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        left: LeftQueue,
    ) {
        ctx.tree.set_state(at, StepState::Queued);
        match left {
            LeftQueue::At(event) => self.recorded.going_on.insert((event, at)),
            LeftQueue::Never => self.recorded.staying.insert(at),
        };
    }

    /// Returns the number of the event with which the next of the steps goes on that wait in a replay.
    pub(in crate::run) fn next_recorded(&self) -> Option<u64> {
        let next = self.recorded.going_on.first();
        next.map(|(event, _)| *event)
    }

    /// Lets that step go on. Returns false if there is none.
    pub(in crate::run) fn wake_recorded(&mut self, ctx: &mut Context) -> bool {
        let first = self.recorded.going_on.pop_first();
        if let Some((_, at)) = first {
            self.recorded.released.insert(at);
            self.wake(ctx, at, None);
        }
        first.is_some()
    }

    /// Lets the steps go on that went on together with the steps that a process retried: both happen when its replay has
    /// ended.
    pub(in crate::run) fn wake_with_retries(&mut self, ctx: &mut Context) {
        while let Some(event) = self.next_recorded()
            && is_next(ctx, event)
        {
            self.wake_recorded(ctx);
        }
    }

    /// Returns true if a step has waited in a replay and goes on now.
    pub(in crate::run) fn is_released(&mut self, at: NodeRef) -> bool {
        self.recorded.released.remove(&at)
    }

    /// Lets steps that have waited in a replay begin after its end, as far as slots are free.
    pub(in crate::run) fn end_replay(&mut self, ctx: &mut Context) {
        self.queue_recorded();
        while let Some(at) = self.next_beside_woken(&ctx.tree) {
            let attempt = self.queued.remove(&at).flatten();
            self.wake(ctx, at, attempt);
        }
    }

    /// Returns the first call for which a slot is free after those that were woken have taken theirs.
    fn next_beside_woken(&self, tree: &Tree) -> Option<NodeRef> {
        let mut taken = BTreeMap::<ScopeId, u32>::new();
        for at in &self.woken {
            for scope in tree.scopes_around(tree[at.0].scope) {
                *taken.entry(scope).or_default() += 1;
            }
        }
        let has_slot = |at: &NodeRef| {
            tree.scopes_around(tree[at.0].scope).all(|id| {
                let (scope, taken) = (&tree.scopes[id], taken.get(&id).copied());
                scope.in_use + taken.unwrap_or_default() < scope.policy.concurrency
            })
        };
        self.queued.keys().copied().find(has_slot)
    }

    fn queue_recorded(&mut self) {
        let Recorded {
            going_on, staying, ..
        } = std::mem::take(&mut self.recorded);
        let steps = going_on.into_iter().map(|(_, at)| at).chain(staying);
        self.queued.extend(steps.map(|at| (at, None)));
    }

    /// Records that a woken call has come to take its slot.
    pub(in crate::run) fn clear_woken(&mut self, at: NodeRef) {
        self.woken.remove(&at);
    }

    /// Removes a call that waits for a slot. If it had been woken, the next call is woken instead.
    pub(in crate::run) fn remove(&mut self, ctx: &mut Context, at: NodeRef) {
        self.queued.remove(&at);
        if !self.recorded.is_empty() {
            self.recorded.remove(at);
        }
        if self.woken.remove(&at) {
            self.wake_next(ctx);
        }
    }

    /// Returns true if no call waits.
    pub(in crate::run) fn is_quiet(&self) -> bool {
        self.queued.is_empty() && self.woken.is_empty()
    }

    /// Empties the queue when the process ends. A call that has not begun becomes pending again, as it is in the replay
    /// state.
    pub(in crate::run) fn close(&mut self, tree: &mut Tree) {
        self.queue_recorded();
        for (at, attempt) in std::mem::take(&mut self.queued) {
            if attempt.is_none() {
                tree.set_state(at, StepState::Pending);
            }
        }
    }

    /// Wakes the first call that can use a free slot. In a replay, this is the call that is recorded to have gone on next.
    fn wake_next(&mut self, ctx: &mut Context) {
        if let Some(event) = self.next_recorded()
            && is_next(ctx, event)
        {
            self.wake_recorded(ctx);
            return;
        }
        if self.queued.is_empty() {
            return;
        }
        // A call whose own plan instance has no free slot could not use this one.
        let tree = &ctx.tree;
        let able = self.queued.keys().copied();
        let able = able.filter(|at| is_free(tree, tree[at.0].scope));
        if let Some(at) = ctx.schedule.one_of(able) {
            let attempt = self.queued.remove(&at).flatten();
            self.wake(ctx, at, attempt);
        }
    }

    fn wake(&mut self, ctx: &mut Context, at: NodeRef, attempt: Option<u64>) {
        self.woken.insert(at);
        if let Some(number) = attempt {
            ctx.wake_call(at, number);
        } else {
            ctx.tree.set_state(at, StepState::Pending);
            ctx.schedule.ready.push(Reverse(at));
        }
    }
}

/// Returns true if an event is recorded before the next external input, or with it, and by the process to which the run has come.
fn is_next(ctx: &Context, event: u64) -> bool {
    let process = ctx.processes.as_ref();
    let process = process.and_then(|processes| processes.next_event());
    let replay = ctx.outbox.recording.replay();
    let input = replay.and_then(|replay| replay.external_inputs.first_number());
    process.into_iter().chain(input).all(|next| event <= next)
}

/// Returns true if a plan instance, and each that called it, has a free slot.
fn is_free(tree: &Tree, scope: ScopeId) -> bool {
    tree.scopes_around(scope).all(|scope| {
        let scope = &tree.scopes[scope];
        scope.in_use < scope.policy.concurrency
    })
}
