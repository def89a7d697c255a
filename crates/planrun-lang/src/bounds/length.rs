//! Computes upper bounds for the lengths of lists.

use super::tally::{Count, least, most, plus};
use crate::eval::Constants;
use crate::sema::expr::{CheckedExpr, Link, LinkOp, MacroKind, Node, Op, Operator};
use crate::sema::{BlockId, Each, Nesting, NodeKind, Place, StepKind};
use crate::value::Value;

/// Maximum number of names and operators through which a list is followed.
const MAX_DEPTH: u32 = 12;

/// The known lengths of the lists of a plan.
pub(super) struct Lengths<'a> {
    pub nesting: Nesting<'a>,
    pub constants: Constants,
}

impl<'a> Lengths<'a> {
    /// Returns how often the body of an `each` runs at most.
    pub fn rounds(&self, block: BlockId, each: &'a Each) -> Count {
        self.rounds_within(block, each, MAX_DEPTH)
    }

    /// Returns the value of an expression that is a count; 0 if it is negative, `None` if it is unknown.
    pub fn number(&self, code: Option<&CheckedExpr>) -> Count {
        let number = self.constants.value(code?)?.as_int()?;
        Some(u64::try_from(number).unwrap_or(0))
    }

    fn rounds_within(&self, block: BlockId, each: &'a Each, depth: u32) -> Count {
        let list = self.code(block, &each.list, depth);
        least(list, self.number(each.max.as_ref()))
    }

    fn code(&self, block: BlockId, code: &'a CheckedExpr, depth: u32) -> Count {
        let known = self.constants.value(code).and_then(elements);
        known.or_else(|| self.node(block, &code.root, depth))
    }

    fn node(&self, block: BlockId, node: &'a Node, depth: u32) -> Count {
        let depth = depth.checked_sub(1)?;
        let of = |node: &'a Node| self.node(block, node, depth);
        match &node.op {
            Op::Constant(value) => elements(value),
            Op::List(nodes) => Some(nodes.len() as u64),
            Op::Place(place) => self.place(block, *place, depth),
            Op::Path { base, links } => self.path(block, base, links, depth),
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

    /// Follows a path whose links do not add elements: filters, sorts and maps.
    fn path(&self, block: BlockId, base: &'a Node, links: &'a [Link], depth: u32) -> Count {
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
            self.node(block, base, depth)
        } else {
            None
        }
    }

    fn place(&self, block: BlockId, place: Place, depth: u32) -> Count {
        let frame = self.nesting.frame(block, place)?;
        let producers = self.nesting.plan().block(frame).producers(place.slot);
        let longest = producers.map(|node| match &node.kind {
            NodeKind::Let(code) => self.code(frame, code, depth),
            NodeKind::Step(step) if step.recover.is_empty() => match &step.kind {
                StepKind::Each(each) => self.rounds_within(frame, each, depth),
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
