//! The order of the statements in a block, according to sections 1.1 and 1.2 of the language's rules.

use std::collections::BTreeSet;
use std::sync::Arc;

use planrun_lang::sema::expr::CheckedExpr;
use planrun_lang::sema::{Block, BlockId, NameKind, Node, NodeKind, Plan, Step, StepKind, Target};
use planrun_lang::types::Effect;

/// For each statement interpreted so far, the statements that end before it begins.
#[derive(Default)]
pub struct StatementOrder(Vec<BTreeSet<usize>>);

impl StatementOrder {
    /// Adds the next statement, which runs.
    pub fn add(&mut self, plan: &Plan, block: &Block) {
        let index = self.0.len();
        let node = &block.nodes[index];
        let places = has_place(plan, node) && node.after.is_empty();
        self.push(plan, block, places);
    }

    /// Orders the last statement by its position, because it fails in any case.
    pub fn place(&mut self, plan: &Plan, block: &Block) {
        self.0.pop();
        self.push(plan, block, true);
    }

    fn push(&mut self, plan: &Plan, block: &Block, has_its_place: bool) {
        let index = self.0.len();
        let mut direct = awaited(plan, block, index);
        // Every statement waits for preceding ones that may end the block.
        direct.extend((0..index).filter(|above| may_end(&block.nodes[*above])));
        if has_its_place {
            let parallel = block
                .parallels
                .iter()
                .find(|parallel| parallel.nodes.contains(&number(index)));
            let sequence = parallel.and_then(|all| {
                all.sequences
                    .iter()
                    .find(|one| one.contains(&number(index)))
            });
            let above = parallel.map_or(index, |parallel| parallel.nodes.start as usize);
            // An `if` in a `parallel` is one statement, whose inner statements keep their order.
            let inside = sequence
                .into_iter()
                .flat_map(|sequence| sequence.start as usize..index);
            let own = &block.nodes[index];
            let only_reads = own
                .step()
                .is_some_and(|step| does(plan, step) == Effect::Read);
            let is_waited_for = |above: &usize| {
                let above = &block.nodes[*above];
                let changes = above
                    .step()
                    .is_none_or(|step| does(plan, step) > Effect::Read);
                is_waited_for(above) && (changes || !only_reads)
            };
            direct.extend((0..above).chain(inside).filter(is_waited_for));
        }
        let row = self.closed(&direct);
        self.0.push(row);
    }

    /// Marks the last statement as skipped: it has no position, and waits only for its dependencies.
    pub fn skip(&mut self, plan: &Plan, block: &Block, guard_alone: bool) {
        self.0.pop();
        let index = self.0.len();
        let direct = if guard_alone {
            guards(&block.nodes[index]).collect()
        } else {
            awaited(plan, block, index)
        };
        let row = self.closed(&direct);
        self.0.push(row);
    }

    pub fn is_before(&self, above: usize, below: usize) -> bool {
        self.0.get(below).is_some_and(|row| row.contains(&above))
    }

    fn closed(&self, direct: &BTreeSet<usize>) -> BTreeSet<usize> {
        let all = direct
            .iter()
            .flat_map(|above| self.0[*above].iter().copied())
            .collect::<BTreeSet<_>>();
        direct | &all
    }
}

/// Returns the dependencies of a statement that do not depend on its position: values, conditions, and `after`.
fn awaited(plan: &Plan, block: &Block, index: usize) -> BTreeSet<usize> {
    let node = &block.nodes[index];
    let named = node.after.iter().map(|after| after.node.0 as usize);
    let mut awaited: BTreeSet<usize> = data(plan, block, index);
    awaited.extend(guards(node).chain(named));
    if !node.after.is_empty() && block.parallel_around(number(index)).is_none() {
        awaited.extend((0..index).filter(|above| shares_task(plan, &block.nodes[*above], node)));
    }
    awaited
}

/// Returns true if a statement reads or sets a task that another one sets.
fn shares_task(plan: &Plan, one: &Node, other: &Node) -> bool {
    let mut read = BTreeSet::new();
    tasks_read(plan, one, &mut read);
    let mut tasks = plan.tasks.iter().map(|task| &task.name);
    tasks.any(|task| sets(plan, other, task) && (read.contains(task) || sets(plan, one, task)))
}

fn guards(node: &Node) -> impl Iterator<Item = usize> + '_ {
    node.guard.iter().map(|atom| atom.condition.0 as usize)
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap()
}

/// Returns true if later statements with a position wait for it.
fn is_waited_for(node: &Node) -> bool {
    match node.kind {
        NodeKind::Step(_) | NodeKind::Set(_) => true,
        NodeKind::Reply(_) | NodeKind::Yield(_) | NodeKind::Next(_) | NodeKind::Fail(_) => {
            node.guard.is_empty()
        }
        NodeKind::Condition(_)
        | NodeKind::Let(_)
        | NodeKind::Ensure { .. }
        | NodeKind::Task(_)
        | NodeKind::Listener(_) => false,
    }
}

