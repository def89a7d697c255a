//! `save`: writes a plan that passes the check to a file of the project.

use std::io::{self, ErrorKind};

use planrun_lang::format::format;
use planrun_lang::source::{SourceFile, Span};
use planrun_runs::runs::PlanText;

use super::arguments::Arguments;
use super::saved::{EXTENSION, FOLDER, PREFIX, is_tool_name};
use super::{PlanMode, Reply, definitions};

/// Why a plan was not saved, with what to do about it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SaveError(String);

impl PlanMode {
    pub(super) fn save(&self, arguments: &mut Arguments) -> Result<Reply, Reply> {
        let name: String = arguments.required("name")?;
        let text: String = arguments.required("plan")?;
        arguments.done()?;
        let file = self.write_plan(&name, &text)?;
        Ok(Reply::text(format!(
            "Saved as {file}: it is now the tool `{name}`, and run(plan: \"{PREFIX}{name}\") runs it."
        )))
    }

    /// Saves a plan that passes the check as a file that people can read, review and change. Returns the path of that
    /// file in the project. Returns an error if the plan has errors, the name is taken or not valid for a plan, or the
    /// file cannot be written.
    pub fn keep(&self, name: &str, text: &str) -> Result<String, SaveError> {
        self.write_plan(name, text).map_err(|reply| match reply {
            Reply::Failed(why) | Reply::Unknown(why) | Reply::Success { text: why, .. } => {
                SaveError(why)
            }
            Reply::Waits { .. } | Reply::Asks(..) => {
                SaveError("saving it requires an answer".to_owned())
            }
        })
    }

    /// Checks the name of a plan to be saved. Returns an error if no plan can have it.
    pub fn valid_name(name: &str) -> Result<(), SaveError> {
        let taken = definitions().iter().any(|own| own.name == name);
        let is_name = name.starts_with(|first: char| first.is_ascii_lowercase());
        if taken || !is_name || !is_tool_name(name) || name.contains('-') {
            return Err(SaveError(format!(
                "Nothing was saved: `{name}` is not a valid plan name. Use lower-case letters, digits and `_`, at most 64, and \
                 none of {}.",
                definitions().map(|own| own.name).join(", ")
            )));
        }
        Ok(())
    }

    fn write_plan(&self, name: &str, text: &str) -> Result<String, Reply> {
        Self::valid_name(name).map_err(|SaveError(why)| Reply::Failed(why))?;
        let plan = self.checked(text)?;
        let own = &plan.plan.name;
        let source = SourceFile::new(plan.source.name(), plan.source.text().to_owned());
        let whole = format(&source).unwrap_or_else(|_| plan.source.text().to_owned());
        let folder = self.planrun.location().folder.join(FOLDER);
        let file = folder.join(format!("{name}.{EXTENSION}"));
        // The files that it uses are resolved relative to its own folder.
        let place = file.to_string_lossy();
        let there = |text: &str| self.planrun.check(PlanText::new(&place, text))?.plan(None);
        let whole = named(&whole, there(&whole)?.plan.span, own, name).ok_or_else(|| {
            Reply::Failed(format!(
                "Nothing was saved: write `plan {name}(…)` in place of `plan {own}(…)`."
            ))
        })?;
        there(&whole)?;
        let host = self.planrun.host();
        let failed = |error: io::Error| {
            Reply::Failed(format!("Nothing was saved: {}: {error}", file.display()))
        };
        match host.read_file(&file) {
            Ok(known) if known == whole => {}
            Ok(_) => {
                return Err(Reply::Failed(format!(
                    "Nothing was saved: there is another plan `{name}`. Choose another name, or let the person change {}.",
                    file.display()
                )));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                host.make_folder(&folder).map_err(failed)?;
                host.write_file(&file, whole.as_bytes()).map_err(failed)?;
            }
            Err(error) => {
                return Err(Reply::Failed(format!(
                    "Nothing was saved: {} exists and cannot be read: {error}. Choose another name, or let the person change \
                     it.",
                    file.display()
                )));
            }
        }
        self.listing.forget();
        self.listing.check_for_changes();
        Ok(format!("{FOLDER}/{name}.{EXTENSION}"))
    }
}

/// Returns the text of a plan with another name in its declaration, which is at `span`; `None` if it has none.
fn named(text: &str, span: Span, own: &str, name: &str) -> Option<String> {
    let (start, end) = (span.start as usize, span.end as usize);
    let mut named = text.to_owned();
    if text.get(start..end)? != own {
        return (own == name).then_some(named);
    }
    named.replace_range(start..end, name);
    Some(named)
}
