//! What the `mock`s of a test answer: those for certain arguments first, then those for every call of a tool, then `_`.

use std::sync::{Arc, Mutex, PoisonError};

use planrun_lang::protocol::Sent;
use planrun_lang::sema::expr::Code;
use planrun_lang::sema::test::{Mock, MockReaction, Reaction as Written, Test};
use planrun_lang::types::{ErrorClass, Signature, Validation, encode};
use planrun_lang::value::Value;
use serde_json::Value as Json;

use super::generated::MadeUp;
use super::play::RunOptions;
use super::slots::Slots;
use super::world::{Call, Reaction, Response, Source, failure, is_system};
use planrun_lang::call::{Answer, CallError, CallOutcome};

/// Which of the mocks of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// Those that name a tool.
    Named,
    /// `_`.
    Rest,
}

/// Mocks of one test, in one run.
pub struct Mocks {
    test: Arc<Test>,
    /// The order in which they are asked.
    order: Vec<usize>,
    /// How many calls each has answered.
    used: Mutex<Vec<u32>>,
    made_up: Arc<MadeUp>,
    /// Chance of what is made up.
    seed: u64,
    /// The edge of the contract at which it is made up.
    edge: Option<u64>,
}

impl Mocks {
    #[must_use]
    pub fn new(test: &Arc<Test>, which: Which, made_up: &Arc<MadeUp>, options: RunOptions) -> Self {
        let is_meant =
            |index: &usize| test.mocks[*index].signature.is_some() == (which == Which::Named);
        let mut order: Vec<usize> = (0..test.mocks.len()).filter(is_meant).collect();
        order.sort_by_key(|index| test.mocks[*index].arguments.is_empty());
        Self {
            test: test.clone(),
            order,
            used: Mutex::new(vec![0; test.mocks.len()]),
            made_up: made_up.clone(),
            seed: options.seed,
            edge: options.edge,
        }
    }

    fn react(&self, mock: &Mock, reaction: &MockReaction, call: &Call<'_>) -> Response {
        let reacts = match &reaction.reaction {
            Written::Value(code) => Reaction::Answer(Self::value(mock, code, call)),
            Written::Generated => Reaction::Answer(self.made_up.answer(call, self.seed, self.edge)),
            Written::Fail {
                class,
                message,
                details,
            } => {
                let value = |code: &Option<Code>| Slots::none().evaluate(code.as_ref()?).ok();
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
        }
    }

    /// The value of an expression over the arguments of a call.
    fn value(mock: &Mock, code: &Code, call: &Call<'_>) -> CallOutcome {
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
                    "the mock of `{}` has no value: {error}",
                    call.request.signature.path()
                );
                let class = ErrorClass::Validation(Validation::Result);
                CallError::new(class, message, Sent::Answered)
            })
    }
}

/// What a mock gives comes as a real answer would: as JSON, read by the contract. What hands a value back as it is has
/// no contract of its own.
fn answered(signature: &Signature, value: Value) -> Answer {
    match signature.gives_back {
        Some(_) => Answer::Value(value),
        None => Answer::Json(encode(&value, &signature.returns)),
    }
}

impl Source for Mocks {
    fn answer(&self, call: &Call<'_>) -> Option<Response> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        for index in &self.order {
            let mock = &self.test.mocks[*index];
            if !is_for(mock, call) {
                continue;
            }
            let Some(reaction) = next(mock, used[*index]) else {
                continue;
            };
            used[*index] += 1;
            return Some(self.react(mock, reaction, call));
        }
        None
    }

    /// Whatever `_` answers, it is no answer to what looks whether a step happened: nobody said that it did.
    fn knows(&self, signature: &Signature) -> bool {
        let mut mocks = self.order.iter().map(|index| &self.test.mocks[*index]);
        mocks.any(|mock| {
            mock.signature
                .as_ref()
                .is_some_and(|known| is_same(known, signature))
        })
    }
}

fn is_for(mock: &Mock, call: &Call<'_>) -> bool {
    let signature = &call.request.signature;
    let same = mock
        .signature
        .as_ref()
        .map_or_else(|| !is_system(signature), |known| is_same(known, signature));
    let argument = |name: &str| call.request.arguments.get(name).unwrap_or(&Value::Null);
    let equal = |(name, wanted): &(Arc<str>, Code)| {
        Slots::none()
            .evaluate(wanted)
            .is_ok_and(|wanted| wanted == *argument(name))
    };
    same && mock.arguments.iter().all(equal)
}

fn is_same(one: &Signature, other: &Signature) -> bool {
    one.namespace == other.namespace && one.name == other.name
}

/// The outcome of a mock that has answered so many calls; nothing where it answers no more.
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
