//! What must not be shown of a run: the values that stood at labelled places, wherever they turn up again.

use std::sync::Arc;

use planrun_lang::secrets::at_path;
use planrun_lang::sema::{Call, Step, StepKind, Target};
use planrun_lang::types::{sensitive_arguments, sensitive_result};
use planrun_lang::value::Value;

use super::machine::{NodeRef, Run};
use crate::journal::{Waiting, labelled};

/// Words before a credential in a header.
const SCHEMES: [&str; 4] = ["basic", "bearer", "digest", "token"];

/// The labelled places in the value of a step; the empty path is all of it.
pub(super) fn in_output(step: &Step) -> Vec<Arc<str>> {
    if let StepKind::Call(Call {
        target: Target::Tool(signature),
        ..
    }) = &step.kind
    {
        return sensitive_result(signature);
    }
    let StepKind::Input(input) = &step.kind else {
        return Vec::new();
    };
    let of_field = |field: &planrun_lang::sema::InputField| {
        let name = field.name.clone();
        field
            .sensitive
            .iter()
            .map(move |path| labelled(&name, path))
            .collect::<Vec<_>>()
    };
    input.fields.iter().flat_map(of_field).collect()
}

/// The labelled places in what a step takes; of a form, in the fields that have a value already.
pub(super) fn in_arguments(step: &Step, arguments: &Value) -> Vec<Arc<str>> {
    if let StepKind::Call(Call {
        target: Target::Tool(signature),
        ..
    }) = &step.kind
    {
        return sensitive_arguments(signature, arguments);
    }
    in_output(step)
}

/// Places in a field of an event.
pub(super) fn below(field: &str, paths: &[Arc<str>]) -> Vec<Arc<str>> {
    paths.iter().map(|path| labelled(field, path)).collect()
}

impl Run {
    /// What stands at these places is not shown from now on, wherever it stands.
    pub(super) fn note_secrets(&mut self, value: &Value, paths: &[Arc<str>]) {
        let redactor = &mut self.redactor;
        for path in paths {
            at_path(value, path, &mut |secret| {
                let header = secret.as_str().and_then(|text| text.split_once(' '));
                if let Some((_, rest)) =
                    header.filter(|(scheme, _)| SCHEMES.contains(&&*scheme.to_ascii_lowercase()))
                {
                    redactor.add(rest);
                }
                redactor.add_value(secret);
            });
        }
    }

    /// The labelled places in the answer to a question of this kind about a step.
    pub(super) fn in_answer(&self, at: NodeRef, kind: Waiting) -> Vec<Arc<str>> {
        let program = self.program(at.0);
        let Some(step) = self.node(&program, at).step() else {
            return Vec::new();
        };
        match kind {
            Waiting::Input => in_output(step),
            // What became of a call is told with the value that it gave.
            Waiting::Answer => in_output(step)
                .iter()
                .map(|path| labelled("value", path))
                .collect(),
            Waiting::Confirm
            | Waiting::Peer
            | Waiting::Retry
            | Waiting::Poll
            | Waiting::Outcome
            | Waiting::Time => Vec::new(),
        }
    }

    /// The labelled places in what a step takes.
    pub(super) fn in_arguments_of(&self, at: NodeRef, arguments: &Value) -> Vec<Arc<str>> {
        let program = self.program(at.0);
        self.node(&program, at)
            .step()
            .map(|step| in_arguments(step, arguments))
            .unwrap_or_default()
    }
}
