//! `save`: a plan that passes the check becomes a file of the project.

use planrun_lang::format::format;
use planrun_lang::source::SourceFile;

use super::arguments::Arguments;
use super::saved::{ENDING, FOLDER, PREFIX, is_tool_name};
use super::{PlanMode, Reply, definitions};

/// Why a plan was not kept, in words that say what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotKept(String);

impl PlanMode {
    pub(super) fn save(&self, arguments: &mut Arguments) -> Result<Reply, Reply> {
        let name: String = arguments.required("name")?;
        let text: String = arguments.required("plan")?;
        arguments.done()?;
        let file = self.kept(&name, &text)?;
        Ok(Reply::text(format!(
            "Saved as {file}: it is the tool `{name}` from now on, and run(plan: \"{PREFIX}{name}\") runs it."
        )))
    }

    /// Keeps a plan that passes the check, as a file that people can read, review and change; the name of that file in the
    /// project.
    ///
    /// # Errors
    /// The plan has errors, the name is taken or none for a plan, or the file cannot be written.
    pub fn keep(&self, name: &str, text: &str) -> Result<String, NotKept> {
        self.kept(name, text).map_err(|reply| match reply {
            Reply::Failed(why) | Reply::Unknown(why) | Reply::Told { text: why, .. } => {
                NotKept(why)
            }
            Reply::Waits { .. } | Reply::Asks(..) => {
                NotKept("a question stands in its way".to_owned())
            }
        })
    }

    fn kept(&self, name: &str, text: &str) -> Result<String, Reply> {
        let taken = definitions().iter().any(|own| own.name == name);
        let is_name = name.starts_with(|first: char| first.is_ascii_lowercase());
        if taken || !is_name || !is_tool_name(name) || name.contains('-') {
            return Err(Reply::Failed(format!(
                "Nothing was saved: `{name}` is no name for a plan. Small letters, digits and `_`, at most 64, and none of {}.",
                definitions().map(|own| own.name).join(", ")
            )));
        }
        let plan = self.checked(text)?;
        let own = &plan.plan.name;
        let source = SourceFile::new(plan.source.name(), plan.source.text().to_owned());
        let whole = format(&source).unwrap_or_else(|_| plan.source.text().to_owned());
        let whole = named(&whole, own, name).ok_or_else(|| {
            Reply::Failed(format!(
                "Nothing was saved: write `plan {name}(…)` in place of `plan {own}(…)`."
            ))
        })?;
        let folder = self.planrun.location().folder.join(FOLDER);
        let file = folder.join(format!("{name}.{ENDING}"));
        let host = self.planrun.host();
        let failed = |error: std::io::Error| {
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
            Err(_) => {
                host.make_folder(&folder).map_err(failed)?;
                host.write_file(&file, whole.as_bytes()).map_err(failed)?;
            }
        }
        self.forget();
        self.look();
        Ok(format!("{FOLDER}/{name}.{ENDING}"))
    }
}

/// The text of a plan with another name in its head; nothing where its head is not found.
fn named(text: &str, own: &str, name: &str) -> Option<String> {
    if own == name {
        return Some(text.to_owned());
    }
    let head = format!("plan {own}(");
    (text.matches(&head).count() == 1).then(|| text.replacen(&head, &format!("plan {name}("), 1))
}
