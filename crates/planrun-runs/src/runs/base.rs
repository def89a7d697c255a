//! Runs based on another run: which of its results are copied, and which effects would be repeated.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use planrun_lang::diag::closest;
use planrun_lang::sema::Plan;

use super::pinned::PinnedBase;
use super::repeated::Repeated;
use super::{Error, ErrorKind, Inputs, Planrun};
use planrun_core::run::{Copied, Copies, Outcome, PastCall, Program, RepeatReason, awaited};

/// Another run, whose results a new run can copy.
pub struct Base {
    run: String,
    inputs: Inputs,
    /// The paths of secrets in its inputs, by input.
    secrets: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    calls: Vec<BaseCall>,
}

/// A call of the run, or of the one that it was based on itself.
struct BaseCall {
    call: PastCall,
    /// The statement of the plan that the call belongs to, as it was then.
    definition: Option<String>,
}

impl Planrun {
    /// Returns a run on which a new one can be based.
    ///
    /// # Errors
    /// Returns an error if there is no such run, or if its records cannot be used; [`Error::NotEnded`] if it may still
    /// call tools, or undo what it has done.
    pub async fn base(&self, run: &str) -> Result<Base, Error> {
        let (mut base, mut earlier) = own_base(self, run).await?;
        // What that run has not come to was done by the one that it was based on.
        while let Some(before) = earlier {
            let older = match own_base(self, &before.run).await {
                Err(error) if error.kind() == ErrorKind::NotFound => break,
                older => older?,
            };
            base.add(older.0);
            earlier = older.1;
        }
        Ok(base)
    }
}

/// Returns a run with its own calls, and how it was based on another one.
async fn own_base(planrun: &Planrun, run: &str) -> Result<(Base, Option<PinnedBase>), Error> {
    let recorded = planrun.recorded(run)?;
    if !recorded.row.ended {
        let (run, state) = (recorded.row.run.clone(), recorded.row.state_name());
        return Err(Error::NotEnded { run, state });
    }
    let loaded = recorded.load()?;
    let run = recorded.row.run.clone();
    let outcome = recorded.outcome().await?;
    let base = Base::new(run, loaded.inputs, &outcome, &loaded.program.plan);
    Ok((base, loaded.base))
}

impl Base {
    /// Returns a run of a plan that has ended with this outcome.
    #[must_use]
    pub fn new(run: String, inputs: Inputs, outcome: &Outcome, plan: &Plan) -> Self {
        let parameters = plan.parameters.iter();
        let secrets = parameters.map(|input| (input.name.clone(), input.sensitive.clone()));
        let definitions = plan.definitions();
        let calls = outcome.past_calls().into_iter().map(|call| BaseCall {
            definition: definitions.get(statement_of(&call.path)).cloned(),
            call,
        });
        Self {
            run,
            inputs,
            secrets: secrets.collect(),
            calls: calls.collect(),
        }
    }

