//! The arguments of `eval`, `mock` and `run`, and parsers of arguments that several commands share.

use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use planrun_lang::diag::render::Language;
use planrun_lang::protocol::run_id_fault;

use planrun_runs::runs::split_answer;
use serde_json::Value as Json;

use super::{Failure, Result};

const EVAL_EXAMPLES: &str = "\
Examples:
  planrun eval 'size(\"欢迎\") + 1'
  planrun eval 'order.items.map(i, i.price)' --bindings order.json
  planrun eval '[1, 2u, 3.5]' --typed";

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

A script of two turns, the second one for the result of a tool:
  turns:
    - calls: [{ name: weather, arguments: { city: Oslo } }]
    - when: { tool: degrees }
      text: It is cold in Oslo.";

const RUN_EXAMPLES: &str = "\
Examples:
  planrun run onboarding.plan -i name='Will Zhang' -i department=engineering
  planrun run onboarding.plan --input input.json --format json
  planrun run onboarding.plan --mock        app tools answer from their `mock:` sections
  planrun run --resume 0193a1f2             resume a run that was interrupted
  planrun run onboarding.plan --base 0193a1f2 --from badge    start a new run at a step";

/// Evaluate one expression
#[derive(Debug, Args)]
#[command(after_help = EVAL_EXAMPLES)]
pub struct EvalArguments {
    /// Expression to evaluate
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    pub expression: String,
    /// JSON file with an object of the names and values that the expression can read
    #[arg(long, value_name = "FILE")]
    pub bindings: Option<PathBuf>,
    /// Read and print typed JSON: {"type": T, "value": V}
    #[arg(long)]
    pub typed: bool,
}

/// Serve mock tools, or a mock model
#[derive(Debug, Args)]
#[command(
    after_help = MOCK_EXAMPLES,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub struct MockArguments {
    #[command(subcommand)]
    pub kind: Option<MockKind>,
    /// Folder of app files
    #[arg(long, value_name = "DIR", required_unless_present = "openapi")]
    pub apps: Option<PathBuf>,
    /// Serve the operations of an OpenAPI document below `/NAME` (repeatable)
    #[arg(long, value_name = "NAME=FILE", value_parser = key_value)]
    pub openapi: Vec<(String, String)>,
    /// Address to listen on; port 0 picks a free port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8009")]
    pub bind: std::net::SocketAddr,
    /// Append each call to this file, one JSON object per line
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Seed of the generated data, used where an app file declares no mock answer
    #[arg(long, value_name = "N", default_value = "0")]
    pub seed: u64,
    /// Fail the first N calls of a tool (repeatable)
    #[arg(long, value_name = "TOOL=N", value_delimiter = ',', value_parser = failures)]
    pub failures: Vec<(String, u64)>,
}

/// The services that `planrun mock` doubles in addition to tools.
#[derive(Debug, clap::Subcommand)]
pub enum MockKind {
    Model(MockModelArguments),
}

/// Serve a scripted model over the chat completions, responses and messages protocols
#[derive(Debug, Args)]
#[command(after_help = MOCK_MODEL_EXAMPLES)]
pub struct MockModelArguments {
    /// Script of the answers, turn by turn
    #[arg(long, value_name = "FILE")]
    pub script: PathBuf,
    /// Address to listen on; port 0 picks a free port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8010")]
    pub bind: std::net::SocketAddr,
    /// Append each request to this file, one JSON object per line
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
}

