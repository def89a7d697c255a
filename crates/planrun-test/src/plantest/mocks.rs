//! The answers of the `mock`s of a test: mocks with arguments take precedence over mocks of every call of a tool, and
//! those over `_`.

use std::sync::Arc;

use parking_lot::Mutex;
use planrun_lang::protocol::Sent;
use planrun_lang::sema::expr::CheckedExpr;
use planrun_lang::sema::test::{Mock, MockReaction, Reaction as Written, Test};
use planrun_lang::types::{ErrorClass, Fit, Signature, Validation, encode, fit, without_absent};
use planrun_lang::value::Value;
use serde_json::Value as Json;

use super::fractions::with_fractions;
use super::generated::ResultGenerator;
use super::play::RunOptions;
use super::slots::Slots;
use super::world::{Call, MockFault, Reaction, Response, Source, failure, is_system};
use planrun_lang::call::{Answer, CallError, CallOutcome};

/// Selects mocks of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// Mocks that name a tool.
    Named,
    /// `_`, the fallback.
    Rest,
}

/// The mocks of one test, in one run.
pub struct Mocks {
    test: Arc<Test>,
    /// Indices of the mocks in order of precedence.
    order: Vec<usize>,
    /// Number of calls that each mock has answered.
    used: Mutex<Vec<u32>>,
    results: Arc<ResultGenerator>,
    /// The seed of generated results.
    seed: u64,
    /// The edge case of the contract that generated results take.
    edge: Option<u64>,
}

impl Mocks {
    #[must_use]
    pub fn new(
        test: &Arc<Test>,
        which: Which,
        results: &Arc<ResultGenerator>,
        options: RunOptions,
    ) -> Self {
        let is_selected =
            |index: &usize| test.mocks[*index].signature.is_some() == (which == Which::Named);
        let mut order: Vec<usize> = (0..test.mocks.len()).filter(is_selected).collect();
        order.sort_by_key(|index| test.mocks[*index].arguments.is_empty());
        Self {
            test: test.clone(),
            order,
            used: Mutex::new(vec![0; test.mocks.len()]),
            results: results.clone(),
            seed: options.seed,
            edge: options.edge,
        }
    }

    fn react(&self, mock: &Mock, reaction: &MockReaction, call: &Call<'_>) -> Response {
        let mut fault = None;
        let reacts = match &reaction.reaction {
            Written::Value(code) => {
                let value = Self::value(mock, code, call);
                fault = value.as_ref().err().map(|error| MockFault {
                    span: reaction.span,
                    why: error.message.clone(),
                });
                Reaction::Answer(value)
            }
            Written::Generated => Reaction::Answer(self.results.answer(call, self.seed, self.edge)),
            Written::Fail {
                class,
                message,
                details,
            } => {
                let value =
                    |code: &Option<CheckedExpr>| Slots::none().evaluate(code.as_ref()?).ok();
                let message = value(message).and_then(|text| text.as_str().map(str::to_owned));
                let error = failure(class.clone(), message, &call.request.signature);
                let details = value(details).map_or(Json::Null, |details| details.to_json());
                Reaction::Answer(Err(error.with_details(&details)))
            }
            Written::Crash { after } => Reaction::Crash { after: *after },
        };
        Response {
            reaction: reacts,
            delay: reaction.delay,
            fault,
        }
    }

    /// Evaluates an expression over the arguments of a call.
    fn value(mock: &Mock, code: &CheckedExpr, call: &Call<'_>) -> CallOutcome {
        let parameters = mock
            .signature
            .as_ref()
            .map(|signature| signature.parameters.as_slice())
            .unwrap_or_default();
        let argument = |name: &str| {
            Ok(call
                .request
                .arguments
                .get(name)
                .cloned()
                .unwrap_or(Value::Null))
        };
        let slots = Slots::new(
            parameters
                .iter()
                .map(|parameter| argument(&parameter.name))
                .collect(),
        );
        slots
            .evaluate(code)
            .map(|value| answered(&call.request.signature, value))
            .map_err(|error| {
                let message = format!(
                    "cannot evaluate the mock of `{}`: {error}",
                    call.request.signature.path()
                );
                let class = ErrorClass::Validation(Validation::Result);
                CallError::new(class, message, Sent::Answered)
            })
    }
}

/// Returns the value of a mock in the form of a real answer: as JSON, which the contract then checks. Tools that
/// return a value unchanged have no contract.
fn answered(signature: &Signature, value: Value) -> Answer {
    if signature.returned_argument.is_some() {
        return Answer::Value(value);
    }
    let value = with_fractions(&value, &signature.returns);
    Answer::Json(encode(&value, &signature.returns))
}

impl Source for Mocks {
    fn answer(&self, call: &Call<'_>) -> Option<Response> {
        let mut used = self.used.lock();
        for index in &self.order {
            let mock = &self.test.mocks[*index];
            if !is_for(mock, call) {
                continue;
            }
            let signature = &call.request.signature;
            let reaction = next(mock, used[*index]);
            let Some(reaction) = reaction.filter(|reaction| fits(mock, reaction, signature)) else {
                continue;
            };
            used[*index] += 1;
            return Some(self.react(mock, reaction, call));
        }
        None
    }

    /// `_` does not count for tools that verify whether a step happened: its answer would not be evidence.
    fn knows(&self, signature: &Signature) -> bool {
        let mut mocks = self.order.iter().map(|index| &self.test.mocks[*index]);
        mocks.any(|mock| {
            let same = mock.signature.as_ref();
            let same = same.is_some_and(|known| is_same(known, signature));
            same && mock
                .reactions
                .iter()
                .any(|reaction| fits(mock, reaction, signature))
        })
    }
}

/// Returns true if a reaction of a mock may be the outcome of a call with this signature. The calls of one model or
/// agent expect results of different types, and a mock of it may have any of them.
fn fits(mock: &Mock, reaction: &MockReaction, signature: &Signature) -> bool {
    let own = mock.signature.as_ref().map(|own| &own.returns);
    match &reaction.reaction {
        Written::Value(code) => {
            let expected = &signature.returns;
            own == Some(expected) || !matches!(fit(&code.ty, expected), Fit::Cannot(_))
        }
        Written::Generated | Written::Fail { .. } | Written::Crash { .. } => true,
    }
}

fn is_for(mock: &Mock, call: &Call<'_>) -> bool {
    let signature = &call.request.signature;
    let same = mock
        .signature
        .as_ref()
        .map_or_else(|| !is_system(signature), |known| is_same(known, signature));
    // A null that is left out of a call at any depth is not part of its arguments either.
    let sent = |name: &str, value: &Value| match signature.parameter(name) {
        Some(parameter) => without_absent(value, &parameter.ty),
        None => value.clone(),
    };
    let argument = |name: &str| call.request.arguments.get(name).unwrap_or(&Value::Null);
    let equal = |(name, expected): &(Arc<str>, CheckedExpr)| {
        let expected = Slots::none().evaluate(expected);
        expected.is_ok_and(|expected| sent(name, &expected) == *argument(name))
    };
    same && mock.arguments.iter().all(equal)
}

fn is_same(one: &Signature, other: &Signature) -> bool {
    one.namespace == other.namespace && one.name == other.name
}

/// Returns the reaction of a mock that has already answered `used` calls; `None` if it answers no more.
fn next(mock: &Mock, used: u32) -> Option<&MockReaction> {
    let mut before = 0_u32;
    mock.reactions.iter().find(|reaction| match reaction.times {
        None => true,
        Some(times) => {
            before = before.saturating_add(times);
            used < before
        }
    })
}
