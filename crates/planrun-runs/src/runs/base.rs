//! Runs based on another run: which of its results are copied, and which effects would be repeated.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use planrun_lang::diag::closest;
use planrun_lang::protocol::StepState;
use planrun_lang::sema::Plan;
use planrun_lang::types::{Effect, Signature};

use super::pinned::PinnedBase;
use super::{Error, Inputs, Planrun};
use planrun_core::run::{Copied, Copies, Program, RepeatReason, StepReport};

/// Another run, whose results a new run can copy.
pub struct Base {
    run: String,
    inputs: Inputs,
    steps: Vec<StepReport>,
    /// The tools of its plan, and of those that it calls, by their dotted names.
    tools: BTreeMap<String, Arc<Signature>>,
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
            let (run, state) = (recorded.row.run.clone(), recorded.row.info.state.clone());
            return Err(Error::NotEnded { run, state });
        }
        let loaded = recorded.load()?;
        let tools = called(&loaded.program.plan);
        let (run, definitions) = (recorded.row.run.clone(), loaded.program.plan.definitions());
        let steps = recorded.outcome().await?.steps();
        Ok(Base {
            run,
            inputs: loaded.inputs,
            steps,
            tools,
            definitions,
        })
    }
}

impl Base {
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

    /// Returns its inputs.
    #[must_use]
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// Returns the results that a new run copies, and the effects that would be repeated.
    ///
    /// # Errors
    /// Returns an error if the plan has no step `from`.
    pub(super) fn copies(
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
        let undone = self.undone();
        for step in self.steps.iter().filter(|step| is_kept(step, &undone)) {
            let Some((contract, effect)) =
                step.tool.as_deref().and_then(|tool| self.contract(tool))
            else {
                continue;
            };
            let name = step.path.split(['.', '[']).next().unwrap_or_default();
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
            if again.is_some() && !effect.is_read_only() && now.contains_key(name) {
                repeated.push(format!(
                    "{} ({})",
                    step.path,
                    step.tool.as_deref().unwrap_or_default()
                ));
            }
            let (arguments, output) = (step.arguments.clone(), step.output.clone());
            copies.results.insert(
                step.path.clone(),
                Copied {
                    arguments,
                    output,
                    contract,
                    again,
                },
            );
        }
        Ok((copies, repeated))
    }

    /// Returns the paths of the steps whose undo was at least begun.
    fn undone(&self) -> BTreeSet<&str> {
        let undone = self.steps.iter().filter(|step| is_undone(step));
        undone.map(|step| &*step.path).collect()
    }

    /// Returns the hash of the contract of a tool that the run has called, and its effect.
    fn contract(&self, tool: &str) -> Option<(String, Effect)> {
        self.tools
            .get(tool)
            .map(|signature| (signature.digest(), signature.effect))
    }
}

fn called(plan: &Plan) -> BTreeMap<String, Arc<Signature>> {
    let plans = plan.with_called().into_iter();
    let tools = plans.flat_map(Plan::tool_calls);
    tools
        .map(|signature| (signature.path(), signature.clone()))
        .collect()
}

/// Returns true if the undo of a step was at least begun.
fn is_undone(step: &StepReport) -> bool {
    let mut attributes = step.attributes.iter();
    attributes.any(|known| ["undone", "undo_failed"].contains(known))
}

/// Returns true if a step has a result of its own that is still valid: neither it nor a step around it is `undone`.
/// Steps of `verify` and `undo` blocks belong to their run only.
fn is_kept(step: &StepReport, undone: &BTreeSet<&str>) -> bool {
    let path = &*step.path;
    let ends = path.match_indices(['.', '[']).map(|(at, _)| at);
    step.status == StepState::Completed
        && step.effect.is_some()
        && !step.attributes.contains(&"recovered")
        && !ends
            .chain([path.len()])
            .any(|end| undone.contains(&path[..end]))
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
