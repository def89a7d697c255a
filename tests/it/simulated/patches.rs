//! Patches of a simulated run: its plan is edited somewhere while no process drives it.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_core::journal::ReplayState;
use planrun_core::run::Program;
use planrun_lang::source::SourceFile;
use planrun_lang::value::Value;
use planrun_runs::runs::{PatchText, accepts_patch};

use super::checked;
use super::plan_body::Body;
use crate::generate::{Dice, Project};
use crate::generated::project_context::ProjectContext;

/// Edits the plan of a run. Returns `None` if the new plan has errors, or would change what must not change.
pub fn patched(
    context: &ProjectContext,
    made: &Project,
    program: &Program,
    replay: &ReplayState,
    inputs: &BTreeMap<Arc<str>, Value>,
    dice: &mut Dice,
) -> Option<(Project, Arc<Program>)> {
    let mut edited = made.clone();
    edited.plans[0].1 = edited_text(made.main(), &program.plan.name, dice)?;
    let new = checked(context, &edited, Some(&program.plan.name))?;
    let was = SourceFile::new("main.plan", made.main());
    let is = SourceFile::new("main.plan", edited.main());
    let was = PatchText {
        plan: &program.plan,
        source: &was,
    };
    let is = PatchText {
        plan: &new.plan,
        source: &is,
    };
    accepts_patch(was, is, replay, inputs).ok()?;
    Some((edited, new))
}

/// Inserts, copies, removes or changes a statement of a plan.
fn edited_text(text: &str, plan: &str, dice: &mut Dice) -> Option<String> {
    let mut body = Body::of(text, plan)?;
    let place = body.any_statement(dice)?;
    let name = format!("patched{}", dice.below(1_000));
    let is_one_line = body.is_one_line(place);
    let new = match dice.below(8) {
        0 => format!("step {name} = wait 1s"),
        1 => format!("let {name} = {}", dice.below(9)),
        2 => format!("ensure size(\"{name}\") > 1 else \"no\""),
        3 if is_one_line => {
            body.lines.remove(place);
            return Some(body.text());
        }
        6 | 7 => {
            body.insert(
                place,
                &format!("step {name} = sys.echo(value: {})", dice.below(9)),
            );
            return Some(format!("use sys\n{}", body.text()));
        }
        4 => {
            let line = body.lines.remove(place).trim_start().to_owned();
            line.replace("hello", "patched").replace("red", "new")
        }
        _ if is_one_line => {
            let (_, call) = body.lines[place].split_once(" = ")?;
            format!("step {name} = {call}")
        }
        _ => return None,
    };
    body.insert(place, &new);
    Some(body.text())
}