    /// Adds the effects of an older run to which this one, which was based on it, has not come. If it has made effects
    /// itself, they may have been above.
    fn add(&mut self, older: Self) {
        let own = self.calls.iter();
        let own: BTreeSet<Arc<str>> = own.map(|own| own.call.path.clone()).collect();
        let changed = self.calls.iter().any(|own| {
            let call = &own.call;
            !call.tool.effect.is_read_only() && !call.copied
        });
        let effects = older.calls.into_iter().filter(|older| {
            !older.call.tool.effect.is_read_only() && !own.contains(&older.call.path)
        });
        self.calls.extend(effects.map(|mut older| {
            if changed && older.call.again.is_none() {
                older.call.again = Some(RepeatReason::Order);
            }
            older
        }));
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

    #[must_use]
    pub fn run(&self) -> &str {
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

    /// Returns the effects that a run of a plan has to repeat because of what has become of them in this one. None if the
    /// plan changes statements that have made effects: it can leave them as they were.
    #[must_use]
    pub fn forced_repeats(&self, plan: &Arc<Plan>) -> Vec<Repeated> {
        let copies = self.copies(&Program::new(plan.clone()), None);
        let repeated = copies.map(|(_, repeated)| repeated).unwrap_or_default();
        let is_chosen = |one: &Repeated| one.reason == RepeatReason::Definition;
        if repeated.iter().any(is_chosen) {
            return Vec::new();
        }
        repeated
    }

    /// Returns the results that a new run copies, and the effects that would be repeated.
    ///
    /// # Errors
    /// Returns an error if the plan has no step `from`.
    pub fn copies(
        &self,
        program: &Program,
        from: Option<&str>,
    ) -> Result<(Copies, Vec<Repeated>), Error> {
        let asked = from
            .map(|from| from_on(program, from))
            .transpose()?
            .unwrap_or_default();
        let now = program.plan.definitions();
        let again: Vec<Option<RepeatReason>> = self
            .calls
            .iter()
            .map(|call| call.again(&asked, &now))
            .collect();
        let made_again = self.calls.iter().zip(&again).filter(|(call, again)| {
            call.is_effect_in(&now) && again.is_some_and(RepeatReason::replaces)
        });
        let made_again = made_again.map(|(call, _)| call.statement()).collect();
        let below = below(program, &made_again);
        let mut copies = Copies {
            run: self.run.as_str().into(),
            ..Copies::default()
        };
        let mut repeated = Vec::new();
        for (one, again) in self.calls.iter().zip(again) {
            let call = &one.call;
            let reason = match again {
                None if below.contains(one.statement()) => Some(RepeatReason::Order),
                // It is not there any more.
                Some(RepeatReason::Undone) => None,
                other => other,
            };
            if let Some(reason) = reason.filter(|_| one.is_effect_in(&now)) {
                let (path, tool) = (call.path.clone(), call.tool.path());
                repeated.push(Repeated { path, tool, reason });
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

impl BaseCall {
    /// Returns the name of the plan's own statement that the call belongs to.
    fn statement(&self) -> &str {
        statement_of(&self.call.path)
    }

    /// Returns true if it is an effect, and its statement is in a plan with these statements.
    fn is_effect_in(&self, now: &BTreeMap<String, String>) -> bool {
        !self.call.tool.effect.is_read_only() && now.contains_key(self.statement())
    }

    /// Returns why a plan with these statements makes the call again, whatever its arguments are.
    fn again(
        &self,
        asked: &BTreeSet<String>,
        now: &BTreeMap<String, String>,
    ) -> Option<RepeatReason> {
        let is_same =
            self.definition.is_some() && now.get(self.statement()) == self.definition.as_ref();
        match self.call.again {
            Some(RepeatReason::Undone) => Some(RepeatReason::Undone),
            _ if asked.contains(self.statement()) => Some(RepeatReason::Asked),
            _ if !is_same => Some(RepeatReason::Definition),
            again => again,
        }
    }
}

/// Returns the names of the plan's own statements that wait for one of these, because of their place or their data.
fn below<'p>(program: &'p Program, above: &BTreeSet<&str>) -> BTreeSet<&'p str> {
    let (nodes, graph) = (&program.plan.body().nodes, program.graph.blocks.first());
    let is_above = |node: u32| {
        let node = nodes.get(node as usize);
        let name = node.and_then(|node| node.name.as_deref());
        name.is_some_and(|name| above.contains(name))
    };
    let mut below = BTreeSet::new();
    if above.is_empty() {
        return below;
    }
    for (index, node) in (0..).zip(nodes) {
        if let (Some(name), Some(graph)) = (node.name.as_deref(), graph)
            && awaited(graph, index).into_iter().any(is_above)
        {
            below.insert(name);
        }
    }
    below
}

/// Returns the name of the plan's own statement at the beginning of a path.
fn statement_of(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or_default()
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
