//! `--fix`, `--unsafe-fix` and `--diff`: the fixes that findings bring, applied to their files.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use planrun_lang::diag::Diagnostic;
use planrun_lang::diag::fix::{self, Caution, Mended};
use planrun_lang::diag::render::{Problem, unified_diff};
use planrun_lang::source::SourceFile;
use planrun_tools::host::Host;

use super::files::{self, Checked, Task};
use crate::cli::plan_files::{PlanFile, PlanFiles};
use crate::cli::{Failure, Terminal};

/// How often all files are checked at most.
const MAX_PASSES: usize = 4;

/// What shall be done with fixes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    pub caution: Caution,
    /// Whether changes are only shown.
    pub show: bool,
}

/// What fixing one file came to.
#[derive(Debug, Default)]
pub(super) struct Fixed {
    pub applied: usize,
    /// Fixes that were left out since they would have made it worse, a sentence each.
    pub refused: Vec<String>,
    /// The change as a unified diff, where it is wanted.
    pub diff: String,
    /// The text of standard input after its fixes.
    pub output: Option<String>,
}

/// Checks until fixes change nothing more: a fix in one file may bring one in another that uses it.
///
/// # Errors
/// When a project cannot be used.
pub(super) fn settled(found: &PlanFiles, task: Task<'_>) -> Result<Checked, Failure> {
    let mut checked = files::check(found, task)?;
    let mut earlier = Vec::new();
    for _ in 1..MAX_PASSES {
        let wrote = checked
            .fixed
            .iter()
            .any(|fixed| fixed.applied > 0 && fixed.diff.is_empty());
        // Standard input cannot be read again, and what nobody wrote is as it was.
        if !wrote
            || checked.report.plan_files < 2
            || checked.fixed.iter().any(|fixed| fixed.output.is_some())
        {
            break;
        }
        earlier.append(&mut checked.fixed);
        checked = files::check(found, task)?;
    }
    earlier.append(&mut checked.fixed);
    Ok(Checked {
        fixed: earlier,
        ..checked
    })
}

/// Tells what was done, or shows what would be.
///
/// # Errors
/// When the output cannot be written.
pub(super) fn tell(fixed: &[Fixed], wish: Option<Wish>, terminal: Terminal) -> Result<(), Failure> {
    let Some(wish) = wish else { return Ok(()) };
    for one in fixed {
        terminal.print_exactly(one.output.as_deref().unwrap_or(&one.diff))?;
    }
    for refused in fixed
        .iter()
        .flat_map(|one| &one.refused)
        .collect::<BTreeSet<_>>()
    {
        terminal.say(refused);
    }
    let applied = fixed.iter().map(|one| one.applied).sum::<usize>();
    let done = if wish.show { "to apply" } else { "applied" };
    terminal.say(&format!(
        "{applied} fix{} {done}",
        if applied == 1 { "" } else { "es" }
    ));
    Ok(())
}

/// Applies the fixes of one file and writes it, or shows what would change. Gives the text that is there now, and what
/// is found in it.
///
/// # Errors
/// When the file cannot be written, or is another one by now.
pub(super) fn one(
    host: &dyn Host,
    file: &PlanFile,
    source: SourceFile,
    found: Vec<Diagnostic>,
    wish: Wish,
    check: impl FnMut(&SourceFile) -> Vec<Diagnostic>,
) -> Result<(SourceFile, Vec<Diagnostic>, Fixed), Problem> {
    let Mended {
        text,
        left,
        applied,
        refused,
    } = fix::mend(&source, found.clone(), wish.caution, check);
    let refused = refused.iter().map(|title| {
        format!(
            "{}: this fix would make more errors and is left out: {title}",
            source.name()
        )
    });
    let mut fixed = Fixed {
        applied,
        refused: refused.collect(),
        ..Fixed::default()
    };
    if wish.show {
        if *text != *source.text() {
            fixed.diff = unified_diff(source.name(), source.text(), &text);
        }
        return Ok((source, found, fixed));
    }
    match file {
        PlanFile::Stdin => fixed.output = Some(text.to_string()),
        PlanFile::Path(path) if *text != *source.text() => {
            write(host, path, source.text(), &text).map_err(|why| Problem {
                message: format!("cannot write `{}`: {why}", file.name()),
                file: Some(file.name()),
            })?;
        }
        PlanFile::Path(_) => {}
    }
    Ok((
        SourceFile::new(source.name(), Arc::clone(&text)),
        left,
        fixed,
    ))
}

/// Writes the new text where the old one still is; behind a link, the file that it leads to.
///
/// # Errors
/// In words, when the file cannot be written, or is another one by now.
pub(in crate::cli) fn write(
    host: &dyn Host,
    path: &Path,
    old: &str,
    new: &str,
) -> Result<(), String> {
    let place = host.canonical(path).map_err(|error| error.to_string())?;
    if host.read_file(&place).map_err(|error| error.to_string())? != old {
        return Err("somebody changed it in the meantime".to_owned());
    }
    host.write_file(&place, new.as_bytes())
        .map_err(|error| error.to_string())
}
