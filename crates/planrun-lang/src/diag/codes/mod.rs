//! The catalog of diagnostic codes: each has a constant and a page.

/// Declares the codes of a group in catalog order, each with its severity and its name, which is also that of its page.
macro_rules! codes {
    ($($(#[$attribute:meta])* $weight:ident $code:ident = $name:literal;)+) => {
        $($(#[$attribute])* pub static $code: Code =
            Code::$weight($name, include_str!(concat!("pages/", $name, ".md")));)+

        pub(super) static ALL: &[&Code] = &[$(&$code),+];
    };
}

pub mod contracts;
pub mod effects;
pub mod failure;
pub mod names;
pub mod order;
pub mod safety;
pub mod suppression;
pub mod tests;
pub mod text;
pub mod types;

use std::fmt;

/// The severity of a diagnostic.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The plan does not run.
    Error,
    /// The plan runs, but probably does not do what was meant.
    Warning,
    /// Information for the author.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        })
    }
}

/// A kind of diagnostic.
#[derive(Debug)]
pub struct Code {
    /// The stable kebab-case name.
    pub name: &'static str,
    pub severity: Severity,
    /// The page as Markdown: a first sentence with the meaning, the reason why it is a problem, a bad and a good plan.
    pub page: &'static str,
    /// Reported only if enabled.
    pub optional: bool,
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Code {
    const fn error(name: &'static str, page: &'static str) -> Self {
        Self::new(name, page, Severity::Error)
    }

    const fn warning(name: &'static str, page: &'static str) -> Self {
        Self::new(name, page, Severity::Warning)
    }

    const fn note(name: &'static str, page: &'static str) -> Self {
        Self::new(name, page, Severity::Note)
    }

    const fn optional_note(name: &'static str, page: &'static str) -> Self {
        Self {
            optional: true,
            ..Self::note(name, page)
        }
    }

    const fn new(name: &'static str, page: &'static str, severity: Severity) -> Self {
        Self {
            name,
            severity,
            page,
            optional: false,
        }
    }
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Code {}

/// The codes under the headings of the list.
pub static GROUPS: [(&str, &[&Code]); 10] = [
    ("Text", text::ALL),
    ("Names", names::ALL),
    ("Types", types::ALL),
    ("Order", order::ALL),
    ("Failure", failure::ALL),
    ("Effects", effects::ALL),
    ("Safety", safety::ALL),
    ("Contracts", contracts::ALL),
    ("Tests", tests::ALL),
    ("Suppression", suppression::ALL),
];

/// Returns all codes, group by group.
pub fn all() -> impl Iterator<Item = &'static Code> {
    GROUPS.iter().flat_map(|(_, codes)| codes.iter().copied())
}

/// Returns the code with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Code> {
    all().find(|code| code.name == name)
}
