//! `planrun plans`: lists the plans of a project, optionally filtered by a query.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use planrun_lang::diag::render::visible_line;
use planrun_lang::types::{Effect, Signature, to_schema};
use planrun_runs::runs::{PlanText, Workspace};
use planrun_tools::contract::ToolIndex;
use serde_json::{Value as Json, json};

use super::columns::{padded, widest};
use super::plan_files::{find, load};
use super::{Exit, Result, Terminal};

const EXAMPLES: &str = "\
Examples:
  planrun plans list                           every plan, with the most that it changes
  planrun plans list --query 'new employees'   plans that match these words, best match first
  planrun plans list --effect read --brief plans/reports
  planrun plans list --format json             with the JSON Schemas of inputs and replies

Plans are files: `git log` lists their versions and authors, `git revert` restores a version, and \
`planrun breaking --against REV` reports what a version changes for its users.";

/// Find the plans of a project
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    command: PlansCommand,
}

#[derive(Debug, Subcommand)]
enum PlansCommand {
    List(ListArguments),
}

/// List plans
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
struct ListArguments {
    /// Files and folders to search. Folders are searched for *.plan and *.plan.json files, except those that git
    /// ignores
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    /// List only plans that match these words, best match first
    #[arg(long, value_name = "WORDS")]
    query: Option<String>,
    /// List only plans whose calls are at most of this effect class: pure, read, idempotent, effect or irreversible
    #[arg(long, value_name = "CLASS", value_parser = effect)]
    effect: Option<Effect>,
    /// Print only locations and names
    #[arg(long)]
    brief: bool,
    /// List at most N plans
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Skip the first N plans
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: usize,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
}

/// The output formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// One line for each plan
    Human,
    /// One JSON array of objects
    Json,
}

/// A plan of the project.
struct Found {
    file: String,
    line: u32,
    /// The plan as a contract for its callers; the namespace is the file.
    contract: Arc<Signature>,
}

fn effect(word: &str) -> Result<Effect, String> {
    Effect::find(word).ok_or_else(|| {
        let names = Effect::ALL.map(Effect::name).join(", ");
        format!("the classes are {names}")
    })
}

/// Lists plans. Returns an error if a path does not exist, the project cannot be opened, or the output cannot be
/// written.
pub fn run(arguments: &Arguments, project: Option<&Path>, terminal: Terminal) -> Result<Exit> {
    match &arguments.command {
        PlansCommand::List(arguments) => arguments.run(project, terminal),
    }
}

impl ListArguments {
    fn run(&self, project: Option<&Path>, terminal: Terminal) -> Result<Exit> {
        let files = find(&self.paths)?;
        let mut problems = files.problems;
        let mut workspaces = BTreeMap::new();
        let mut plans = Vec::new();
        for file in &files.files {
            let source = match load(file) {
                Ok(PlanText::Text(source)) => source,
                // `check` reports its errors.
                Ok(PlanText::Broken(_)) => continue,
                Err(problem) => {
                    problems.push(problem);
                    continue;
                }
            };
            let name = file.name();
            let folder = Path::new(&name).parent().map(Path::to_owned);
            let workspace = match workspaces.entry(folder) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => place.insert(Workspace::open(Path::new(&name), project)?),
            };
            let checked = workspace.check(&source);
            plans.extend(checked.plans.iter().map(|plan| Found {
                file: name.clone(),
                line: source.position(plan.span.start).line,
                contract: Arc::new(plan.contract(name.as_str().into())),
            }));
        }
        plans.retain(|plan| self.effect.is_none_or(|most| plan.contract.effect <= most));
        let found = self.select(&plans);
        if found.is_empty() {
            terminal.note(if self.query.is_some() || self.effect.is_some() {
                "no plans match"
            } else {
                "no plans"
            });
        }
        match self.format {
            Format::Human => terminal.print(&self.lines(&found))?,
            Format::Json => {
                let list: Vec<Json> = found.iter().map(|plan| document(plan)).collect();
                terminal.print_document(&list)?;
            }
        }
        for problem in &problems {
            terminal.error(&problem.message);
        }
        Ok(if problems.is_empty() {
            Exit::Fine
        } else {
            Exit::Environment
        })
    }

    /// Returns the plans that match the arguments, in the order of the list.
    fn select<'p>(&self, plans: &'p [Found]) -> Vec<&'p Found> {
        let ordered: Vec<&Found> = match &self.query {
            None => plans.iter().collect(),
            Some(query) => {
                let index = ToolIndex::new(plans.iter().map(|plan| plan.contract.clone()));
                let of = |contract: &Arc<Signature>| {
                    plans
                        .iter()
                        .find(|plan| Arc::ptr_eq(&plan.contract, contract))
                };
                index.find(query).into_iter().filter_map(of).collect()
            }
        };
        let limit = self.limit.unwrap_or(usize::MAX);
        ordered.into_iter().skip(self.offset).take(limit).collect()
    }

    fn lines(&self, plans: &[&Found]) -> String {
        let place = |plan: &Found| format!("{}:{}", plan.file, plan.line);
        let width = |text: &dyn Fn(&Found) -> String| {
            let texts: Vec<String> = plans.iter().map(|plan| text(plan)).collect();
            widest(texts.iter().map(String::as_str))
        };
        let name = |plan: &Found| plan.contract.name.to_string();
        let (places, names) = (width(&place), width(&name));
        let lines = plans.iter().map(|plan| {
            let mut line = padded(&place(plan), places + 2) + &padded(&name(plan), names);
            if !self.brief {
                let (effect, summary) = (plan.contract.effect, plan.contract.first_sentence());
                line = format!("{line}  {:12}  {summary}", effect.name());
            }
            format!("{}\n", visible_line(line.trim_end()))
        });
        lines.collect()
    }
}

fn document(plan: &Found) -> Json {
    let contract = &plan.contract;
    json!({
        "file": plan.file,
        "line": plan.line,
        "plan": contract.name,
        "description": contract.description,
        "effect": contract.effect.name(),
        "input": contract.arguments_schema(),
        "output": to_schema(&contract.returns),
    })
}
