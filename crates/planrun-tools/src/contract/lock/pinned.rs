//! A pinned contract that is parsed from the text of the lock on first use, because a plan calls few of the tools that
//! its project knows.

use std::ops::Deref;
use std::sync::OnceLock;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::LockedTool;
use crate::contract::OfferedTool;

/// A pinned contract.
#[derive(Clone)]
pub struct Pinned {
    /// `None` if it does not come from a file.
    text: Option<Box<RawValue>>,
    tool: OnceLock<LockedTool>,
}

impl Pinned {
    pub(super) fn of(text: Box<RawValue>) -> Self {
        Self {
            text: Some(text),
            tool: OnceLock::new(),
        }
    }

    /// Accepts the effect that the tool claims.
    pub fn accept(&mut self) {
        let tool = LockedTool {
            accepted: true,
            ..LockedTool::clone(self)
        };
        *self = tool.into();
    }

    /// Returns the contract, or why the text is not one.
    pub(super) fn read(&self) -> Result<&LockedTool, serde_json::Error> {
        if self.tool.get().is_none()
            && let Some(text) = &self.text
        {
            let tool = serde_json::from_str(text.get())?;
            return Ok(self.tool.get_or_init(|| tool));
        }
        Ok(self.tool.get_or_init(unusable))
    }

    #[cfg(test)]
    pub(super) fn is_read(&self) -> bool {
        self.tool.get().is_some()
    }
}

/// A tool that accepts no arguments at all. It replaces a malformed contract in a file whose overall digest was forged.
fn unusable() -> LockedTool {
    LockedTool::new(OfferedTool {
        input: false.into(),
        ..OfferedTool::default()
    })
}

impl Deref for Pinned {
    type Target = LockedTool;

    fn deref(&self) -> &LockedTool {
        self.read()
            .unwrap_or_else(|_| self.tool.get_or_init(unusable))
    }
}

impl From<LockedTool> for Pinned {
    fn from(tool: LockedTool) -> Self {
        Self {
            text: None,
            tool: tool.into(),
        }
    }
}

impl PartialEq for Pinned {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl std::fmt::Debug for Pinned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        LockedTool::fmt(self, f)
    }
}

impl Serialize for Pinned {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        LockedTool::serialize(self, serializer)
    }
}
