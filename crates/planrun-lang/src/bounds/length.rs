//! How many elements a list has at most.

use super::tally::{Count, least, most, plus};
use crate::eval::Constants;
use crate::sema::expr::{Code, Link, LinkOp, MacroKind, Node, Op, Operator};
use crate::sema::{BlockId, Each, Nesting, NodeKind, Place, StepKind};
use crate::value::Value;

/// How many names and operators a list is followed through.
const FARTHEST: u32 = 12;

/// What is known of the lengths of the lists of a plan.
pub(super) struct Lengths<'a> {
    pub nesting: Nesting<'a>,
    pub constants: Constants,
}

impl<'a> Lengths<'a> {
    /// How often the body of an `each` runs at most.
    pub fn rounds(&self, block: BlockId, each: &'a Each) -> Count {
        self.rounds_within(block, each, FARTHEST)
    }

    /// The value of an expression that counts something.
    pub fn number(&self, code: Option<&Code>) -> Count {
        let number = self.constants.value(code?)?.as_int()?;
        Some(u64::try_from(number).unwrap_or(0))
    }

    fn rounds_within(&self, block: BlockId, each: &'a Each, farther: u32) -> Count {
        let list = self.code(block, &each.list, farther);
        least(list, self.number(each.max.as_ref()))
    }

    fn code(&self, block: BlockId, code: &'a Code, farther: u32) -> Count {
        let known = self.constants.value(code).and_then(elements);
        known.or_else(|| self.node(block, &code.root, farther))
    }

    fn node(&self, block: BlockId, node: &'a Node, farther: u32) -> Count {
        let farther = farther.checked_sub(1)?;
        let of = |node: &'a Node| self.node(block, node, farther);
        match &node.op {
            Op::Constant(value) => elements(value),
            Op::List(nodes) => Some(nodes.len() as u64),
            Op::Place(place) => self.place(block, *place, farther),
            Op::Path { base, links } => self.path(block, base, links, farther),
            Op::Coalesce(nodes) => nodes.iter().map(of).reduce(most)?,
            Op::Conditional { arms, otherwise } => {
                let arms = arms.iter().map(|(_, value)| of(value));
                arms.fold(of(otherwise), most)
            }
            Op::Match { arms, .. } => arms.iter().map(|(_, value)| of(value)).reduce(most)?,
            Op::Chain { first, rest }
                if rest.iter().all(|(operator, _)| *operator == Operator::Add) =>
            {
                let rest = rest.iter().map(|(_, node)| of(node));
                rest.fold(of(first), plus)
            }
            _ => None,
        }
    }

    /// What is filtered or sorted has no more elements than before.
    fn path(&self, block: BlockId, base: &'a Node, links: &'a [Link], farther: u32) -> Count {
        let keeps = |link: &Link| {
            let LinkOp::Macro(comprehension) = &link.op else {
                return false;
            };
            match comprehension.kind {
                MacroKind::Filter | MacroKind::SortBy => true,
                MacroKind::Map => comprehension.second.is_none(),
                MacroKind::All
                | MacroKind::Exists
                | MacroKind::ExistsOne
                | MacroKind::TransformList
                | MacroKind::TransformMap
                | MacroKind::TransformMapEntry => false,
            }
        };
        if links.iter().all(keeps) {
            self.node(block, base, farther)
        } else {
            None
        }
    }

    fn place(&self, block: BlockId, place: Place, farther: u32) -> Count {
        let frame = self.nesting.frame(block, place)?;
        let givers = self.nesting.plan().block(frame).givers(place.slot);
        let longest = givers.map(|node| match &node.kind {
            NodeKind::Let(code) => self.code(frame, code, farther),
            NodeKind::Step(step) if step.recover.is_empty() => match &step.kind {
                StepKind::Each(each) => self.rounds_within(frame, each, farther),
                _ => None,
            },
            _ => None,
        });
        longest.reduce(most)?
    }
}

fn elements(value: &Value) -> Count {
    value.as_list().map(|list| list.len() as u64)
}
