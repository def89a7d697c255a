//! The parts of a streamed answer.

use std::time::Duration;

use planrun_tools::project::Price;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Text to append to the reasoning.
    Reasoning(String),
    /// Text to append to the answer; if the answer has a schema, its JSON.
    Text(String),
    /// A fragment of a tool call.
    Call {
        /// Index of the call, from 0, in the order in which calls start.
        index: usize,
        id: Option<String>,
        name: Option<String>,
        /// Text to append to the JSON of the arguments.
        arguments: String,
    },
    /// Data to send back unchanged with the next request, such as the signature of the reasoning.
    Opaque(Json),
    /// The usage so far; replaces an earlier one.
    Usage(Usage),
    /// Why the model has stopped. Usage may still follow.
    Stop(StopReason),
    /// The server could not answer for this reason, and is asked again after this wait.
    Retry { after: Duration, why: String },
}

/// Numbers of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All tokens that the model has read, including cached ones.
    pub input: u64,
    /// All tokens that the model has written, including its reasoning.
    pub output: u64,
    /// Number of read tokens that came from a cache.
    #[serde(default)]
    pub cached: u64,
}

/// Why a model has stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The answer is complete.
    End,
    /// The model waits for the results of its calls.
    Calls,
    /// The answer was cut off at the requested maximum number of tokens, or at that of the model.
    Length,
    /// The server withheld content, or the model refused.
    Refused,
    /// Another reason, in the server's vocabulary.
    Other(String),
}

impl Part {
    /// Returns true if the part is output of the model itself.
    pub fn is_token(&self) -> bool {
        match self {
            Self::Reasoning(_) | Self::Text(_) | Self::Call { .. } => true,
            Self::Opaque(_) | Self::Usage(_) | Self::Stop(_) | Self::Retry { .. } => false,
        }
    }

    /// Returns true if the part belongs to the answer, so that another answer cannot follow it. Usage does not: that of
    /// a later attempt replaces it.
    pub fn is_of_answer(&self) -> bool {
        match self {
            Self::Reasoning(_)
            | Self::Text(_)
            | Self::Call { .. }
            | Self::Opaque(_)
            | Self::Stop(_) => true,
            Self::Usage(_) | Self::Retry { .. } => false,
        }
    }
}

impl Usage {
    /// Returns the cost, in the currency of the price.
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
