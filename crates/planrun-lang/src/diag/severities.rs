//! What a project or a command line makes of severities: codes denied, codes allowed.

use super::{Code, Diagnostic, Severity, closest, codes};

/// The word that stands for every warning.
const WARNINGS: &str = "warnings";

/// Changes to the severities that codes have by themselves.
///
/// A code that is denied by name is an error, a warning or note that is allowed by name is not reported, and every other
/// warning is an error where warnings are denied. Allowing wins over denying. An error cannot be allowed: a plan with
/// one does not run.
#[derive(Clone, Debug, Default)]
pub struct Severities {
    /// The nearest to the user first.
    layers: Vec<Layer>,
}

/// What one place says: the command line, or the project.
#[derive(Clone, Debug, Default)]
struct Layer {
    deny: Vec<&'static Code>,
    allow: Vec<&'static Code>,
    enable: Vec<&'static Code>,
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
    /// Reads the names of codes; `deny` may also name `warnings`. `enable` asks for codes that are reported on request only.
    ///
    /// # Errors
    /// The first name that is no code.
    pub fn parse(
        deny: impl IntoIterator<Item = impl AsRef<str>>,
        allow: impl IntoIterator<Item = impl AsRef<str>>,
        enable: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, UnknownCode> {
        let mut layer = Layer::default();
        for name in deny {
            match name.as_ref() {
                WARNINGS => layer.deny_warnings = true,
                name => layer.deny.push(find(name, Some(WARNINGS))?),
            }
        }
        for name in allow {
            layer.allow.push(code_named(name.as_ref())?);
        }
        for name in enable {
            layer.enable.push(code_named(name.as_ref())?);
        }
        Ok(Self {
            layers: vec![layer],
        })
    }

    /// Whether a code that is reported on request only is asked for.
    #[must_use]
    pub fn enables(&self, code: &Code) -> bool {
        self.layers.iter().any(|layer| {
            layer
                .enable
                .iter()
                .chain(&layer.deny)
                .any(|asked| *asked == code)
        })
    }

    /// These changes, and those of `outer` where these say nothing of a code.
    #[must_use]
    pub fn over(&self, outer: &Self) -> Self {
        Self {
            layers: self.layers.iter().chain(&outer.layers).cloned().collect(),
        }
    }

    /// Drops what is allowed and raises what is denied.
    pub fn apply(&self, diagnostics: &mut Vec<Diagnostic>) {
        diagnostics.retain_mut(|diagnostic| {
            let decided = self.severity(diagnostic.code, diagnostic.severity);
            diagnostic.severity = decided.unwrap_or(diagnostic.severity);
            decided.is_some()
        });
    }

    /// What a finding weighs; `None` where it is not reported.
    fn severity(&self, code: &'static Code, own: Severity) -> Option<Severity> {
        if own == Severity::Error {
            return Some(own);
        }
        for layer in &self.layers {
            if layer.allow.contains(&code) {
                return None;
            }
            if layer.deny.contains(&code) {
                return Some(Severity::Error);
            }
        }
        let raised =
            own == Severity::Warning && self.layers.iter().any(|layer| layer.deny_warnings);
        Some(if raised { Severity::Error } else { own })
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
        UnknownCode {
            name: name.to_owned(),
            nearest: closest(name, names),
        }
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
        Severities::parse(deny, allow, [""; 0])
            .unwrap()
            .apply(&mut found);
        found.iter().map(|diagnostic| diagnostic.severity).collect()
    }

    #[test]
    fn allowing_wins_over_denying_and_notes_are_denied_by_name_only() {
        use Severity::{Error, Note, Warning};
        assert_eq!(severities_of(&["warnings"], &[]), [Error, Error, Note]);
        assert_eq!(
            severities_of(&["unused-result"], &["unused-let"]),
            [Error, Error]
        );
        assert_eq!(severities_of(&["warnings"], &["unused-let"]), [Error, Note]);
        assert_eq!(
            severities_of(&[], &["unknown-name"]),
            [Error, Warning, Note],
            "an error stays"
        );
    }

    #[test]
    fn the_nearer_place_decides_of_what_it_names() {
        let found = || vec![Diagnostic::new(&codes::names::UNUSED_LET, Span::at(0), "w")];
        let after = |near: (&[&str], &[&str]), far: (&[&str], &[&str])| {
            let mut found = found();
            let far = Severities::parse(far.0, far.1, [""; 0]).unwrap();
            Severities::parse(near.0, near.1, [""; 0])
                .unwrap()
                .over(&far)
                .apply(&mut found);
            found.first().map(|found| found.severity)
        };
        let (nothing, named): (&[&str], &[&str]) = (&[], &["unused-let"]);
        assert_eq!(
            after((named, nothing), (nothing, named)),
            Some(Severity::Error)
        );
        assert_eq!(after((nothing, named), (named, nothing)), None);
        assert_eq!(
            after((&["warnings"], nothing), (nothing, named)),
            None,
            "a name says more than all"
        );
        assert_eq!(
            after((nothing, nothing), (&["warnings"], nothing)),
            Some(Severity::Error)
        );
    }

    #[test]
    fn a_misspelt_code_gets_a_suggestion() {
        let error = Severities::parse(["unused-lets"], [""; 0], [""; 0]).unwrap_err();
        assert_eq!(error.nearest, Some("unused-let"));
        assert_eq!(
            Severities::parse(["warning"], [""; 0], [""; 0])
                .unwrap_err()
                .nearest,
            Some("warnings")
        );
    }
}
