//! Runs based on another run: which of its results are copied, and which effects would be repeated.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use planrun_lang::diag::closest;
use planrun_lang::sema::Plan;

use super::pinned::PinnedBase;
use super::{Error, Inputs, Planrun};
use planrun_core::run::{CompletedCall, Copied, Copies, Outcome, Program, RepeatReason};

/// Another run, whose results a new run can copy.
pub struct Base {
    run: String,
    inputs: Inputs,
    /// The paths of secrets in its inputs, by input.
    secrets: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    calls: Vec<CompletedCall>,
    definitions: BTreeMap<String, String>,
}

impl Planrun {
    /// Returns a run on which a new one can be based.
    ///
    /// # Errors
    /// Returns an error if there is no such run, or if its records cannot be used; [`Error::NotEnded`] if it may still
    /// call tools, or undo what it has done.
    pub async fn base(&self, run: &str) -> Result<Base, Error> {
        let recorded = self.recorded(run)?;
        if !recorded.row.ended {
            let (run, state) = (recorded.row.run.clone(), recorded.row.state_name());
            return Err(Error::NotEnded { run, state });
        }
        let loaded = recorded.load()?;
        let run = recorded.row.run.clone();
        let outcome = recorded.outcome().await?;
        Ok(Base::new(
            run,
            loaded.inputs,
            &outcome,
            &loaded.program.plan,
        ))
    }
}

impl Base {
    /// Returns a run of a plan that has ended with this outcome.
    #[must_use]
    pub fn new(run: String, inputs: Inputs, outcome: &Outcome, plan: &Plan) -> Self {
        let parameters = plan.parameters.iter();
        let secrets = parameters.map(|input| (input.name.clone(), input.sensitive.clone()));
        Self {
            run,
            inputs,
            secrets: secrets.collect(),
            calls: outcome.completed_calls(),
            definitions: plan.definitions(),
        }
    }

    /// Returns the results that a resumed run copies, as it was started.
    pub(super) async fn pinned_copies(
        planrun: &Planrun,
        pinned: &PinnedBase,
        program: &Program,
    ) -> Result<Copies, Error> {
        let base = planrun.base(&pinned.run).await.map_err(|error| {
            Error::Unusable(format!(
                "the run reuses results of the run `{}`, which cannot be read: {error}",
                pinned.run
            ))
        })?;
        let (copies, _) = base.copies(program, pinned.from.as_deref())?;
        Ok(Copies {
            repeats_effects: pinned.repeats_effects,
            ..copies
        })
    }

    pub(super) fn run(&self) -> &str {
        &self.run
    }

    /// Returns its inputs, without those with secrets that this plan does not treat as such.
    #[must_use]
    pub fn inputs_for(&self, plan: &Plan) -> Inputs {
        let keeps_secrets = |name: &Arc<str>| {
            let secrets = self
                .secrets
                .get(name)
                .map(Vec::as_slice)
                .unwrap_or_default();
            let own = plan.parameters.iter().find(|input| input.name == *name);
            let own = own
                .map(|input| input.sensitive.as_slice())
                .unwrap_or_default();
            secrets
                .iter()
                .all(|path| own.contains(path) || own.contains(&"".into()))
        };
        let inputs = self.inputs.0.iter().filter(|(name, _)| keeps_secrets(name));
        Inputs(
            inputs
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        )
    }

    /// Returns the results that a new run copies, and the effects that would be repeated.
    ///
    /// # Errors
    /// Returns an error if the plan has no step `from`.
    pub fn copies(
        &self,
        program: &Program,
        from: Option<&str>,
    ) -> Result<(Copies, Vec<String>), Error> {
        let asked = from
            .map(|from| from_on(program, from))
            .transpose()?
            .unwrap_or_default();
        let now = program.plan.definitions();
        let (mut copies, mut repeated) = (
            Copies {
                run: self.run.as_str().into(),
                ..Copies::default()
            },
            Vec::new(),
        );
        for call in &self.calls {
            let name = call.path.split(['.', '[']).next().unwrap_or_default();
            let again = if asked.contains(name) {
                Some(RepeatReason::Asked)
            } else if self
                .definitions
                .get(name)
                .is_none_or(|before| now.get(name) != Some(before))
            {
                Some(RepeatReason::Definition)
            } else {
                None
            };
            if again.is_some() && !call.tool.effect.is_read_only() && now.contains_key(name) {
                repeated.push(format!("{} ({})", call.path, call.tool.path()));
            }
            copies.results.insert(
                call.path.clone(),
                Copied {
                    arguments: call.arguments.clone(),
                    output: call.output.clone(),
                    contract: call.tool.digest(),
                    again,
                },
            );
        }
        Ok((copies, repeated))
    }
}

/// Returns the names of a step and of all statements below it in the text, which include those that depend on it.
fn from_on(program: &Program, from: &str) -> Result<BTreeSet<String>, Error> {
    let nodes = &program.plan.body().nodes;
    let named = |name: &str| {
        nodes
            .iter()
            .position(|node| node.name.as_deref() == Some(name) && node.step().is_some())
    };
    let Some(first) = named(from) else {
        let known: Vec<&str> = nodes
            .iter()
            .filter(|node| node.step().is_some())
            .filter_map(|node| node.name.as_deref())
            .collect();
        let hint = match closest(from, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("its steps are {}", known.join(", ")),
        };
        return Err(Error::UnknownStep {
            plan: program.plan.name.to_string(),
            step: from.to_owned(),
            purpose: "",
            hint,
        });
    };
    let from_there = nodes.iter().skip(first);
    Ok(from_there
        .filter_map(|node| node.name.as_deref().map(str::to_owned))
        .collect())
}