/// Returns true if it has a position. A statement without calls only waits for the values it reads.
fn has_place(plan: &Plan, node: &Node) -> bool {
    is_waited_for(node)
        && node
            .step()
            .is_none_or(|step| does(plan, step) > Effect::Pure)
}

fn may_end(node: &Node) -> bool {
    match node.kind {
        NodeKind::Ensure { .. } => true,
        NodeKind::Reply(_) | NodeKind::Yield(_) | NodeKind::Next(_) | NodeKind::Fail(_) => {
            !node.guard.is_empty()
        }
        NodeKind::Condition(_)
        | NodeKind::Let(_)
        | NodeKind::Step(_)
        | NodeKind::Set(_)
        | NodeKind::Task(_)
        | NodeKind::Listener(_) => false,
    }
}

/// Returns the preceding statements whose values this one reads.
pub fn data(plan: &Plan, block: &Block, index: usize) -> BTreeSet<usize> {
    let mut slots = BTreeSet::new();
    let own = &block.nodes[index];
    reads(plan, own, 0, &mut slots);
    let gives = |above: &usize| {
        let node = &block.nodes[*above];
        node.slot.is_some_and(|slot| slots.contains(&slot)) && !in_different_branches(node, own)
    };
    let mut found: BTreeSet<usize> = (0..index).filter(gives).collect();
    let mut tasks = BTreeSet::new();
    tasks_read(plan, own, &mut tasks);
    for task in tasks {
        for above in (0..index).rev() {
            let node = &block.nodes[above];
            if sets(plan, node, &task) {
                found.insert(above);
                if node.guard.is_empty() && node.after.is_empty() {
                    break;
                }
            }
        }
    }
    found
}

/// Adds the names of the tasks that a statement reads, including its blocks.
fn tasks_read(plan: &Plan, node: &Node, names: &mut BTreeSet<Arc<str>>) {
    let mut add = |code: &CheckedExpr| {
        let reads = code.reads.iter();
        let tasks = reads.filter(|read| read.binding == NameKind::Task);
        names.extend(tasks.map(|read| read.name.clone()));
    };
    node.codes(&mut |code| add(code));
    node.inner_codes(&mut |code| add(code));
    for inner in blocks_of(node) {
        let nodes = plan.block(inner).nodes.iter();
        nodes.for_each(|node| tasks_read(plan, node, names));
    }
}

/// Returns true if a statement, or one in its blocks, sets the task with this name.
fn sets(plan: &Plan, node: &Node, task: &str) -> bool {
    match &node.kind {
        NodeKind::Set(set) => *plan.task(set.task).name == *task,
        _ => blocks_of(node).into_iter().any(|inner| {
            let mut nodes = plan.block(inner).nodes.iter();
            nodes.any(|node| sets(plan, node, task))
        }),
    }
}

fn blocks_of(node: &Node) -> Vec<BlockId> {
    let mut blocks = Vec::new();
    node.inner(&mut |inner| blocks.push(inner));
    blocks
}

/// Returns true if the two are in different branches of one `if`.
fn in_different_branches(one: &Node, other: &Node) -> bool {
    one.guard.iter().any(|atom| {
        other
            .guard
            .iter()
            .any(|against| against.condition == atom.condition && against.negated != atom.negated)
    })
}

/// Adds the slots of the frame `up` levels outwards that a statement, including its blocks, reads.
fn reads(plan: &Plan, node: &Node, up: u16, slots: &mut BTreeSet<u32>) {
    let mut add = |code: &CheckedExpr, up: u16| {
        slots.extend(
            code.reads
                .iter()
                .filter(|read| read.place.up == up)
                .map(|read| read.place.slot),
        );
    };
    node.codes(&mut |code| add(code, up));
    node.inner_codes(&mut |code| add(code, up + 1));
    for inner in blocks_of(node) {
        let nodes = plan.block(inner).nodes.iter();
        nodes.for_each(|node| reads(plan, node, up + 1, slots));
    }
}

/// Returns the strongest effect of the calls in a step; a wait has a position like an effect.
fn does(plan: &Plan, step: &Step) -> Effect {
    let own = match &step.kind {
        StepKind::Wait(_) => Effect::Effect,
        StepKind::Call(call) => match &call.target {
            Target::Tool(_) => call.effect,
            Target::Plan(index, _) => block_does(&plan.plans[*index], BlockId(0)),
        },
        _ => Effect::Pure,
    };
    let inner = step.bodies().chain(step.recover.iter().map(|arm| arm.body));
    inner
        .map(|inner| block_does(plan, inner))
        .fold(own, Effect::max)
}

/// Returns the strongest effect of the calls in a block.
pub fn block_does(plan: &Plan, block: BlockId) -> Effect {
    let steps = plan.block(block).nodes.iter().filter_map(Node::step);
    steps
        .map(|step| does(plan, step))
        .max()
        .unwrap_or(Effect::Pure)
}
