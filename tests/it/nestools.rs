//! 599 plans of another project, as text, and their mutants: a correct plan passes, and an error is reported on its
//! line.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use planrun_lang::diag::{Diagnostic, Severity};
use planrun_lang::lint;
use planrun_lang::sema::{NoFiles, Policy, Tools};
use planrun_lang::source::SourceFile;
use planrun_tools::host::MemoryHost;
use serde_json::Value;

use crate::json_form;
use crate::support::cases;

/// The namespace of all tools.
const NAMESPACE: &str = "kit";

/// One plan, with every part as text, so that it can be mutated.
#[derive(Clone)]
struct Plan {
    id: String,
    tools: Vec<Tool>,
    steps: Vec<Step>,
}

#[derive(Clone)]
struct Tool {
    name: String,
    parameters: Vec<Parameter>,
    /// Names and types.
    results: Vec<(String, &'static str)>,
}

#[derive(Clone)]
struct Parameter {
    name: String,
    ty: &'static str,
    required: bool,
}

#[derive(Clone)]
struct Step {
    name: String,
    tool: String,
    /// Names and expressions, one per line.
    arguments: Vec<(String, String)>,
}

/// A mutant: the expected code, and the line on which it is expected.
struct Mutant {
    plan: Plan,
    code: &'static str,
    step: usize,
    /// The argument on whose line the error is expected. `None` for the head of the step.
    argument: Option<usize>,
}

/// Returns all mutants of one kind.
type Mutation = fn(&Plan) -> Vec<Mutant>;

const MUTATIONS: &[(&str, Mutation)] = &[
    ("required argument dropped", argument_dropped),
    ("argument of the wrong type", wrong_type),
    ("argument misspelt", argument_misspelt),
    ("argument that does not exist", argument_added),
    ("argument without its name", argument_unnamed),
    ("tool misspelt", tool_misspelt),
    ("namespace misspelt", namespace_misspelt),
    ("field of a result misspelt", field_misspelt),
    ("field of a scalar", field_of_scalar),
    ("result as a whole for a scalar", whole_result),
    ("step that reads itself", reads_itself),
    ("step that reads a later one", reads_later),
    ("step that does not exist", reads_nothing),
    ("two steps of one name", same_name),
    ("tool called in an argument", nested_call),
];

#[test]
fn every_plan_passes() {
    let Some(plans) = plans() else { return };
    let mut faults = Vec::new();
    for plan in &plans {
        let (text, _) = plan.text();
        let found = check(&text)
            .into_iter()
            .find(|found| found.severity < Severity::Note);
        if let Some(found) = found {
            faults.push(format!(
                "{}: {}: {}\n{text}",
                plan.id, found.code.name, found.message
            ));
        }
    }
    // `secret-literal` is not reported: no argument of these tools is marked as sensitive, and no string has the format
    // of a key.
    println!(
        "nestools: {} of {} pass without an error or a warning",
        plans.len() - faults.len(),
        plans.len()
    );
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_plan_goes_to_json_and_back() {
    let schema = jsonschema::validator_for(&planrun_lang::syntax::json::schema()).unwrap();
    for plan in plans().into_iter().flatten() {
        assert!(
            json_form::round_trip(&plan.id, &plan.text().0, &schema),
            "{}",
            plan.id
        );
    }
}

#[test]
fn every_mutation_is_told_once_with_its_code_on_its_line() {
    let Some(plans) = plans() else { return };
    let mut faults = Vec::new();
    for (what, mutation) in MUTATIONS {
        let (mut refused, mut tried) = (0, 0);
        for (number, plan) in plans.iter().enumerate() {
            let mut mutants = mutation(plan);
            if mutants.is_empty() {
                continue;
            }
            // Each plan is mutated in one place, which differs from plan to plan.
            let mutant = mutants.swap_remove(number % mutants.len());
            tried += 1;
            match fault(&mutant) {
                None => refused += 1,
                Some(fault) => faults.push(format!("{}: {what}: {fault}", plan.id)),
            }
        }
        println!(
            "nestools: {what}: {refused} of {tried} refused, {} plans have no place for it",
            plans.len() - tried
        );
    }
    let examples = faults
        .iter()
        .take(10)
        .map(String::as_str)
        .collect::<Vec<_>>();
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        examples.join("\n")
    );
}

/// Returns the names and texts of all plans.
pub fn texts() -> Vec<(String, String)> {
    plans()
        .unwrap_or_default()
        .iter()
        .map(|plan| (plan.id.clone(), plan.text().0))
        .collect()
}

/// Returns the names and texts of all plans, each with a test in which the results of all tools are generated.
pub fn tested() -> Vec<(String, String)> {
    let test = "\ntest \"made up\" for it {\n    mock _ => generated\n    expect status == \"completed\"\n}\n";
    texts()
        .into_iter()
        .map(|(name, text)| (name, text + test))
        .collect()
}

/// Checks the findings of a mutant: exactly one error is expected, with its code on its line. Returns the fault, if
/// any.
fn fault(mutant: &Mutant) -> Option<String> {
    let (text, lines) = mutant.plan.text();
    let source = SourceFile::new("plan.plan", text.as_str());
    let errors: Vec<_> = check(&text)
        .into_iter()
        .filter(Diagnostic::is_error)
        .collect();
    let found: Vec<_> = errors
        .iter()
        .map(|error| (error.code.name, source.position(error.span.start).line))
        .collect();
    let argument = mutant
        .argument
        .map(|argument| u32::try_from(argument).unwrap() + 1);
    let expected = (mutant.code, lines[mutant.step] + argument.unwrap_or(0));
    (found != [expected]).then(|| format!("expected {expected:?} and found {found:?}\n{text}"))
}

fn check(text: &str) -> Vec<Diagnostic> {
    let (policy, host) = (Policy::default(), MemoryHost::new(1));
    let project = lint::Project {
        limits: &planrun_lang::sema::Budget::default(),
        policy: &policy,
        allow: None,
        root: Path::new("/"),
        paths: &host,
        tools: None,
        severities: None,
        calls: None,
        by_model: false,
        is_call: false,
    };
    lint::check_file(
        &SourceFile::new("plan.plan", text),
        &Tools::default(),
        &NoFiles,
        &project,
    )
    .diagnostics
}

impl Plan {
    fn tool(&self, step: &Step) -> &Tool {
        self.tools
            .iter()
            .find(|tool| tool.name == step.tool)
            .unwrap()
    }

