//! The arguments of the commands that speak with tools: `eval`, `mock`, `run`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use planrun_lang::diag::render::Language;
use planrun_lang::protocol::run_id_fault;

use planrun_runs::runs::split_answer;

const EVAL_EXAMPLES: &str = "\
Examples:
  planrun eval 'size(\"欢迎\") + 1'
  planrun eval 'order.items.map(i, i.price)' --bindings order.json
  planrun eval '1 + 1u' --typed";

const MOCK_EXAMPLES: &str = "\
Examples:
  planrun mock --apps apps
  planrun mock --openapi shop=shop.yaml --bind 127.0.0.1:0
  planrun mock --apps apps --failures grant_access=3 --log calls.jsonl
  planrun mock model --script answers.yaml";

const MOCK_MODEL_EXAMPLES: &str = "\
Examples:
  planrun mock model --script answers.yaml
  planrun mock model --script answers.yaml --bind 127.0.0.1:0 --log requests.jsonl

A script of two turns, the second one for what a tool gave:
  turns:
    - calls: [{ name: weather, arguments: { city: Oslo } }]
    - when: { tool: degrees }
      text: It is cold in Oslo.";

const RUN_EXAMPLES: &str = "\
Examples:
  planrun run onboarding.plan -i name='Will Zhang' -i department=engineering
  planrun run onboarding.plan --input input.json --format json
  planrun run onboarding.plan --mock        app tools answer from their `mock:` sections
  planrun run --resume 0193a1f2             go on with a run that was interrupted
  planrun run onboarding.plan --base 0193a1f2 --from badge    a new run that begins at a step";

/// Evaluate one expression.
#[derive(Debug, Args)]
#[command(after_help = EVAL_EXAMPLES)]
pub struct EvalArguments {
    /// The expression.
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    pub expression: String,
    /// A JSON object of names and values that the expression may read.
    #[arg(long, value_name = "FILE")]
    pub bindings: Option<PathBuf>,
    /// Typed JSON in and out: {"type": T, "value": V}.
    #[arg(long)]
    pub typed: bool,
}

/// Answer the calls of app tools in place of the real systems, or the requests of a model in its place.
#[derive(Debug, Args)]
#[command(
    after_help = MOCK_EXAMPLES,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub struct MockArguments {
    #[command(subcommand)]
    pub kind: Option<MockKind>,
    /// The folder of app files.
    #[arg(long, value_name = "DIR", required_unless_present = "openapi")]
    pub apps: Option<PathBuf>,
    /// Serve the operations of an OpenAPI document below `/NAME`. May be repeated.
    #[arg(long, value_name = "NAME=FILE", value_parser = key_value)]
    pub openapi: Vec<(String, String)>,
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8009")]
    pub bind: std::net::SocketAddr,
    /// Append each call to this file, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Decides the data that is made up where an app file gives none.
    #[arg(long, value_name = "N", default_value = "0")]
    pub seed: u64,
    /// Let the first N calls of a tool fail. May be repeated.
    #[arg(long, value_name = "TOOL=N", value_delimiter = ',', value_parser = failures)]
    pub failures: Vec<(String, u64)>,
}

/// What `planrun mock` stands in for beside tools.
#[derive(Debug, clap::Subcommand)]
pub enum MockKind {
    Model(MockModelArguments),
}

/// Answer the requests of a model as a script says, as chat completions, responses or messages.
#[derive(Debug, Args)]
#[command(after_help = MOCK_MODEL_EXAMPLES)]
pub struct MockModelArguments {
    /// What is answered, turn by turn.
    #[arg(long, value_name = "FILE")]
    pub script: PathBuf,
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8010")]
    pub bind: std::net::SocketAddr,
    /// Append each request to this file, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
}

