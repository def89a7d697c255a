//! Lower bounds of what a plan does: the calls and the time of every successful run, whatever the data and answers.

use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use foldhash::HashMap;

use super::subject::Subject;
use crate::eval::Constants;
use crate::sema::expr::CheckedExpr;
use crate::sema::{BlockId, Node, NodeKind, OrderClass, Plan, Step, StepKind, Target, Wait};
use crate::value::Value;

/// Memoized lower bounds, by plan, since plans that call each other share most of them.
pub(super) struct LowerBounds {
    /// Whether steps that call no tool are counted, too.
    every_step: bool,
    calls: HashMap<*const Plan, u64>,
    times: HashMap<*const Plan, Duration>,
    constants: HashMap<*const Plan, Rc<Constants>>,
}

/// Maximum amount of work to evaluate the constants of a called plan.
const WORK: u64 = 100_000;

impl LowerBounds {
    /// Creates the bounds for a plan and the plans it calls.
    pub(super) fn of(subject: &Subject<'_>) -> Self {
        let constants = HashMap::from_iter([(
            std::ptr::from_ref(subject.plan),
            subject.constants().clone(),
        )]);
        Self {
            every_step: false,
            calls: HashMap::default(),
            times: HashMap::default(),
            constants,
        }
    }

    /// Returns the known constants of a plan.
    fn known(&mut self, plan: &Plan) -> Rc<Constants> {
        let known = self.constants.entry(std::ptr::from_ref(plan));
        known
            .or_insert_with(|| Rc::new(Constants::of(plan, WORK)))
            .clone()
    }

    /// Returns a duration that is known before the run.
    fn constant_time(&mut self, plan: &Plan, code: Option<&CheckedExpr>) -> Option<Duration> {
        self.known(plan).value(code?).and_then(length)
    }

    /// Returns the minimum number of elements of a list.
    fn elements(&mut self, plan: &Plan, list: &CheckedExpr) -> usize {
        self.known(plan)
            .value(list)
            .and_then(Value::as_list)
            .map_or(0, <[_]>::len)
    }

    /// Returns the minimum number of tool calls of a successful run of a plan.
    pub(super) fn calls(&mut self, plan: &Plan) -> u64 {
        self.block_calls(plan, BlockId(0))
    }

    /// Returns the minimum number of steps that a successful run of a plan executes.
    pub(super) fn steps(mut self, plan: &Plan) -> u64 {
        self.every_step = true;
        self.calls(plan)
    }

    fn called(&mut self, plan: &Arc<Plan>) -> u64 {
        if let Some(known) = self.calls.get(&Arc::as_ptr(plan)) {
            return *known;
        }
        let calls = self.calls(plan);
        self.calls.insert(Arc::as_ptr(plan), calls);
        calls
    }

    /// Returns the minimum number of tool calls of a block.
    pub(super) fn block_calls(&mut self, plan: &Plan, block: BlockId) -> u64 {
        let mut calls = 0_u64;
        for node in &plan.block(block).nodes {
            if node.guard.is_empty() {
                if let Some(step) = node.step() {
                    calls = calls.saturating_add(self.step_calls(plan, step));
                }
            } else if may_end(node) {
                return calls;
            }
        }
        calls
    }

    fn step_calls(&mut self, plan: &Plan, step: &Step) -> u64 {
        if step.cache().is_some() {
            return 0;
        }
        if step.tool().is_some() {
            return 1;
        }
        // A failure inside may end the step before most of its calls, and the arm takes over.
        let own = u64::from(self.every_step);
        if !step.recover.is_empty() {
            return own;
        }
        let inner = match &step.kind {
            StepKind::Call(call) => match &call.target {
                Target::Tool(_) => 1,
                Target::Plan(index, _) => {
                    plan.plans.get(*index).map_or(0, |plan| self.called(plan))
                }
            },
            StepKind::Do(body) => self.block_calls(plan, *body),
            StepKind::Each(each) if !each.settle => {
                let elements = self.elements(plan, &each.list);
                self.block_calls(plan, each.body)
                    .saturating_mul(elements as u64)
            }
            StepKind::Repeat(repeat) => self.block_calls(plan, repeat.body),
            StepKind::Race(branches) => self.fewest(plan, branches.iter().map(|(_, body)| *body)),
            StepKind::Match { arms, .. } => self.fewest(plan, arms.iter().map(|(_, body)| *body)),
            StepKind::Each(_) | StepKind::Input(_) | StepKind::Wait(_) | StepKind::Damaged => 0,
        };
        own.saturating_add(inner)
    }

    fn fewest(&mut self, plan: &Plan, bodies: impl Iterator<Item = BlockId>) -> u64 {
        bodies
            .map(|body| self.block_calls(plan, body))
            .min()
            .unwrap_or(0)
    }

    /// Returns the minimum duration of a successful run of a plan: pauses and timers, without the time for answers.
    pub(super) fn time(&mut self, plan: &Plan) -> Duration {
        self.block_time(plan, BlockId(0))
    }

