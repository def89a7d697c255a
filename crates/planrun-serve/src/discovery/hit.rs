//! One tool or plan on one line: its name, what it takes, what it changes, and the first sentence that is said of it.

use std::fmt::Write as _;

use planrun_lang::diag::render::visible_line;
use planrun_lang::sema::spelled_name;
use planrun_lang::types::Signature;

use super::{spelled, suspicion};
use crate::tokens::{bytes, cut};

/// What a line has at most, unless the name alone is longer.
const LINE_TOKENS: usize = 50;
/// What each of several lines has on average.
const MEAN_TOKENS: usize = 35;
/// Characters of a first sentence.
const SENTENCE_CHARACTERS: usize = 100;
/// Bytes of a name with its arguments, and of a first sentence: the wider ones where all lines together have room for them.
const WIDTHS: [(usize, usize); 14] = [
    (110, 300),
    (110, 130),
    (100, 120),
    (90, 110),
    (85, 100),
    (80, 90),
    (75, 80),
    (70, 70),
    (65, 60),
    (60, 50),
    (55, 40),
    (50, 30),
    (40, 20),
    (0, 0),
];

/// A tool or a plan, before it is known how wide its line may be.
pub(super) struct Hit<'t> {
    tool: &'t Signature,
    is_plan: bool,
    said: String,
}

impl<'t> Hit<'t> {
    pub(super) fn new(tool: &'t Signature, is_plan: bool) -> Self {
        let description = tool.description.as_deref().unwrap_or_default();
        let said = match suspicion(description) {
            Some(what) => format!("(description withheld: it {what})"),
            None => tool
                .first_sentence()
                .chars()
                .take(SENTENCE_CHARACTERS)
                .collect(),
        };
        Self {
            tool,
            is_plan,
            said,
        }
    }

    /// The line without its end.
    fn line(&self, (head, said): (usize, usize)) -> String {
        let (tool, mut line) = (self.tool, self.name());
        line.push('(');
        let count = tool.parameters.len();
        // What a call must name comes first.
        let (required, optional): (Vec<_>, Vec<_>) =
            tool.parameters.iter().partition(|one| one.required);
        for (index, parameter) in required.iter().chain(&optional).enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            let mark = if parameter.required { "" } else { "?" };
            let argument = format!("{comma}{}{mark}", spelled(&parameter.name));
            if line.len() + argument.len() > head {
                let _ = write!(line, "{comma}… {} more", count - index);
                break;
            }
            line.push_str(&argument);
        }
        let kind = if self.is_plan { " plan" } else { "" };
        let _ = write!(line, "){kind} {}", tool.effect.name());
        let room = bytes(LINE_TOKENS).saturating_sub(line.len() + 2);
        let said = cut(&self.said, said.min(room));
        if !said.is_empty() {
            line.push_str("  ");
            line.push_str(&said);
        }
        visible_line(&line).into_owned()
    }

    fn name(&self) -> String {
        if self.is_plan {
            spelled(&self.tool.name)
        } else {
            spelled_name(self.tool)
        }
    }
}

/// A line for each, as wide as all of them together may be, with what stands below them.
pub(super) fn lines(hits: &[Hit<'_>], below: &str) -> String {
    let room = bytes(MEAN_TOKENS * hits.len()).saturating_sub(below.len());
    let print = |width: (usize, usize)| -> String {
        let lines = hits.iter().map(|hit| hit.line(width) + "\n");
        lines.collect()
    };
    let mut text = String::new();
    for width in WIDTHS {
        text = print(width);
        if text.len() <= room {
            break;
        }
    }
    text + below
}
