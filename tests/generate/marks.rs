//! Marks the places in a plan that a contract constrains, each with a replacement that breaks the contract.

use std::ops::Range;

/// Delimiters of a marked part while the file is being written. The number of the mark is between the first two.
const MARK_START: char = '\u{e000}';
const MARK_NUMBER: char = '\u{e001}';
const MARK_END: char = '\u{e002}';

/// An argument or a call that a contract constrains.
#[derive(Clone, Debug)]
pub struct Limited {
    /// The name of the row, or of the rule about two arguments.
    pub name: &'static str,
    pub place: Range<usize>,
    /// A replacement that breaks the contract.
    pub broken: String,
}

/// The marked parts of a file, by number.
#[derive(Default)]
pub struct Marks {
    noted: Vec<(&'static str, String)>,
}

impl Marks {
    /// Returns the number of marked parts.
    pub fn count(&self) -> usize {
        self.noted.len()
    }

    pub fn around(&mut self, name: &'static str, text: &str, broken: String) -> String {
        self.noted.push((name, broken));
        format!(
            "{MARK_START}{}{MARK_NUMBER}{text}{MARK_END}",
            self.noted.len() - 1
        )
    }

    /// Removes the delimiters from a text. Returns the text and the positions of the marked parts.
    pub fn found(&self, marked: &str) -> (String, Vec<Limited>) {
        let mut text = String::with_capacity(marked.len());
        let (mut open, mut found): (Vec<(usize, usize)>, Vec<Limited>) = (Vec::new(), Vec::new());
        let mut rest = marked;
        while let Some(at) = rest.find([MARK_START, MARK_END]) {
            text.push_str(&rest[..at]);
            let (mark, after) = rest[at..].split_at(MARK_START.len_utf8());
            rest = after;
            if mark.starts_with(MARK_START) {
                let (number, after) = after.split_once(MARK_NUMBER).unwrap();
                open.push((number.parse().unwrap(), text.len()));
                rest = after;
            } else {
                let (number, start) = open.pop().unwrap();
                let (name, broken) = self.noted[number].clone();
                found.push(Limited {
                    name,
                    place: start..text.len(),
                    broken,
                });
            }
        }
        (text + rest, found)
    }
}