    /// Returns the minimum duration of a step's work, without regard to its timeouts and deadlines.
    pub(super) fn work_time(&mut self, plan: &Plan, step: &Step) -> Duration {
        if step.cache().is_some() {
            return Duration::ZERO;
        }
        match &step.kind {
            StepKind::Call(call) => match &call.target {
                Target::Tool(tool) if (&*tool.namespace, &*tool.name) == ("sys", "sleep") => self
                    .constant_time(plan, call.argument("duration"))
                    .unwrap_or_default(),
                Target::Tool(_) => Duration::ZERO,
                Target::Plan(index, _) => plan
                    .plans
                    .get(*index)
                    .map_or(Duration::ZERO, |plan| self.called_time(plan)),
            },
            StepKind::Do(body) => self.block_time(plan, *body),
            // With `settle`, every element may fail before its pauses.
            StepKind::Each(each) if !each.settle && self.elements(plan, &each.list) > 0 => {
                self.block_time(plan, each.body)
            }
            StepKind::Repeat(repeat) => self.block_time(plan, repeat.body),
            StepKind::Race(branches) => self.shortest(plan, branches.iter().map(|(_, body)| *body)),
            StepKind::Match { arms, .. } => self.shortest(plan, arms.iter().map(|(_, body)| *body)),
            StepKind::Wait(wait) => match &**wait {
                Wait::For(time) => self.constant_time(plan, Some(time)).unwrap_or_default(),
                Wait::Until(_) | Wait::Event { .. } => Duration::ZERO,
            },
            StepKind::Each(_) | StepKind::Input(_) | StepKind::Damaged => Duration::ZERO,
        }
    }

    fn called_time(&mut self, plan: &Arc<Plan>) -> Duration {
        if let Some(known) = self.times.get(&Arc::as_ptr(plan)) {
            return *known;
        }
        let time = self.time(plan);
        self.times.insert(Arc::as_ptr(plan), time);
        time
    }

    /// Returns the length of the critical path through a block.
    fn block_time(&mut self, plan: &Plan, block: BlockId) -> Duration {
        let block = plan.block(block);
        let nodes = &block.nodes;
        let mut ends = vec![Duration::ZERO; nodes.len()];
        // For each node, when everything above it has ended, and when every barrier above it has.
        let (mut everything, mut barriers) = (vec![Duration::ZERO], vec![Duration::ZERO]);
        let mut slots: HashMap<u32, Duration> = HashMap::default();
        for (index, node) in nodes.iter().enumerate() {
            if may_end(node) && !node.guard.is_empty() {
                break;
            }
            let parallel = u32::try_from(index)
                .ok()
                .and_then(|index| block.parallel_around(index));
            let order = parallel.map_or_else(|| node.order(), |parallel| parallel.order);
            let (all, passed) = (everything[index], barriers[index]);
            everything.push(all);
            barriers.push(passed);
            if !node.guard.is_empty() {
                continue;
            }
            let place = parallel.map_or(index, |parallel| parallel.nodes.start as usize);
            let mut start = match order {
                _ if !node.after.is_empty() => Duration::ZERO,
                OrderClass::Pure => Duration::ZERO,
                OrderClass::Read => barriers[place],
                OrderClass::Clock | OrderClass::Barrier => everything[place],
            };
            for after in &node.after {
                start = start.max(ends.get(after.node.0 as usize).copied().unwrap_or_default());
            }
            node.codes(&mut |code| {
                let own = code.reads.iter().filter(|read| read.place.up == 0);
                start = own
                    .filter_map(|read| slots.get(&read.place.slot).copied())
                    .fold(start, Duration::max);
            });
            let takes = node
                .step()
                .map_or(Duration::ZERO, |step| self.step_time(plan, step));
            let end = start.saturating_add(takes);
            ends[index] = end;
            everything[index + 1] = all.max(end);
            if order == OrderClass::Barrier {
                barriers[index + 1] = passed.max(end);
            }
            if let Some(slot) = node.slot {
                slots.insert(slot, end);
            }
        }
        ends.into_iter().max().unwrap_or_default()
    }

    fn step_time(&mut self, plan: &Plan, step: &Step) -> Duration {
        let takes = self.work_time(plan, step);
        // An arm takes over if a timeout or deadline, or a failure inside, ends the work.
        let bounds = [step.within(), step.timeout()];
        match &*step.recover {
            [] => takes,
            _ if step.tool().is_some() => {
                let bounds = bounds
                    .into_iter()
                    .filter_map(|bound| self.constant_time(plan, bound));
                bounds.fold(takes, Duration::min)
            }
            _ => Duration::ZERO,
        }
    }

    fn shortest(&mut self, plan: &Plan, bodies: impl Iterator<Item = BlockId>) -> Duration {
        bodies
            .map(|body| self.block_time(plan, body))
            .min()
            .unwrap_or_default()
    }
}

/// Returns true if the statements below may not run because of this one.
fn may_end(node: &Node) -> bool {
    matches!(
        node.kind,
        NodeKind::Reply(_) | NodeKind::Yield(_) | NodeKind::Next(_)
    )
}

/// Converts a value to a duration, clamped to what a bound can be.
pub(super) fn length(value: &Value) -> Option<Duration> {
    let nanoseconds = value.as_duration()?;
    Some(Duration::from_nanos(
        u64::try_from(nanoseconds.max(0)).unwrap_or(u64::MAX),
    ))
}

/// Formats a duration in the notation of plans, with fractions: `1h30m`, `1.5s`, `200ms`.
pub(super) fn format_duration(time: Duration) -> String {
    let (hours, minutes) = (time.as_secs() / 3600, time.as_secs() / 60 % 60);
    let rest = time.saturating_sub(Duration::from_secs(time.as_secs() / 60 * 60));
    let mut text = String::new();
    for (count, unit) in [(hours, "h"), (minutes, "m")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
    {
        // Writing to a string cannot fail.
        let _ = write!(text, "{count}{unit}");
    }
    if rest.is_zero() && !text.is_empty() {
        return text;
    }
    let (rest, unit) = if rest.as_secs() == 0 && !rest.is_zero() {
        (rest.as_secs_f64() * 1000.0, "ms")
    } else {
        (rest.as_secs_f64(), "s")
    };
    let _ = write!(text, "{rest}{unit}");
    text
}