    /// Formats the plan, and returns the line of the head of each step.
    fn text(&self) -> (String, Vec<u32>) {
        let mut text = format!("//! {}\n\nuse {NAMESPACE}\n\n", self.id);
        for tool in &self.tools {
            let optional = |parameter: &Parameter| if parameter.required { "" } else { "?" };
            let parameters = tool
                .parameters
                .iter()
                .map(|one| format!("{}{}: {}", name(&one.name), optional(one), one.ty));
            let results = tool
                .results
                .iter()
                .map(|(field, ty)| format!("{}: {ty}", name(field)));
            let (parameters, results) = (join(parameters), join(results));
            writeln!(
                text,
                "tool {NAMESPACE}.{}({parameters}) -> {{ {results} }} read",
                name(&tool.name)
            )
            .unwrap();
        }
        text.push_str("\nplan it() {\n");
        let mut lines = Vec::new();
        for step in &self.steps {
            lines.push(u32::try_from(text.lines().count()).unwrap() + 1);
            let call = if step.tool.contains('.') {
                step.tool.clone()
            } else {
                format!("{NAMESPACE}.{}", name(&step.tool))
            };
            writeln!(text, "    step {} = {call}(", step.name).unwrap();
            for (argument, value) in &step.arguments {
                let separator = if argument.is_empty() { "" } else { ": " };
                writeln!(text, "        {}{separator}{value},", name(argument)).unwrap();
            }
            text.push_str("    )\n");
        }
        text.push_str("}\n");
        (text, lines)
    }

    /// Returns a mutant for every argument of every step for which `change` returns a code.
    fn arguments(
        &self,
        change: impl Fn(&Self, usize, usize, &mut Step) -> Option<&'static str>,
    ) -> Vec<Mutant> {
        let mut mutants = Vec::new();
        for (step, argument) in self.sites() {
            let mut plan = self.clone();
            if let Some(code) = change(self, step, argument, &mut plan.steps[step]) {
                mutants.push(Mutant {
                    plan,
                    code,
                    step,
                    argument: Some(argument),
                });
            }
        }
        mutants
    }

    /// Returns a mutant for every step for which `change` returns a code.
    fn heads(
        &self,
        change: impl Fn(&Self, usize, &mut Step) -> Option<&'static str>,
    ) -> Vec<Mutant> {
        let mut mutants = Vec::new();
        for step in 0..self.steps.len() {
            let mut plan = self.clone();
            if let Some(code) = change(self, step, &mut plan.steps[step]) {
                mutants.push(Mutant {
                    plan,
                    code,
                    step,
                    argument: None,
                });
            }
        }
        mutants
    }

    fn sites(&self) -> impl Iterator<Item = (usize, usize)> {
        let steps = self.steps.iter().enumerate();
        steps.flat_map(|(step, found)| {
            (0..found.arguments.len()).map(move |argument| (step, argument))
        })
    }

