//! The parts of an answer, as they come.

use planrun_tools::project::Price;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// What comes next of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// What the model thinks goes on with this.
    Reasoning(String),
    /// The text goes on with this; of an answer under a schema, its JSON.
    Text(String),
    /// A fragment of a call of a tool.
    Call {
        /// Which call, from 0, in the order in which they began.
        index: usize,
        id: Option<String>,
        name: Option<String>,
        /// The JSON of the arguments goes on with this.
        arguments: String,
    },
    /// What the server wants to have back as it is with the next request, such as the signature of its reasoning.
    Opaque(Json),
    /// What was used so far: a later one replaces it.
    Usage(Usage),
    /// Why the model has stopped. Usage may still follow.
    Stop(StopReason),
}

/// Tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All that the model has read, those from a cache included.
    pub input: u64,
    /// All that it has written, its reasoning included.
    pub output: u64,
    /// How many of those that it has read came from a cache.
    #[serde(default)]
    pub cached: u64,
}

/// Why a model has stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It has said everything.
    End,
    /// It waits for results of its calls.
    Calls,
    /// The answer is cut at the most tokens that were asked for, or that it can write.
    Length,
    /// The server held something back, or the model refused.
    Refused,
    /// Another reason, in the word of the server.
    Other(String),
}

impl Part {
    /// Whether the model itself wrote it.
    #[must_use]
    pub fn is_token(&self) -> bool {
        match self {
            Self::Reasoning(_) | Self::Text(_) | Self::Call { .. } => true,
            Self::Opaque(_) | Self::Usage(_) | Self::Stop(_) => false,
        }
    }
}

impl Usage {
    /// What it costs, in the currency of the price.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "no request has 2 to the 52 tokens"
    )]
    pub fn cost(&self, price: &Price) -> f64 {
        let cached = self.cached.min(self.input);
        let fresh = (self.input - cached) as f64 * price.input;
        let cached = cached as f64 * price.cached.unwrap_or(price.input);
        (fresh + cached + self.output as f64 * price.output) / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_from_a_cache_have_their_own_price() {
        let usage = Usage {
            input: 1_000_000,
            output: 100_000,
            cached: 600_000,
        };
        let mut price = Price {
            input: 2.0,
            output: 10.0,
            cached: Some(0.5),
        };
        assert!((usage.cost(&price) - (0.8 + 0.3 + 1.0)).abs() < 1e-9);
        price.cached = None;
        assert!((usage.cost(&price) - 3.0).abs() < 1e-9);
    }
}
