//! Adds calls that can be undone to a generated plan, by themselves and in blocks, and sometimes a condition that fails
//! after one of them.

use std::sync::Arc;

use planrun_core::run::Program;
use serde_json::json;

use super::checked;
use super::plan_body::Body;
use crate::generate::{Dice, Project, Tool};
use crate::generated::project_context::ProjectContext;

const DECLARATIONS: &str = "
tool stock.take(n: int) -> int effect fails busy
tool stock.give(n: int) -> int effect fails busy
tool stock.look(n: int) -> int read
";

/// Adds the calls, if the plan then still passes the check.
pub fn with_undos(
    context: &ProjectContext,
    made: Project,
    program: Arc<Program>,
    dice: &mut Dice,
) -> (Project, Arc<Program>) {
    let plan = &program.plan.name;
    let Some(text) = dice.one_in(3).then(|| added(made.main(), plan, dice)) else {
        return (made, program);
    };
    let mut edited = made.clone();
    edited.plans[0].1 = text.unwrap_or_default();
    for name in ["take", "give", "look"] {
        edited.tools.push(Tool {
            namespace: "stock".to_owned(),
            name: name.to_owned(),
            returns: json!({ "type": "integer" }),
            fails: vec!["busy"],
        });
    }
    match checked(context, &edited, Some(plan)) {
        Some(program) => (edited, program),
        None => (made, program),
    }
}

fn added(text: &str, plan: &str, dice: &mut Dice) -> Option<String> {
    let mut body = Body::of(&format!("use stock\n{text}"), plan)?;
    let mut places: Vec<usize> = (0..2 + dice.below(3))
        .filter_map(|_| body.any_statement(dice))
        .collect();
    places.sort_unstable();
    // From the end, so that the other places stay what they are.
    for (number, place) in places.iter().enumerate().rev() {
        if dice.one_in(3) {
            let limit = dice.below(9);
            body.insert(
                *place,
                &format!("ensure taken{number} > {limit} else \"too little\""),
            );
        }
        let step = if dice.one_in(2) {
            block(number, dice)
        } else {
            undoable(number, &number.to_string())
        };
        body.insert(*place, &step);
    }
    Some([&body.text(), DECLARATIONS].concat())
}

fn undoable(number: usize, arguments: &str) -> String {
    format!(
        "step taken{number} = stock.take(n: {arguments})
        undo stock.give(n: taken{number})"
    )
}

/// Returns a block of calls that ends as a whole with a failure of one of them.
fn block(number: usize, dice: &mut Dice) -> String {
    let undo = if dice.one_in(3) {
        format!("undo stock.give(n: block{number})")
    } else {
        String::new()
    };
    let end = dice.pick(&[
        "recover => fail tool.busy \"again\"",
        "recover unknown_outcome, tool, transient => fail transient.unavailable \"again\"",
        "within 1m",
    ]);
    let (within, recover) = if end.starts_with("within") {
        (*end, "")
    } else {
        ("", *end)
    };
    let taken = undoable(number, &format!("seen{number}"));
    format!(
        "step block{number} = do {{
        step seen{number} = stock.look(n: {number})
        {taken}
        step more{number} = stock.take(n: taken{number})
        yield more{number}
    }}
        {within}
        {undo}
        {recover}"
    )
}