    fn parameter(&self, step: usize, argument: usize) -> &Parameter {
        let step = &self.steps[step];
        self.tool(step)
            .parameters
            .iter()
            .find(|parameter| parameter.name == step.arguments[argument].0)
            .unwrap()
    }

    /// Returns a read of a field of a step.
    fn read(&self, step: usize) -> Option<String> {
        let (field, _) = self.tool(&self.steps[step]).results.first()?;
        Some(format!("{}.{}", self.steps[step].name, name(field)))
    }
}

fn argument_dropped(plan: &Plan) -> Vec<Mutant> {
    let mut mutants = Vec::new();
    for (step, argument) in plan
        .sites()
        .filter(|(step, argument)| plan.parameter(*step, *argument).required)
    {
        let mut mutated = plan.clone();
        mutated.steps[step].arguments.remove(argument);
        mutants.push(Mutant {
            plan: mutated,
            code: "missing-argument",
            step,
            argument: None,
        });
    }
    mutants
}

fn wrong_type(plan: &Plan) -> Vec<Mutant> {
    plan.arguments(|plan, step, argument, mutated| {
        let wrong = if plan.parameter(step, argument).ty == "string" {
            "7"
        } else {
            "\"seven\""
        };
        wrong.clone_into(&mut mutated.arguments[argument].1);
        Some("wrong-type")
    })
}

fn argument_misspelt(plan: &Plan) -> Vec<Mutant> {
    plan.arguments(|_, _, argument, mutated| {
        mutated.arguments[argument].0.push('x');
        Some("unknown-argument")
    })
}

fn argument_added(plan: &Plan) -> Vec<Mutant> {
    let mut mutants = plan.heads(|_, _, mutated| {
        mutated.arguments.push(("quux".to_owned(), "1".to_owned()));
        Some("unknown-argument")
    });
    for mutant in &mut mutants {
        mutant.argument = Some(mutant.plan.steps[mutant.step].arguments.len() - 1);
    }
    mutants
}

fn argument_unnamed(plan: &Plan) -> Vec<Mutant> {
    plan.arguments(|plan, step, argument, mutated| {
        // An argument without a name stands for the parameter at its position.
        let place = plan.tool(&plan.steps[step]).parameters.get(argument)?;
        (place.name == mutated.arguments[argument].0).then_some(())?;
        mutated.arguments[argument].0.clear();
        Some("positional-argument")
    })
}

fn tool_misspelt(plan: &Plan) -> Vec<Mutant> {
    plan.heads(|_, _, mutated| {
        mutated.tool.push('x');
        Some("unknown-tool")
    })
}

fn namespace_misspelt(plan: &Plan) -> Vec<Mutant> {
    plan.heads(|_, _, mutated| {
        mutated.tool = format!("kitt.{}", mutated.tool);
        Some("unknown-namespace")
    })
}

fn field_misspelt(plan: &Plan) -> Vec<Mutant> {
    plan.arguments(|_, _, argument, mutated| {
        let read = &mut mutated.arguments[argument].1;
        (read.starts_with('s') && read.contains('.')).then(|| read.push('x'))?;
        Some("unknown-field")
    })
}

fn field_of_scalar(plan: &Plan) -> Vec<Mutant> {
    plan.arguments(|plan, step, argument, mutated| {
        let scalar = matches!(
            plan.parameter(step, argument).ty,
            "string" | "int" | "double" | "bool"
        );
        let read = &mut mutated.arguments[argument].1;
        (scalar && read.starts_with('s') && read.contains('.')).then(|| read.push_str(".name"))?;
        Some("not-an-object")
    })
}

fn whole_result(plan: &Plan) -> Vec<Mutant> {
    plan.arguments(|plan, step, argument, mutated| {
        let scalar = matches!(
            plan.parameter(step, argument).ty,
            "string" | "int" | "double" | "bool"
        );
        let read = &mut mutated.arguments[argument].1;
        let whole = read
            .split_once('.')
            .filter(|_| scalar && read.starts_with('s'))?
            .0
            .to_owned();
        *read = whole;
        Some("wrong-type")
    })
}

fn reads_itself(plan: &Plan) -> Vec<Mutant> {
    plan.arguments(|plan, step, argument, mutated| {
        mutated.arguments[argument].1 = plan.read(step)?;
        Some("use-before-definition")
    })
}

fn reads_later(plan: &Plan) -> Vec<Mutant> {
    plan.arguments(|plan, step, argument, mutated| {
        mutated.arguments[argument].1 = plan
            .read(plan.steps.len() - 1)
            .filter(|_| step + 1 < plan.steps.len())?;
        Some("use-before-definition")
    })
}

fn reads_nothing(plan: &Plan) -> Vec<Mutant> {
    plan.arguments(|_, _, argument, mutated| {
        "nobody.at_all".clone_into(&mut mutated.arguments[argument].1);
        Some("unknown-name")
    })
}

fn same_name(plan: &Plan) -> Vec<Mutant> {
    plan.heads(|plan, step, mutated| {
        // No later step reads it, so the duplicate name is the only error.
        let read = format!("{}.", mutated.name);
        let values = plan
            .steps
            .iter()
            .flat_map(|step| &step.arguments)
            .map(|(_, value)| value);
        (step > 0 && !values.into_iter().any(|value| value.contains(&read))).then_some(())?;
        mutated.name.clone_from(&plan.steps[step - 1].name);
        Some("duplicate-name")
    })
}

fn nested_call(plan: &Plan) -> Vec<Mutant> {
    plan.arguments(|plan, _, argument, mutated| {
        mutated.arguments[argument].1 = format!("{NAMESPACE}.{}()", name(&plan.tools[0].name));
        Some("call-in-expression")
    })
}

/// Returns every plan of the suite. `None` if the cases are not available.
fn plans() -> Option<Vec<Plan>> {
    let text = std::fs::read_to_string(cases("nestools/plans.jsonl")?).unwrap();
    let plans = text.lines().filter(|line| !line.trim().is_empty());
    Some(
        plans
            .map(|line| read(&serde_json::from_str(line).unwrap()))
            .collect(),
    )
}

fn read(case: &Value) -> Plan {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    Plan {
        id: string(&case["id"]),
        tools: list(&case["tools"]).iter().map(tool).collect(),
        steps: list(&case["steps"])
            .iter()
            .enumerate()
            .map(|(number, case)| step(number, case))
            .collect(),
    }
}

fn tool(case: &Value) -> Tool {
    let properties = |schema: &Value| {
        schema["properties"]
            .as_object()
            .cloned()
            .unwrap_or_default()
    };
    let required = case["input_schema"]["required"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let parameters = properties(&case["input_schema"])
        .into_iter()
        .map(|(name, schema)| Parameter {
            required: required
                .iter()
                .any(|required_name| *required_name == name.as_str()),
            ty: ty(&schema),
            name,
        });
    Tool {
        name: string(&case["name"]),
        parameters: parameters.collect(),
        results: properties(&case["output_schema"])
            .into_iter()
            .map(|(name, schema)| (name, ty(&schema)))
            .collect(),
    }
}

fn ty(schema: &Value) -> &'static str {
    match schema["type"].as_str() {
        Some("string") => "string",
        Some("integer") => "int",
        Some("number") => "double",
        Some("boolean") => "bool",
        Some("array") => "any[]",
        Some("object") => "map<string, any>",
        _ => "any",
    }
}

fn step(number: usize, case: &Value) -> Step {
    let mut references: BTreeMap<String, String> = BTreeMap::new();
    for reference in case["refs"].as_array().into_iter().flatten() {
        let at = reference["at"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| format!("/{}", part.to_string().replace('"', "")));
        let read = format!(
            "s{}.{}",
            reference["step"],
            name(&string(&reference["field"]))
        );
        references.insert(at.collect(), read);
    }
    let arguments = case["args"].as_object().unwrap().iter();
    Step {
        name: format!("s{number}"),
        tool: string(&case["tool"]),
        arguments: arguments
            .map(|(name, value)| {
                (
                    name.clone(),
                    expression(value, &format!("/{name}"), &references),
                )
            })
            .collect(),
    }
}

/// Formats a value as an expression. A value at a place in `references` is a read.
fn expression(value: &Value, place: &str, references: &BTreeMap<String, String>) -> String {
    if let Some(read) = references.get(place) {
        return read.clone();
    }
    match value {
        Value::Array(items) => {
            let items = items.iter().enumerate();
            format!(
                "[{}]",
                join(items.map(|(index, item)| expression(
                    item,
                    &format!("{place}/{index}"),
                    references
                )))
            )
        }
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                format!(
                    "{}: {}",
                    quoted(name),
                    expression(value, &format!("{place}/{name}"), references)
                )
            };
            format!("{{ {} }}", join(fields.iter().map(field)))
        }
        Value::String(text) => quoted(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn string(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace("${", "\\${")
}

/// Returns a name as a plan writes it.
fn name(text: &str) -> String {
    let plain = text
        .chars()
        .all(|character| character.is_alphanumeric() || character == '_');
    if plain {
        text.to_owned()
    } else {
        format!("`{text}`")
    }
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}
