//! Generated results for calls that only runs with a fault make: those of `recover` arms, of `undo`, and of other paths
//! that the test itself never takes, and whose tools it has no reason to mock.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use planrun_lang::syntax::canonical_name;
use planrun_lang::types::{Signature, Type};

use super::super::generated::ResultGenerator;
use super::super::world::{Call, Response, Source, is_system};

/// The last source of a run with a fault.
pub(super) struct Fallback {
    pub results: Arc<ResultGenerator>,
    /// The mocks that a test needs for the same answers.
    pub mocks: Arc<Mutex<BTreeSet<String>>>,
}

impl Source for Fallback {
    /// Nothing is generated for a tool without a result type: almost any expression fails for an arbitrary value.
    fn answer(&self, call: &Call<'_>) -> Option<Response> {
        let signature = &call.request.signature;
        if is_system(signature) || signature.returns == Type::Any {
            return None;
        }
        let answer = self.results.answer(call, 0, None).ok()?;
        let (namespace, name) = (&signature.namespace, &signature.name);
        let (namespace, name) = (canonical_name(namespace), canonical_name(name));
        self.mocks
            .lock()
            .insert(format!("mock {namespace}.{name} => generated"));
        Some(Response::now(Ok(answer)))
    }

    /// A generated answer is no evidence that a step has happened.
    fn knows(&self, _: &Signature) -> bool {
        false
    }
}
