//! Where in a plan stands what a contract limits, and what would break the contract there.

use std::ops::Range;

/// Around a part of a text while it is written: the first two around its number.
const BEGIN: char = '\u{e000}';
const NUMBERED: char = '\u{e001}';
const END: char = '\u{e002}';

/// An argument, or a call, that a contract limits.
#[derive(Clone, Debug)]
pub struct Limited {
    /// The name of the row, or of what is said of two arguments.
    pub name: &'static str,
    pub place: Range<usize>,
    /// What would break the contract in its place.
    pub broken: String,
}

/// The parts of a file that were marked, by their numbers.
#[derive(Default)]
pub struct Marks {
    noted: Vec<(&'static str, String)>,
}

impl Marks {
    /// So many parts were marked.
    pub fn count(&self) -> usize {
        self.noted.len()
    }

    pub fn around(&mut self, name: &'static str, text: &str, broken: String) -> String {
        self.noted.push((name, broken));
        format!("{BEGIN}{}{NUMBERED}{text}{END}", self.noted.len() - 1)
    }

    /// The text without marks, and where they were.
    pub fn found(&self, marked: &str) -> (String, Vec<Limited>) {
        let mut text = String::with_capacity(marked.len());
        let (mut open, mut found): (Vec<(usize, usize)>, Vec<Limited>) = (Vec::new(), Vec::new());
        let mut rest = marked;
        while let Some(at) = rest.find([BEGIN, END]) {
            text.push_str(&rest[..at]);
            let (mark, after) = rest[at..].split_at(BEGIN.len_utf8());
            rest = after;
            if mark.starts_with(BEGIN) {
                let (number, after) = after.split_once(NUMBERED).unwrap();
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