/// Check a plan, then run it.
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct RunArguments {
    /// The plan file; `-` is standard input.
    #[arg(value_name = "PLAN", required_unless_present = "resume")]
    pub file: Option<PathBuf>,
    /// Which plan of the file, where it has several.
    #[arg(long, value_name = "NAME")]
    pub plan: Option<String>,
    /// One input, read by its declared type. May be repeated.
    #[arg(short = 'i', value_name = "KEY=VALUE", value_parser = key_value)]
    pub inputs: Vec<(String, String)>,
    /// All inputs as a JSON object; `-` is standard input.
    #[arg(long, value_name = "FILE|-")]
    pub input: Option<PathBuf>,
    /// The run's identifier: it decides idempotency keys and jitter. A run of this id with the same plan and inputs is
    /// gone on with, or its end is told.
    #[arg(long, value_name = "ID", value_parser = run_id)]
    pub run_id: Option<String>,
    /// Go on with a run of the journal, named by its id or the beginning of it.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["inputs", "input", "run_id", "mock", "max_steps", "strict", "no_journal", "plan"])]
    pub resume: Option<String>,
    /// Take over from another run what need not be done again: every call whose statement, arguments and contract are the
    /// same. Inputs that are not given are those of that run.
    #[arg(long, value_name = "RUN", conflicts_with = "resume")]
    pub base: Option<String>,
    /// Do this step again, and all that comes after it.
    #[arg(long, value_name = "STEP", requires = "base")]
    pub from: Option<String>,
    /// Do again what changes something, too.
    #[arg(long, requires = "base")]
    pub yes: bool,
    /// Write what the tools answer to this file, from which a test can answer instead of them.
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub record: Option<PathBuf>,
    /// Write nothing down: the run ends with its process.
    #[arg(long)]
    pub no_journal: bool,
    /// Answer app tools from their `mock:` sections, over loopback.
    #[arg(long)]
    pub mock: bool,
    /// The answer to a gate (`STEP.confirm=true`) or a form (`STEP={"field": 1}`). May be repeated.
    #[arg(long = "answer", value_name = "STEP=JSON", value_parser = split_answer)]
    pub answers: Vec<(String, String)>,
    /// The role in which `--answer` answers, such as desk or desk:ann.
    #[arg(long, value_name = "ROLE", requires = "answers")]
    pub by: Option<String>,
    /// Execute no more than this many steps.
    #[arg(long, value_name = "N")]
    pub max_steps: Option<u64>,
    /// Take no value of a `recover` arm in the place of a result: what reads it is skipped.
    #[arg(long)]
    pub strict: bool,
    /// Do nothing: tell what would be done, as far as it is known.
    #[arg(long, conflicts_with_all = ["resume", "answers"])]
    pub dry_run: bool,
    /// Run this step of the plan and what it needs, and pause the run there.
    #[arg(long, value_name = "STEP")]
    pub until: Option<String>,
    /// What is printed of a completed run.
    #[arg(long, value_name = "WHAT", default_value = "reply")]
    pub output: RunOutput,
    /// The language of observations, summaries and questions; else that of `planrun.yaml`, else English.
    #[arg(long, value_name = "LANGUAGE", value_parser = language())]
    pub language: Option<Language>,
    /// How it is printed.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: RunFormat,
}

/// What is printed of a completed run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum RunOutput {
    /// What the plan replies.
    Reply,
    /// What the last step gave, where that is an object; else everything.
    Last,
    /// Everything: a row for each step, and one about the run.
    Full,
    /// A line for each call that was made or refused.
    Observations,
    /// What the plan replies; where that says nothing, the observations.
    Summary,
}

/// A language by its word; any other word is refused with the list of them.
pub(super) fn language() -> impl TypedValueParser<Value = Language> {
    let words = Language::WORDS.map(|(word, _)| word);
    PossibleValuesParser::new(words).try_map(|word| Language::find(&word).ok_or("no language"))
}

/// How a run is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum RunFormat {
    /// Steps as they settle, then the outcome, for people.
    Human,
    /// One JSON document at the end.
    Json,
    /// One event a line, while it happens.
    Ndjson,
    /// Nothing but the outcome.
    Quiet,
}

/// `key=value`, split at the first `=`.
pub(super) fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    if key.is_empty() {
        Err("the key before `=` is empty".into())
    } else {
        Ok((key.to_owned(), value.to_owned()))
    }
}

/// A text that a run can be called.
fn run_id(text: &str) -> Result<String, String> {
    run_id_fault(text).map_or_else(|| Ok(text.to_owned()), Err)
}

/// `tool=3`
fn failures(text: &str) -> Result<(String, u64), String> {
    let (tool, count) = key_value(text).map_err(|_| "write TOOL=N, such as grant_access=3")?;
    let count = count
        .parse()
        .map_err(|_| format!("`{count}` is not a number of calls"))?;
    Ok((tool, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_split_at_the_first_equals_sign() {
        assert_eq!(key_value("a=b=c").unwrap(), ("a".into(), "b=c".into()));
        assert_eq!(key_value("名字=").unwrap(), ("名字".into(), String::new()));
        assert!(key_value("=x").is_err() && key_value("x").is_err());
    }

    #[test]
    fn failures_want_a_number() {
        assert_eq!(
            failures("grant_access=3").unwrap(),
            ("grant_access".into(), 3)
        );
        assert!(failures("grant_access=-1").is_err() && failures("grant_access").is_err());
    }
}
