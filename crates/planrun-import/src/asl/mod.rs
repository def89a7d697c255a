//! State machines of the Amazon States Language.

mod choice;
mod data;
mod fields;
mod flow;
mod intrinsic;
mod iteration;
mod jsonata;
mod machine;
mod output;
mod retry;
mod task;

use planrun_lang::syntax::ast::{File, Statement, StatementKind};
use planrun_lang::yaml::Node;

pub use task::called;

use crate::control_flow::inputs::{Inputs, Missing, inputs_of};
use crate::control_flow::{Flow, Region, Walk as _};
use crate::document::Refused;
use crate::draft::{Draft, Made, excerpt as short};
use crate::tree;
use flow::Translator;
use machine::Machine;

/// Returns true if a document looks like a state machine.
#[must_use]
pub fn recognizes(root: &Node) -> bool {
    root.get("StartAt").is_some() && root.get("States").is_some()
}

/// Returns the plan for a state machine. Returns an error if the machine is invalid, such as one with a state that is
/// missing or has no type.
pub fn import(root: &Node, plan: &str, draft: &mut Draft<'_>) -> Result<File, Refused> {
    let what = "the input of the machine";
    inputs_of(draft, root.span, what, Missing::Whole, |draft, inputs| {
        attempt(root, plan, inputs, draft)
    })
}

fn attempt(
    root: &Node,
    plan: &str,
    inputs: &Inputs,
    draft: &mut Draft<'_>,
) -> Result<File, Refused> {
    let machine = Machine::read(root, false)?;
    fields::report_machine(root, &machine, false, draft);
    task::reserve_namespaces(root, draft);
    let input = inputs.value();
    let flow = Flow::of(input.clone());
    let mut body = Vec::new();
    let mut translator = Translator::new(draft, input);
    translator.walk(&machine, machine.start, flow, &Region::plan(), &mut body)?;
    if let Some(node) = root.get("TimeoutSeconds") {
        deadline(node, &mut body, draft);
    }
    let made = Made {
        doc: root.get("Comment").and_then(Node::text).map(str::to_owned),
        parameters: inputs.parameters(),
        returns: Some(tree::type_named("any")),
        body,
    };
    Ok(draft.file(plan, made))
}

/// Translates the timeout of the whole machine.
fn deadline(node: &Node, body: &mut Vec<Statement>, draft: &mut Draft<'_>) {
    let what = "`TimeoutSeconds` of the machine";
    let Some(seconds) = node.scalar().and_then(|text| text.parse::<i64>().ok()) else {
        draft.lost(node.span, what, "is not a whole number");
        return;
    };
    let policy = tree::object([("deadline", tree::seconds(seconds))]);
    body.insert(0, tree::statement(StatementKind::Policy(policy)));
    draft.carried(node.span, what, "`deadline` of the plan");
}
