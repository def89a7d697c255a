//! What pest read as one flat list of small nodes, so that walking it costs next to nothing; places count from the
//! beginning of the file.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use foldhash::HashSet;
use pest::error::InputLocation;
use pest::iterators::Pairs;
use pest::{Parser as _, Token};

use super::grammar::parse::{PlanParser, Rule};
use crate::source::Span;

/// The nodes of a text or of a part of it.
pub(super) struct Tree<'t> {
    text: &'t str,
    /// Each node stands before those that it holds.
    entries: Vec<Entry>,
    /// The names that were asked for, each kept once.
    names: RefCell<HashSet<Arc<str>>>,
}

struct Entry {
    rule: Rule,
    start: u32,
    end: u32,
    /// The number of the first node behind this one and all that it holds.
    behind: u32,
}

impl<'t> Tree<'t> {
    /// Reads a part of the text as what the rule describes.
    ///
    /// # Errors
    /// The place where pest gave up.
    pub fn read(rule: Rule, text: &'t str, part: Range<usize>) -> Result<Self, usize> {
        let offset = part.start;
        match PlanParser::parse(rule, text.get(part).unwrap_or("")) {
            Ok(pairs) => Ok(Self::of(pairs, text, offset)),
            Err(error) => match error.location {
                InputLocation::Pos(at) | InputLocation::Span((at, _)) => Err(offset + at),
            },
        }
    }

    fn of(pairs: Pairs<'_, Rule>, text: &'t str, offset: usize) -> Self {
        let tokens = pairs.tokens();
        let mut entries: Vec<Entry> = Vec::with_capacity(tokens.len() / 2);
        let mut open = Vec::new();
        for token in tokens {
            match token {
                Token::Start { rule, pos } => {
                    open.push(entries.len());
                    entries.push(Entry {
                        rule,
                        start: narrow(offset + pos.pos()),
                        end: 0,
                        behind: 0,
                    });
                }
                Token::End { pos, .. } => {
                    let behind = narrow(entries.len());
                    if let Some(entry) = open.pop().and_then(|number| entries.get_mut(number)) {
                        (entry.end, entry.behind) = (narrow(offset + pos.pos()), behind);
                    }
                }
            }
        }
        Self {
            text,
            entries,
            names: RefCell::default(),
        }
    }

    /// The outermost nodes.
    pub fn roots(&self) -> Nodes<'_> {
        Nodes {
            tree: self,
            next: 0,
            end: narrow(self.entries.len()),
        }
    }
}

/// One node.
#[derive(Clone, Copy)]
pub(super) struct Node<'t> {
    tree: &'t Tree<'t>,
    number: u32,
}

impl<'t> Node<'t> {
    fn entry(self) -> &'t Entry {
        &self.tree.entries[self.number as usize]
    }

    pub fn rule(self) -> Rule {
        self.entry().rule
    }

    pub fn span(self) -> Span {
        let entry = self.entry();
        Span::from(entry.start..entry.end)
    }

    pub fn text(self) -> &'t str {
        self.tree.text.get(self.span().range()).unwrap_or("")
    }

    /// The nodes directly inside.
    pub fn inner(self) -> Nodes<'t> {
        Nodes {
            tree: self.tree,
            next: self.number + 1,
            end: self.entry().behind,
        }
    }

    /// A word of the tree's text as a name that all nodes with this word share.
    pub fn shared(self, word: &str) -> Arc<str> {
        let mut names = self.tree.names.borrow_mut();
        if let Some(known) = names.get(word) {
            return known.clone();
        }
        let name: Arc<str> = Arc::from(word);
        names.insert(name.clone());
        name
    }
}

/// Nodes side by side.
#[derive(Clone)]
pub(super) struct Nodes<'t> {
    tree: &'t Tree<'t>,
    next: u32,
    end: u32,
}

impl<'t> Nodes<'t> {
    pub fn peek(&self) -> Option<Node<'t>> {
        (self.next < self.end).then_some(Node {
            tree: self.tree,
            number: self.next,
        })
    }
}

impl<'t> Iterator for Nodes<'t> {
    type Item = Node<'t>;

    fn next(&mut self) -> Option<Node<'t>> {
        let node = self.peek()?;
        self.next = node.entry().behind;
        Some(node)
    }

    /// Exact: what is collected then takes no more memory than it needs.
    fn size_hint(&self) -> (usize, Option<usize>) {
        let mut count = 0;
        let mut next = self.next;
        while next < self.end {
            next = self.tree.entries[next as usize].behind;
            count += 1;
        }
        (count, Some(count))
    }
}

impl ExactSizeIterator for Nodes<'_> {}

/// Offsets and counts of a text that is no larger than plans may be.
fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
