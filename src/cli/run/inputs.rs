//! Reads the inputs of a run from the command line and from files, as their declared types.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use planrun_lang::diag::render::visible_line;
use planrun_lang::sema::Plan;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value as Json};

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
        reader.take_object(document(path)?)?;
    }
    for (name, text) in &arguments.inputs {
        reader.take_text(name, text)?;
    }
    Ok(reader.finish()?)
}

/// Refuses inputs that are given twice in one place, and a plan and its inputs that both come from standard input.
/// Nothing is read yet.
pub fn require_one_source(arguments: &RunArguments) -> Result<()> {
    let is_stdin = |path: &Path| path.as_os_str() == "-";
    let from_stdin = |path: &Option<PathBuf>| path.as_deref().is_some_and(is_stdin);
    if from_stdin(&arguments.input) && from_stdin(&arguments.file) {
        return Err(Failure::Usage(
            "the plan and its inputs cannot both come from standard input; write one of them to a file"
                .to_owned(),
        ));
    }
    let mut names = BTreeSet::new();
    for (name, _) in &arguments.inputs {
        if !names.insert(name) {
            let name = visible_line(name);
            let why = format!(
                "the input `{name}` is given more than once; write `-i {name}=…` only once"
            );
            return Err(Failure::Usage(why));
        }
    }
    Ok(())
}

/// Reads a JSON object of inputs.
fn document(path: &Path) -> Result<Map<String, Json>> {
    let text = read_text(path, MAX_INPUT);
    let text = text.map_err(|error| {
        // The values may be secrets, so they are not repeated.
        if path
            .as_os_str()
            .as_encoded_bytes()
            .trim_ascii_start()
            .starts_with(b"{")
        {
            let why =
                "`--input` takes a file, not JSON; pass JSON on standard input with `--input -`";
            return Failure::Usage(why.to_owned());
        }
        Failure::cannot_read(path, &error)
    })?;
    let file = path.display();
    let json: Json = serde_json::from_str(&text)
        .map_err(|error| Failure::Usage(format!("`{file}` is not JSON: {error}")))?;
    let Json::Object(fields) = json else {
        return Err(Failure::Usage(format!(
            "`{file}` is not a JSON object of inputs"
        )));
    };
    match serde_json::from_str(&text) {
        Ok(Names(None)) | Err(_) => Ok(fields),
        Ok(Names(Some(name))) => Err(Failure::Usage(format!(
            "`{file}` has the input `{}` more than once; remove all but one",
            visible_line(&name)
        ))),
    }
}

/// The first name that a JSON object has more than once.
struct Names(Option<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(NamesVisitor)
    }
}

struct NamesVisitor;

impl<'de> Visitor<'de> for NamesVisitor {
    type Value = Names;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names, A::Error> {
        let (mut names, mut repeated) = (BTreeSet::new(), None);
        while let Some((name, _)) = map.next_entry::<String, IgnoredAny>()? {
            if names.contains(&name) {
                repeated.get_or_insert(name);
            } else {
                names.insert(name);
            }
        }
        Ok(Names(repeated))
    }
}
