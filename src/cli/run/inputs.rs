//! Reads the inputs of a run from the command line and from files, as their declared types.

use std::path::Path;

use planrun_lang::sema::Plan;

use crate::cli::arguments::RunArguments;
use crate::cli::input::read_text;
use crate::cli::{Failure, Result};
use planrun_runs::runs::{InputReader, Inputs};

/// Maximum size of an input document, in bytes.
const MAX_INPUT: u64 = 64 * 1024 * 1024;

/// Returns the inputs given on the command line; those of an earlier run are the defaults. Returns an error if a file
/// cannot be read, or an input is unknown, missing, or has a value of the wrong type.
pub fn inputs(plan: &Plan, arguments: &RunArguments, known: Option<&Inputs>) -> Result<Inputs> {
    let mut reader = InputReader::new(plan);
    if let Some(known) = known {
        reader.take_over(known);
    }
    if let Some(path) = &arguments.input {
        let is_stdin = |path: &Path| path.as_os_str() == "-";
        if is_stdin(path) && arguments.file.as_deref().is_some_and(is_stdin) {
            return Err(Failure::Usage(
                "the plan and its inputs cannot both come from standard input; write one of them to a file"
                    .to_owned(),
            ));
        }
        let text = read_text(path, MAX_INPUT);
        let text = text.map_err(|error| Failure::cannot_read(path, &error))?;
        let json: serde_json::Value = serde_json::from_str(&text).map_err(|error| {
            Failure::Usage(format!("`{}` is not JSON: {error}", path.display()))
        })?;
        let serde_json::Value::Object(fields) = json else {
            return Err(Failure::Usage(format!(
                "`{}` is not a JSON object of inputs",
                path.display()
            )));
        };
        reader.take_object(fields)?;
    }
    for (name, text) in &arguments.inputs {
        reader.take_text(name, text)?;
    }
    Ok(reader.finish()?)
}
