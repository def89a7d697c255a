//! The text of a plan, by its lines, for edits between its statements.

use crate::generate::Dice;

/// The indentation of the statements of a plan.
const MARGIN: &str = "    ";

/// A plan in the text of a file.
pub struct Body {
    before: String,
    pub lines: Vec<String>,
    after: String,
}

impl Body {
    /// Returns a plan of a file.
    pub fn of(text: &str, plan: &str) -> Option<Self> {
        let begin = text.find(&format!("plan {plan}("))?;
        let end = begin + text[begin..].find("\n}\n")?;
        let lines = text[begin..end].lines();
        Some(Self {
            before: text[..begin].to_owned(),
            lines: lines.map(str::to_owned).collect(),
            after: text[end..].to_owned(),
        })
    }

    /// Returns the text of the file.
    pub fn text(&self) -> String {
        [&self.before, &self.lines.join("\n"), &self.after]
            .map(|part| &**part)
            .concat()
    }

    /// Returns the line in which one of the statements or settings begins.
    pub fn any_statement(&self, dice: &mut Dice) -> Option<usize> {
        let lines = 1..self.lines.len();
        let statements: Vec<usize> = lines.filter(|line| begins(&self.lines[*line])).collect();
        statements.get(dice.below(statements.len().max(1))).copied()
    }

    /// Returns true if the statement that begins in this line also ends there.
    pub fn is_one_line(&self, line: usize) -> bool {
        self.lines.get(line + 1).is_none_or(|next| begins(next))
    }

    /// Inserts a statement before this line.
    pub fn insert(&mut self, line: usize, statement: &str) {
        self.lines.insert(line, format!("{MARGIN}{statement}"));
    }
}

/// Returns true if a statement of the plan begins in a line.
fn begins(line: &str) -> bool {
    let own = line.strip_prefix(MARGIN);
    own.is_some_and(|own| !own.starts_with([' ', '}', ']', ')']))
}
