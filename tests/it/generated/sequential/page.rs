//! Which statements of a block stand before which, as the rules of the language say it: 1.1 and 1.2.

use std::collections::BTreeSet;

use planrun_lang::sema::expr::Code;
use planrun_lang::sema::{Block, BlockId, Node, NodeKind, Plan, Step, StepKind, Target};
use planrun_lang::types::Effect;

/// For each statement those that have ended before it begins, as far as the block has been walked.
#[derive(Default)]
pub struct Page(Vec<BTreeSet<usize>>);

impl Page {
    /// The next statement, where it runs.
    pub fn add(&mut self, plan: &Plan, block: &Block) {
        let index = self.0.len();
        let node = &block.nodes[index];
        let places = has_place(plan, node) && node.after.is_empty();
        self.push(plan, block, places);
    }

    /// The statement that was added last fails whatever it is: in its place.
    pub fn place(&mut self, plan: &Plan, block: &Block) {
        self.0.pop();
        self.push(plan, block, true);
    }

    fn push(&mut self, plan: &Plan, block: &Block, has_its_place: bool) {
        let index = self.0.len();
        let mut direct = awaited(plan, block, index);
        // Everything waits for what may end the block above it.
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
            // An `if` in a `parallel` is one statement that keeps the order of the page.
            let inside = sequence
                .into_iter()
                .flat_map(|sequence| sequence.start as usize..index);
            direct.extend(
                (0..above)
                    .chain(inside)
                    .filter(|above| is_waited_for(&block.nodes[*above])),
            );
        }
        let row = self.closed(&direct);
        self.0.push(row);
    }

    /// The statement that was added last does not run: it has no place, and waits for nothing but what it needs.
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

/// What a statement needs whatever its place: values, conditions, what it names in `after`.
fn awaited(plan: &Plan, block: &Block, index: usize) -> BTreeSet<usize> {
    let node = &block.nodes[index];
    let named = node.after.iter().map(|after| after.node.0 as usize);
    data(plan, block, index)
        .into_iter()
        .chain(guards(node))
        .chain(named)
        .collect()
}

fn guards(node: &Node) -> impl Iterator<Item = usize> + '_ {
    node.guard.iter().map(|atom| atom.condition.0 as usize)
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap()
}

/// Whether what has its place below waits for it.
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

/// Whether it has a place: what calls nothing waits for its readers and for what it reads.
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

/// The statements above that give a value which this one reads.
pub fn data(plan: &Plan, block: &Block, index: usize) -> BTreeSet<usize> {
    let mut slots = BTreeSet::new();
    let own = &block.nodes[index];
    reads(plan, own, 0, &mut slots);
    let gives = |above: &usize| {
        let node = &block.nodes[*above];
        let sets = |node: &Node| match &node.kind {
            NodeKind::Set(set) => slots.contains(&plan.task(set.task).slot),
            _ => false,
        };
        (node.slot.is_some_and(|slot| slots.contains(&slot)) || sets(node)) && !apart(node, own)
    };
    (0..index).filter(gives).collect()
}

/// Whether the two stand in different branches of one `if`.
fn apart(one: &Node, other: &Node) -> bool {
    one.guard.iter().any(|atom| {
        other
            .guard
            .iter()
            .any(|against| against.condition == atom.condition && against.negated != atom.negated)
    })
}

/// The slots of the frame `up` frames outwards that a statement reads, with the blocks in it.
fn reads(plan: &Plan, node: &Node, up: u16, slots: &mut BTreeSet<u32>) {
    let mut add = |code: &Code, up: u16| {
        slots.extend(
            code.reads
                .iter()
                .filter(|read| read.place.up == up)
                .map(|read| read.place.slot),
        );
    };
    node.codes(&mut |code| add(code, up));
    node.inner_codes(&mut |code| add(code, up + 1));
    let mut blocks: Vec<BlockId> = Vec::new();
    node.inner(&mut |inner| blocks.push(inner));
    for inner in blocks.iter().flat_map(|inner| &plan.block(*inner).nodes) {
        reads(plan, inner, up + 1, slots);
    }
}

/// The most that the calls of a step do; a wait keeps its place like what changes something.
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

/// The most that the calls of a block do.
pub fn block_does(plan: &Plan, block: BlockId) -> Effect {
    let steps = plan.block(block).nodes.iter().filter_map(Node::step);
    steps
        .map(|step| does(plan, step))
        .max()
        .unwrap_or(Effect::Pure)
}
