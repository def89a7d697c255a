//! Stores pest's parse result as a flat list of small nodes that is cheap to walk. Spans are relative to the file.

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
    /// The nodes in pre-order.
    entries: Vec<Entry>,
    /// The interned names.
    names: RefCell<HashSet<Arc<str>>>,
}

struct Entry {
    rule: Rule,
    start: u32,
    end: u32,
    /// Index of the first node after this one and its descendants.
    behind: u32,
}

impl<'t> Tree<'t> {
    /// Parses a part of the text with the rule.
    ///
    /// # Errors
    /// Returns the offset at which pest failed.
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

    /// Returns the outermost nodes.
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

    /// Returns the children of the node.
    pub fn inner(self) -> Nodes<'t> {
        Nodes {
            tree: self.tree,
            next: self.number + 1,
            end: self.entry().behind,
        }
    }

    /// Interns a word of the text, so that all nodes with the same word share one name.
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

/// An iterator over sibling nodes.
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

    /// Exact, so that collecting allocates no more memory than needed.
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

/// Narrows an offset or count, which fits since the size of plans is limited.
fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
