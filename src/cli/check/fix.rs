//! `--fix`, `--unsafe-fix` and `--diff`: applies the fixes of diagnostics to files.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use planrun_lang::diag::Diagnostic;
use planrun_lang::diag::fix::{self, Caution, FixedText};
use planrun_lang::diag::render::{Problem, unified_diff};
use planrun_lang::source::SourceFile;
use planrun_tools::host::Host;

use super::files::{self, Checked, Task};
use crate::cli::plan_files::{PlanFile, PlanFiles};
use crate::cli::{Result, Terminal};

/// Maximum number of times that all files are checked.
const MAX_PASSES: usize = 4;

/// How to apply fixes.
#[derive(Clone, Copy, Debug)]
pub(super) struct FixOptions {
    pub caution: Caution,
    /// Whether to print a diff instead of writing the files.
    pub diff_only: bool,
}

/// The result of fixing one file.
#[derive(Debug, Default)]
pub(super) struct Fixed {
    pub applied: usize,
    /// Messages about fixes that were not applied because they would cause new errors.
    pub refused: Vec<String>,
    /// The change as a unified diff, if only the diff is requested.
    pub diff: String,
    /// The text of standard input after its fixes.
    pub output: Option<String>,
}

/// Checks until no fix changes a file: a fix in one file can enable one in another file that uses it. Returns an error
/// if a project cannot be used.
pub(super) fn check_until_stable(found: &PlanFiles, task: Task<'_>) -> Result<Checked> {
    let mut checked = files::check(found, task)?;
    let mut earlier = Vec::new();
    for _ in 1..MAX_PASSES {
        let wrote = checked
            .fixed
            .iter()
            .any(|fixed| fixed.applied > 0 && fixed.diff.is_empty());
        // Standard input cannot be read again, and without a written file another pass would find the same.
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

/// Prints the number of applied fixes, or the diff. Returns an error if the output cannot be written.
pub(super) fn print_result(
    fixed: &[Fixed],
    options: Option<FixOptions>,
    terminal: Terminal,
) -> Result<()> {
    let Some(options) = options else {
        return Ok(());
    };
    for one in fixed {
        terminal.print_exactly(one.output.as_deref().unwrap_or(&one.diff))?;
    }
    for refused in fixed
        .iter()
        .flat_map(|one| &one.refused)
        .collect::<BTreeSet<_>>()
    {
        terminal.note(refused);
    }
    let applied = fixed.iter().map(|one| one.applied).sum::<usize>();
    let done = if options.diff_only {
        "to apply"
    } else {
        "applied"
    };
    terminal.note(&format!(
        "{applied} fix{} {done}",
        if applied == 1 { "" } else { "es" }
    ));
    Ok(())
}

/// Applies the fixes of one file and writes it, or computes the diff. Returns the text that the file has now, and its
/// diagnostics. Returns an error if the file cannot be written, or has changed since it was read.
pub(super) fn fix_file(
    host: &dyn Host,
    file: &PlanFile,
    source: SourceFile,
    found: Vec<Diagnostic>,
    options: FixOptions,
    check: impl FnMut(&SourceFile) -> Vec<Diagnostic>,
) -> Result<(SourceFile, Vec<Diagnostic>, Fixed), Problem> {
    let FixedText {
        text,
        left,
        applied,
        refused,
    } = fix::apply_fixes(&source, found.clone(), options.caution, check);
    let refused = refused.iter().map(|title| {
        format!(
            "{}: this fix is not applied, since it would cause errors: {title}",
            source.name()
        )
    });
    let mut fixed = Fixed {
        applied,
        refused: refused.collect(),
        ..Fixed::default()
    };
    if options.diff_only {
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

/// Replaces the old text of a file by the new one. If the path is a link, its target is written. Fails with a message
/// if the file cannot be written, or no longer has the old text.
pub(in crate::cli) fn write(
    host: &dyn Host,
    path: &Path,
    old: &str,
    new: &str,
) -> Result<(), String> {
    let place = host.canonical(path).map_err(|error| error.to_string())?;
    if host.read_file(&place).map_err(|error| error.to_string())? != old {
        return Err("it has changed since it was read".to_owned());
    }
    host.write_file(&place, new.as_bytes())
        .map_err(|error| error.to_string())
}
