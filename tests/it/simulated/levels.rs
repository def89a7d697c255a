//! The statements of a plan on the path to a step.

use planrun_lang::sema::{Block, BlockId, Node, Plan, StepKind, Target};
use serde_json::Value as Json;

/// A statement on the path to a step.
pub struct Level<'p> {
    /// The path of its block, with the dot behind it.
    pub prefix: &'p str,
    pub block: &'p Block,
    pub index: usize,
}

impl<'p> Level<'p> {
    pub fn node(&self) -> &'p Node {
        &self.block.nodes[self.index]
    }

    pub fn name(&self) -> &'p str {
        self.node().name.as_deref().unwrap_or_default()
    }

    /// Returns the path of the statement.
    pub fn path(&self) -> String {
        format!("{}{}", self.prefix, self.name())
    }
}

/// Returns the statements on a path, outermost first, as far as the plan has them.
pub fn levels<'p>(path: &'p str, plan: &'p Plan) -> Vec<Level<'p>> {
    let (mut plan, mut blocks, mut start) = (plan, vec![BlockId(0)], 0);
    let mut levels = Vec::new();
    loop {
        let rest = &path[start..];
        let found = blocks.iter().find_map(|block| {
            let block = plan.block(*block);
            let is_next = |node: &Node| {
                let name = node.name.as_deref().filter(|_| node.step().is_some());
                let rest = name.and_then(|name| rest.strip_prefix(name));
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            };
            Some((block, block.nodes.iter().position(is_next)?))
        });
        let Some((block, index)) = found else {
            return levels;
        };
        let level = Level {
            prefix: &path[..start],
            block,
            index,
        };
        let (node, name) = (level.node(), level.name());
        levels.push(level);
        let Some(inner) = without_keys(&rest[name.len()..]).strip_prefix('.') else {
            return levels;
        };
        start = path.len() - inner.len();
        blocks.clear();
        node.inner(&mut |inner| blocks.push(inner));
        if let Some(inner) = inner.strip_prefix("recover.") {
            start = path.len() - inner.len();
        } else if let Some(StepKind::Call(call)) = node.step().map(|step| &step.kind)
            && let Target::Plan(index, _) = &call.target
        {
            (plan, blocks) = (&plan.plans[*index], vec![BlockId(0)]);
        }
    }
}

/// Returns the rest of a path behind the keys of elements.
fn without_keys(mut rest: &str) -> &str {
    while let Some(key) = rest.strip_prefix('[') {
        let mut keys = serde_json::Deserializer::from_str(key).into_iter::<Json>();
        let _ = keys.next();
        rest = key[keys.byte_offset()..].trim_start_matches(']');
    }
    rest
}
