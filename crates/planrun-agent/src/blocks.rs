//! The blocks of a loop for display: completed blocks, which never change, and one that still grows.

use planrun_models::model::Part;

/// Maximum number of characters of a result that are displayed; the model reads all of it.
const MAX_RESULT_CHARS: usize = 500;

/// A block of the display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// Reasoning of the model.
    Reasoning(String),
    /// Text of the model.
    Content(String),
    /// A call with its arguments, and its truncated result.
    Call {
        name: String,
        arguments: String,
        result: String,
        is_error: bool,
    },
}

/// The blocks of a loop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    committed: Vec<Block>,
    active: Option<Block>,
}

impl Blocks {
    /// Returns the completed blocks. More are only appended.
    pub fn committed(&self) -> &[Block] {
        &self.committed
    }

    /// Returns the block that still grows.
    pub fn active(&self) -> Option<&Block> {
        self.active.as_ref()
    }

    /// Adds a part of an answer. Reasoning is completed when text begins, and text when a call begins.
    pub fn part(&mut self, part: &Part) {
        match part {
            Part::Reasoning(delta) => match &mut self.active {
                Some(Block::Reasoning(text)) => text.push_str(delta),
                _ => self.begin(Block::Reasoning(delta.clone())),
            },
            Part::Text(delta) => match &mut self.active {
                Some(Block::Content(text)) => text.push_str(delta),
                _ => self.begin(Block::Content(delta.clone())),
            },
            Part::Call { .. } | Part::Stop(_) => self.commit(),
            Part::Opaque(_) | Part::Usage(_) | Part::Retry { .. } => {}
        }
    }

    /// Adds a call with its result.
    pub fn called(&mut self, name: &str, arguments: &str, result: &str, is_error: bool) {
        let mut truncated: String = result.chars().take(MAX_RESULT_CHARS).collect();
        if truncated.len() < result.len() {
            truncated.push_str("... (truncated)");
        }
        self.begin(Block::Call {
            name: name.to_owned(),
            arguments: pretty(arguments),
            result: truncated,
            is_error,
        });
        self.commit();
    }

    /// Completes the current block at the end of a round.
    pub fn commit(&mut self) {
        self.committed.extend(self.active.take());
    }

    fn begin(&mut self, block: Block) {
        self.commit();
        self.active = Some(block);
    }
}

fn pretty(arguments: &str) -> String {
    let json: Result<serde_json::Value, _> = serde_json::from_str(arguments);
    let pretty = json
        .ok()
        .and_then(|json| serde_json::to_string_pretty(&json).ok());
    pretty.unwrap_or_else(|| arguments.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s4_22_what_is_committed_only_grows() {
        let reasoning = |text: &str| Part::Reasoning(text.to_owned());
        let content = |text: &str| Part::Text(text.to_owned());
        let call = Part::Call {
            index: 0,
            id: None,
            name: None,
            arguments: String::new(),
        };
        let mut blocks = Blocks::default();
        let mut before = Vec::new();
        for part in [
            reasoning("I "),
            reasoning("see"),
            content("Let"),
            content(" me"),
            call.clone(),
            call,
        ] {
            blocks.part(&part);
            assert!(blocks.committed().starts_with(&before));
            before = blocks.committed().to_vec();
        }
        assert_eq!(blocks.active(), None);
        blocks.called("t", r#"{"a":1}"#, &"é".repeat(501), false);
        let expected = [
            Block::Reasoning("I see".to_owned()),
            Block::Content("Let me".to_owned()),
            Block::Call {
                name: "t".to_owned(),
                arguments: "{\n  \"a\": 1\n}".to_owned(),
                result: format!("{}... (truncated)", "é".repeat(500)),
                is_error: false,
            },
        ];
        assert_eq!(blocks.committed(), expected);
        blocks.part(&content("Done"));
        assert_eq!(blocks.active(), Some(&Block::Content("Done".to_owned())));
        blocks.commit();
        assert_eq!(blocks.committed().len(), 4);
    }
}
