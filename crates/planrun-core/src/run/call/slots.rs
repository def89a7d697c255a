//! Slots: how many attempts may be in flight at once, in a plan instance and in those that called it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::protocol::StepState;

use crate::run::command::ScopeId;
use crate::run::context::Context;
use crate::run::frame::{FrameId, NodeRef};
use crate::run::tree::Tree;

/// The calls that wait for a slot.
#[derive(Default)]
pub(in crate::run) struct Slots {
    /// In source order; each with the number of the attempt that it waits to make, once it has begun.
    queued: BTreeMap<NodeRef, Option<u64>>,
    /// Those that were told of a free slot and have not come to take it.
    woken: BTreeSet<NodeRef>,
}

impl Slots {
    /// Takes a slot for a call in a frame; false where none is left.
    pub(in crate::run) fn take(&mut self, ctx: &mut Context, frame: FrameId) -> bool {
        let is_free = is_free(&ctx.tree, ctx.tree[frame].scope);
        if is_free {
            self.hold(ctx, frame);
        }
        is_free
    }

    /// Takes a slot whether one is free or not: what an earlier process had begun is not held up, since its answers
    /// come in the order in which they came then.
    #[expect(clippy::unused_self, reason = "a slot is taken from the slots")]
    pub(in crate::run) fn hold(&mut self, ctx: &mut Context, frame: FrameId) {
        let mut inner = Some(ctx.tree[frame].scope);
        while let Some(scope) = inner {
            ctx.tree.scopes[scope].in_use += 1;
            inner = ctx.tree.scopes[scope].outer;
        }
    }

    /// Gives the slot of a call in a frame back, and lets the first call that can use it try again.
    pub(in crate::run) fn give(&mut self, ctx: &mut Context, frame: FrameId) {
        let mut inner = Some(ctx.tree[frame].scope);
        while let Some(scope) = inner {
            let scope = &mut ctx.tree.scopes[scope];
            scope.in_use = scope.in_use.saturating_sub(1);
            inner = scope.outer;
        }
        self.wake_next(ctx);
    }

    /// A call waits for a slot: to begin, or to make the attempt with this number.
    pub(in crate::run) fn wait(&mut self, ctx: &mut Context, at: NodeRef, attempt: Option<u64>) {
        ctx.tree.set_state(at, StepState::Queued);
        self.queued.insert(at, attempt);
    }

    /// A call that was told of a free slot has come.
    pub(in crate::run) fn has_come(&mut self, at: NodeRef) {
        self.woken.remove(&at);
    }

    /// A call waits for no slot any more. One that had been woken for a slot and will not take it passes it on.
    pub(in crate::run) fn leave(&mut self, ctx: &mut Context, at: NodeRef) {
        self.queued.remove(&at);
        if self.woken.remove(&at) {
            self.wake_next(ctx);
        }
    }

    /// Whether no call waits.
    pub(in crate::run) fn is_quiet(&self) -> bool {
        self.queued.is_empty() && self.woken.is_empty()
    }

    /// The slots are gone with the process: what has not begun waits for none, which is what its journal tells.
    pub(in crate::run) fn close(&mut self, tree: &mut Tree) {
        for (at, attempt) in std::mem::take(&mut self.queued) {
            if attempt.is_none() {
                tree.set_state(at, StepState::Pending);
            }
        }
    }

    fn wake_next(&mut self, ctx: &mut Context) {
        // One whose own plan has no slot left would take this one's place and leave the slot unused.
        let tree = &ctx.tree;
        let able = self.queued.keys().copied();
        let able = able.filter(|at| is_free(tree, tree[at.0].scope));
        let Some(at) = ctx.schedule.one_of(able) else {
            return;
        };
        let attempt = self.queued.remove(&at).flatten();
        self.woken.insert(at);
        if let Some(number) = attempt {
            ctx.wake_call(at, number);
        } else {
            ctx.tree.set_state(at, StepState::Pending);
            ctx.schedule.ready.push(Reverse(at));
        }
    }
}

/// Whether a plan instance, and each that called it, has a slot left.
fn is_free(tree: &Tree, scope: ScopeId) -> bool {
    tree.scopes_around(scope).all(|scope| {
        let scope = &tree.scopes[scope];
        scope.in_use < scope.policy.concurrency
    })
}
