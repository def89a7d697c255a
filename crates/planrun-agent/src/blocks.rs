//! What is shown of a loop while it goes on: blocks that are done and never change again, and one that still grows.

use planrun_models::model::Part;

/// Characters of a result that are shown; the model reads all of it.
const MAX_SHOWN: usize = 500;

/// A block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// What the model thinks.
    Reasoning(String),
    /// What it says.
    Content(String),
    /// A call with its arguments, and its result, cut.
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
    /// Those that are done. They only become more.
    #[must_use]
    pub fn committed(&self) -> &[Block] {
        &self.committed
    }

    /// The one that still grows.
    #[must_use]
    pub fn active(&self) -> Option<&Block> {
        self.active.as_ref()
    }

    /// The model goes on: thoughts are done where it begins to speak, and what it says where it begins to call.
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
            Part::Opaque(_) | Part::Usage(_) => {}
        }
    }

    /// A call has its result.
    pub fn called(&mut self, name: &str, arguments: &str, result: &str, is_error: bool) {
        let mut shown: String = result.chars().take(MAX_SHOWN).collect();
        if shown.len() < result.len() {
            shown.push_str("... (truncated)");
        }
        self.begin(Block::Call {
            name: name.to_owned(),
            arguments: pretty(arguments),
            result: shown,
            is_error,
        });
        self.commit();
    }

    /// The round is over: nothing of it changes any more.
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
        let thought = |text: &str| Part::Reasoning(text.to_owned());
        let said = |text: &str| Part::Text(text.to_owned());
        let call = Part::Call {
            index: 0,
            id: None,
            name: None,
            arguments: String::new(),
        };
        let mut blocks = Blocks::default();
        let mut before = Vec::new();
        for part in [
            thought("I "),
            thought("see"),
            said("Let"),
            said(" me"),
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
        blocks.part(&said("Done"));
        assert_eq!(blocks.active(), Some(&Block::Content("Done".to_owned())));
        blocks.commit();
        assert_eq!(blocks.committed().len(), 4);
    }
}
