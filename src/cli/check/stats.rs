//! `--stats`: reports how much was checked, and how much of it is known before the run.

use std::collections::BTreeMap;
use std::time::Duration;

use planrun_lang::diag::Severity;
use planrun_lang::diag::render::Report;
use planrun_lang::sema::{CheckedFile, NodeKind, StepKind, Target};
use planrun_lang::types::Type;
use planrun_lang::value::counted;

/// The contents of plan files, as numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    bytes: usize,
    plans: usize,
    steps: usize,
    calls: usize,
    /// Calls whose result type is unknown before the run.
    unknown: usize,
    /// Calls whose arguments can only be checked against the contract during the run.
    open: usize,
    /// Values whose type can only be checked during the run.
    unsure: usize,
}

impl Counts {
    /// Counts the contents of one file.
    pub(super) fn of(checked: &CheckedFile, bytes: usize) -> Self {
        let mut counts = Self {
            bytes,
            plans: checked.plans.len(),
            ..Self::default()
        };
        for node in checked.plans.iter().flat_map(|plan| plan.nodes()) {
            node.codes(&mut |code| {
                counts.unsure += usize::from(code.into.as_ref().is_some_and(|place| !place.sure));
            });
            let NodeKind::Step(step) = &node.kind else {
                continue;
            };
            counts.steps += 1;
            if let StepKind::Call(call) = &step.kind {
                counts.calls += 1;
                let unknown = matches!(&call.target, Target::Tool(signature) if signature.returns == Type::Any);
                counts.unknown += usize::from(unknown);
                counts.open += usize::from(call.checked_at_run);
            }
        }
        counts
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.plans += other.plans;
        self.steps += other.steps;
        self.calls += other.calls;
        self.unknown += other.unknown;
        self.open += other.open;
        self.unsure += other.unsure;
    }
}

/// Formats one line for each count, and for each reported code, most frequent first. `phases` are names of phases and
/// how long each took.
pub(super) fn stats(counts: &Counts, report: &Report, phases: &[(&str, Duration)]) -> String {
    let files = format!("{} ({})", report.plan_files, counted(counts.bytes, "byte"));
    let calls = format!(
        "{} ({} with a known result type, {} without)",
        counts.calls,
        counts.calls - counts.unknown,
        counts.unknown
    );
    let (open, unsure) = (counts.open, counted(counts.unsure, "value"));
    let contracts = if open == 1 { "contract" } else { "contracts" };
    let left = format!("{open} {contracts} of calls, {unsure}");
    let rows = [
        ("files", files),
        ("plans", counts.plans.to_string()),
        ("steps", counts.steps.to_string()),
        ("calls", calls),
        ("checked at run time", left),
    ];
    let mut lines: Vec<String> = rows
        .iter()
        .map(|(what, text)| format!("{what}: {text}"))
        .collect();
    let mut codes: BTreeMap<&str, (Severity, usize)> = BTreeMap::new();
    for found in report.files.iter().flat_map(|file| &file.diagnostics) {
        codes
            .entry(found.code.name)
            .or_insert((found.severity, 0))
            .1 += 1;
    }
    let mut codes: Vec<_> = codes.into_iter().collect();
    codes.sort_by_key(|(_, (_, count))| std::cmp::Reverse(*count));
    lines.extend(
        codes
            .iter()
            .map(|(code, (severity, count))| format!("{severity}[{code}]: {count}")),
    );
    lines.extend(
        phases
            .iter()
            .map(|(what, took)| format!("time to {what}: {:.1} ms", took.as_secs_f64() * 1000.0)),
    );
    lines.join("\n") + "\n"
}