/// Check a plan, then run it
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct RunArguments {
    /// Plan file, or `-` for standard input
    #[arg(value_name = "PLAN", required_unless_present = "resume")]
    pub file: Option<PathBuf>,
    /// Plan to run, if the file has several
    #[arg(long, value_name = "NAME")]
    pub plan: Option<String>,
    /// Input value, parsed as the declared type of the input (repeatable)
    #[arg(short = 'i', value_name = "KEY=VALUE", value_parser = key_value)]
    pub inputs: Vec<(String, String)>,
    /// JSON file with an object of all inputs, or `-` for standard input
    #[arg(long, value_name = "FILE|-")]
    pub input: Option<PathBuf>,
    /// Id of the run, which determines its idempotency keys and its jitter. If a run with this id, plan and inputs
    /// exists, it is resumed; if it has ended, its outcome is printed
    #[arg(long, value_name = "ID", value_parser = run_id)]
    pub run_id: Option<String>,
    /// Resume a run of the journal, given by its id or a prefix of it
    #[arg(long, value_name = "RUN", conflicts_with_all = ["inputs", "input", "run_id", "mock", "max_steps", "strict", "no_journal", "plan"])]
    pub resume: Option<String>,
    /// Reuse the results of an earlier run, which must have ended, for every call that was not undone, whose statement,
    /// arguments and contract are unchanged, and above which no effect is made that could change the result. Inputs that
    /// are not given are taken from that run
    #[arg(long, value_name = "RUN", conflicts_with = "resume")]
    pub base: Option<String>,
    /// With `--base`, execute this step and all later steps again
    #[arg(long, value_name = "STEP", requires = "base")]
    pub from: Option<String>,
    /// With `--base`, also make effects again that the other run has made or may have made
    #[arg(long, requires = "base", conflicts_with = "resume")]
    pub yes: bool,
    /// Write the answers of the tools to this file, as a recording for tests
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub record: Option<PathBuf>,
    /// Do not write a journal; the run ends with this process
    #[arg(long)]
    pub no_journal: bool,
    /// Answer app tools from their `mock:` sections, on the loopback interface
    #[arg(long)]
    pub mock: bool,
    /// Answer to a confirmation (`STEP.confirm=true`) or a form (`STEP={"field": 1}`) (repeatable)
    #[arg(long = "answer", value_name = "STEP=JSON", value_parser = split_answer)]
    pub answers: Vec<(String, String)>,
    /// Role in which `--answer` answers, such as `desk` or `desk:ann`
    #[arg(long, value_name = "ROLE", requires = "answers")]
    pub by: Option<String>,
    /// Execute at most N steps
    #[arg(long, value_name = "N", value_parser = at_least_one::<u64>)]
    pub max_steps: Option<u64>,
    /// Do not replace results by the values of `recover` arms; steps that read such a result are skipped
    #[arg(long)]
    pub strict: bool,
    /// Print what the run would do as far as it is known, without executing anything
    #[arg(long, conflicts_with_all = ["resume", "answers"])]
    pub dry_run: bool,
    /// Execute this step and the steps it depends on, then pause the run
    #[arg(long, value_name = "STEP")]
    pub until: Option<String>,
    /// What to print of a completed run
    #[arg(long, value_name = "WHAT", default_value = "reply")]
    pub output: RunOutput,
    /// Language of observations, summaries and questions [default: the language of `planrun.yaml`, or en]
    #[arg(long, value_name = "LANGUAGE", value_parser = language())]
    pub language: Option<Language>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: RunFormat,
}

/// Parses a number of at least 1.
pub(super) fn at_least_one<N: FromStr + Default + PartialEq>(text: &str) -> Result<N, String> {
    let number = text.parse().ok().filter(|number| *number != N::default());
    number.ok_or_else(|| "must be a whole number of at least 1".to_owned())
}

/// The part of a completed run that is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum RunOutput {
    /// Reply of the plan
    Reply,
    /// Result of the last step if it is an object, otherwise the full report
    Last,
    /// Full report: a row for each step and one for the run
    Full,
    /// A line for each call that was made or refused
    Observations,
    /// Reply of the plan, or the observations if the reply is empty
    Summary,
}

/// Parses the name of a language; any other word is refused with the list of names.
pub(super) fn language() -> impl TypedValueParser<Value = Language> {
    let words = Language::WORDS.map(|(word, _)| word);
    PossibleValuesParser::new(words).try_map(|word| Language::find(&word).ok_or("unknown language"))
}

/// How to print a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum RunFormat {
    /// Steps as they settle, then the outcome
    Human,
    /// One JSON document at the end
    Json,
    /// One JSON event per line, as it happens
    Ndjson,
    /// Only the outcome
    Quiet,
}

/// Splits `key=value` at the first `=`.
pub(super) fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    if key.is_empty() {
        Err("the key before `=` is empty".into())
    } else {
        Ok((key.to_owned(), value.to_owned()))
    }
}

/// Parses JSON that a user has typed. The error does not quote the text, which may be a secret.
pub(super) fn parse_json(what: &str, text: &str) -> Result<Json> {
    serde_json::from_str(text).map_err(|error| {
        let remedy = match text.to_lowercase().as_str() {
            "yes" | "y" | "ok" => "write `true` to confirm, or a string in quotes: '\"yes\"'",
            "no" | "n" => "write `false` to refuse, or a string in quotes: '\"no\"'",
            _ => "write a string in quotes, as in '\"yes\"'",
        };
        Failure::Usage(format!("{what} is not JSON: {error}; {remedy}"))
    })
}

/// Validates a run id.
fn run_id(text: &str) -> Result<String, String> {
    run_id_fault(text).map_or_else(|| Ok(text.to_owned()), Err)
}

/// Parses `tool=3`.
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
