//! Compares the contracts of a plan's tools with what their servers offer, before a run begins.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use planrun_lang::diag::render::{FileReport, command};
use planrun_lang::diag::{Diagnostic, codes};
use planrun_lang::sema::{Call, Plan, Step};
use planrun_lang::source::Span;
use planrun_lang::types::Signature;
use planrun_tools::contract::Lock;
use planrun_tools::host::Pins;
use planrun_tools::tools::{Catalog, Compared};

use super::{CheckedPlan, Error};

/// Returns why the model of a prompt cannot answer. If the name of the model is computed, that is only known in the run.
pub(super) fn refusal(
    prompt: &Call,
    of_model: impl FnOnce(Option<&str>) -> Option<String>,
) -> Option<String> {
    match prompt.argument("model") {
        None => of_model(None),
        Some(code) => of_model(code.constant()?.as_str()),
    }
}

impl CheckedPlan {
    /// Returns the files that were read for the project and its plans. The lock file is reduced to what the plan relies
    /// on.
    pub(super) fn pins(&self) -> Pins {
        let mut pins = self.workspace.pins();
        let path = self.workspace.location.folder.join(Lock::FILE);
        if let Some(lock) = pins.files.get_mut(&path) {
            let plans = self.plan.with_called().into_iter();
            let used: BTreeSet<String> = plans
                .flat_map(Plan::tool_calls)
                .map(|signature| signature.path())
                .collect();
            *lock = self.workspace.project.lock.only(&used).text();
        }
        pins
    }

    /// Checks that there is a model for each prompt, as far as that is known from the project itself.
    fn prompts_have_answers(&self, tools: &Catalog) -> Result<(), Error> {
        let (mut found, mut reported) = (Vec::new(), BTreeSet::new());
        for plan in self.plan.with_called() {
            let is_here = plan.source.name() == self.source.name();
            let calls = plan.steps().filter_map(Step::call);
            for (call, signature) in calls.filter_map(|call| Some((call, call.tool()?))) {
                let why = refusal(call, |model| tools.refuses_prompt(signature, model));
                if let Some(why) = why {
                    let span = if is_here { call.span } else { self.plan.span };
                    let message = format!("`{}` cannot be answered: {why}", signature.written());
                    let code = &codes::contracts::UNIMPLEMENTED_TOOL;
                    // An agent is asked to verify only one of several steps; that it is unavailable is reported once.
                    if reported.insert((span, message.clone())) {
                        found.push(Diagnostic::new(code, span, message));
                    }
                }
            }
        }
        if found.is_empty() {
            return Ok(());
        }
        let report = FileReport::new(self.source.clone(), found);
        Err(Error::Obstacles(Box::new(report)))
    }

    /// Asks the servers of the plan whether the contracts of the tools that it calls are still those that the plan was
    /// checked against. A run that is started afterwards uses the same connections, and is not started if it needs a
    /// server first that cannot be used. Returns the servers that have not answered in time: their contracts are
    /// compared when they are called.
    ///
    /// # Errors
    /// [`Error::Obstacles`] with a `contract-broken` for each tool whose contract has changed, or an
    /// `unimplemented-tool` for each prompt that no model answers.
    pub async fn verify_contracts(&self) -> Result<BTreeSet<Arc<str>>, Error> {
        let tools = self.prefetch.tools(&self.workspace);
        let mut calls: BTreeMap<String, (&Arc<Signature>, Span)> = BTreeMap::new();
        for plan in self.plan.with_called() {
            let is_here = plan.source.name() == self.source.name();
            let called = plan.steps().filter_map(Step::call);
            for (call, signature) in called.filter_map(|call| Some((call, call.tool()?))) {
                let span = if is_here { call.span } else { self.plan.span };
                calls.entry(signature.path()).or_insert((signature, span));
            }
        }
        self.prompts_have_answers(&tools)?;
        let Compared {
            broken,
            late,
            unavailable,
        } = tools
            .compare_contracts(calls.values().map(|(signature, _)| *signature))
            .await;
        self.prefetch.compared(unavailable);
        if broken.is_empty() {
            return Ok(late);
        }
        tools.close().await;
        let finding = |(path, why): (String, String)| {
            let span = calls.get(&path).map_or(self.plan.span, |(_, span)| *span);
            let message =
                format!("the contract of `{path}` has changed since it was pinned: {why}");
            Diagnostic::new(&codes::contracts::CONTRACT_BROKEN, span, message).help(format!(
                "see what has changed with `{}`, and pin what the server offers now with `{}`",
                command("tools diff"),
                command("tools lock")
            ))
        };
        let found = broken.into_iter().map(finding).collect();
        Err(Error::Obstacles(Box::new(FileReport::new(
            self.source.clone(),
            found,
        ))))
    }
}
