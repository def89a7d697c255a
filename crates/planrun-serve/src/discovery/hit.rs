//! Formats a tool or plan as one line: its name, arguments, effect class, and the first sentence of its description.

use std::fmt::Write as _;

use planrun_lang::diag::render::visible_line;
use planrun_lang::sema::spelled_name;
use planrun_lang::types::Signature;

use super::{spelled, suspicion};
use crate::tokens::{bytes, cut};

/// Maximum size of a line in tokens, unless the name alone is longer.
const LINE_TOKENS: usize = 50;
/// Average size of a line in tokens, if there are several.
const MEAN_TOKENS: usize = 35;
/// Maximum length of a first sentence, in characters.
const SENTENCE_CHARACTERS: usize = 100;
/// Maximum sizes in bytes of a name with its arguments, and of a first sentence. The first pair with which all lines
/// fit is used.
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

/// A tool or a plan, before the width of its line is determined.
pub(super) struct Hit<'t> {
    tool: &'t Signature,
    is_plan: bool,
    summary: String,
}

impl<'t> Hit<'t> {
    pub(super) fn new(tool: &'t Signature, is_plan: bool) -> Self {
        let description = tool.description.as_deref().unwrap_or_default();
        let summary = match suspicion(description) {
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
            summary,
        }
    }

    /// Returns the line without its line break.
    fn line(&self, (head, summary): (usize, usize)) -> String {
        let (tool, mut line) = (self.tool, self.name());
        line.push('(');
        let count = tool.parameters.len();
        // Required arguments come first.
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
        let summary = cut(&self.summary, summary.min(room));
        if !summary.is_empty() {
            line.push_str("  ");
            line.push_str(&summary);
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

/// Returns a line for each hit, as wide as the total size allows, followed by `below`.
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
