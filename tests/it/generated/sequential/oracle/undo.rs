//! Undoes the effects of a failed plan instance, last first.

use std::rc::Rc;

use planrun_lang::protocol::{Sent, StepState};
use planrun_lang::sema::{Call, Step, StepKind, Target};
use planrun_lang::types::Signature;
use planrun_lang::value::Value;

use super::super::double::answer;
use super::Oracle;
use super::frame::Frame;

/// A step that can be undone.
pub struct Done {
    pub path: String,
    pub frame: Rc<Frame>,
    pub node: usize,
    pub result: Value,
    pub optional: bool,
    /// The enclosing step whose undo replaces this one, if that step succeeded.
    pub covered: Option<String>,
}

impl Oracle<'_> {
    /// Returns true if one of the attempts that were made has, or may have, changed something.
    fn may_have_happened(&self, path: &str, tool: &Signature) -> bool {
        let made = self.world.attempts.get(path).copied().unwrap_or_default();
        let changed = |attempt: u32| !matches!(answer(self.settings, path, &tool.path(), attempt), Err((_, sent)) if sent != Sent::Maybe);
        (1..=made).any(changed)
    }

    /// Undoes the effects of a plan instance, last first.
    pub fn undo_all(&mut self, first_call: usize, first_done: usize) {
        let mut done: Vec<Done> = self.log.drain(first_done..).collect();
        let settled = |path: &str| self.world.settled.get(path).copied();
        let is_complete =
            |path: &str| settled(path).is_some_and(|(_, state)| state == StepState::Completed);
        if self.meaning.wide {
            let happened = |done: &Done| {
                let node = &done.frame.content().nodes[done.node];
                match &node.step().unwrap().kind {
                    StepKind::Call(Call {
                        target: Target::Tool(tool),
                        ..
                    }) => self.may_have_happened(&done.path, tool),
                    _ => is_complete(&done.path),
                }
            };
            done.retain(|done| !done.optional || happened(done));
            done.sort_by_key(|done| settled(&done.path).map(|(number, _)| number));
        }
        let wide = self.meaning.wide;
        done.retain(|done| {
            done.covered
                .as_ref()
                .is_none_or(|outer| wide && !is_complete(outer))
        });
        let before = self.meaning.calls.len();
        let outer = std::mem::replace(&mut self.undoing, true);
        let changed = self.changed;
        for done in done.iter().rev() {
            let undo = done.frame.content().nodes[done.node]
                .step()
                .and_then(Step::undo)
                .unwrap();
            let path = format!("{}.undo", done.path);
            let inner = Frame::new(&done.frame.plan, undo.body, Some(done.frame.clone()), path);
            inner.put(0, done.result.clone());
            let so_far = self.meaning.calls.len();
            let outcome = self.block(&inner, false);
            self.then(before..so_far, so_far..self.meaning.calls.len());
            self.meaning
                .undone
                .push((done.path.clone(), outcome.is_ok()));
        }
        (self.undoing, self.changed) = (outer, changed);
        self.then(first_call..before, before..self.meaning.calls.len());
    }
}
