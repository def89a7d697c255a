//! What a project or a command line makes of severities: codes denied, codes allowed.

use super::{Code, Diagnostic, Severity, closest, codes};

/// The word that stands for every warning.
const WARNINGS: &str = "warnings";

/// Changes to the severities that codes have by themselves.
///
/// A code that is denied by name is an error, one that is allowed by name is not reported, and every other warning is
/// an error where warnings are denied. Allowing wins over denying.
#[derive(Clone, Debug, Default)]
pub struct Severities {
    deny: Vec<&'static Code>,
    allow: Vec<&'static Code>,
    deny_warnings: bool,
}

/// A name that is no code.
#[derive(Debug, thiserror::Error)]
#[error("there is no code `{name}`{}", self.hint())]
pub struct UnknownCode {
    pub name: String,
    pub nearest: Option<&'static str>,
}

impl Severities {
    /// Reads the names of codes; `deny` may also name `warnings`.
    ///
    /// # Errors
    /// The first name that is no code.
    pub fn parse(
        deny: impl IntoIterator<Item = impl AsRef<str>>,
        allow: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, UnknownCode> {
        let mut severities = Self::default();
        for name in deny {
            match name.as_ref() {
                WARNINGS => severities.deny_warnings = true,
                name => severities.deny.push(find(name, Some(WARNINGS))?),
            }
        }
        for name in allow {
            severities.allow.push(code_named(name.as_ref())?);
        }
        Ok(severities)
    }

    /// Drops what is allowed and raises what is denied.
    pub fn apply(&self, diagnostics: &mut Vec<Diagnostic>) {
        diagnostics.retain(|diagnostic| !self.allow.contains(&diagnostic.code));
        for diagnostic in diagnostics {
            let warning = diagnostic.severity == Severity::Warning;
            if self.deny.contains(&diagnostic.code) || (warning && self.deny_warnings) {
                diagnostic.severity = Severity::Error;
            }
        }
    }
}

impl UnknownCode {
    fn hint(&self) -> String {
        match self.nearest {
            Some(nearest) => format!(", did you mean `{nearest}`?"),
            None => "; `planrun explain` lists all".to_owned(),
        }
    }
}

/// The code with this name.
///
/// # Errors
/// With the nearest name when there is none.
pub fn code_named(name: &str) -> Result<&'static Code, UnknownCode> {
    find(name, None)
}

/// The code with this name, or what it may have been meant to be.
fn find(name: &str, further: Option<&'static str>) -> Result<&'static Code, UnknownCode> {
    codes::find(name).ok_or_else(|| {
        let names = codes::all().map(|code| code.name).chain(further);
        UnknownCode { name: name.to_owned(), nearest: closest(name, names) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

    fn severities_of(deny: &[&str], allow: &[&str]) -> Vec<Severity> {
        let mut found = vec![
            Diagnostic::new(&codes::names::UNKNOWN_NAME, Span::at(0), "e"),
            Diagnostic::new(&codes::names::UNUSED_LET, Span::at(0), "w"),
            Diagnostic::new(&codes::names::UNUSED_RESULT, Span::at(0), "n"),
        ];
        Severities::parse(deny, allow).unwrap().apply(&mut found);
        found.iter().map(|diagnostic| diagnostic.severity).collect()
    }

    #[test]
    fn allowing_wins_over_denying_and_notes_are_denied_by_name_only() {
        use Severity::{Error, Note};
        assert_eq!(severities_of(&["warnings"], &[]), [Error, Error, Note]);
        assert_eq!(severities_of(&["unused-result"], &["unused-let"]), [Error, Error]);
        assert_eq!(severities_of(&["warnings"], &["unused-let"]), [Error, Note]);
    }

    #[test]
    fn a_misspelt_code_gets_a_suggestion() {
        let error = Severities::parse(["unused-lets"], [""; 0]).unwrap_err();
        assert_eq!(error.nearest, Some("unused-let"));
        assert_eq!(Severities::parse(["warning"], [""; 0]).unwrap_err().nearest, Some("warnings"));
    }
}
