//! Changes to the severities of codes by the project or the command line.

use super::{Code, Diagnostic, Severity, closest, codes};

/// The name that denotes all warnings.
const WARNINGS: &str = "warnings";

/// Changes to the default severities of codes.
///
/// A code that is denied by name is an error, a warning or note that is allowed by name is not reported, and all other
/// warnings are errors if warnings are denied. Within one source, allowing takes precedence over denying; between
/// sources, the one with the higher precedence decides on the codes that it names. An error cannot be allowed: a plan
/// with one does not run.
#[derive(Clone, Debug, Default)]
pub struct Severities {
    /// In order of precedence, the highest first.
    layers: Vec<Layer>,
}

/// The changes by one source: the command line or the project.
#[derive(Clone, Debug, Default)]
struct Layer {
    deny: Vec<&'static Code>,
    allow: Vec<&'static Code>,
    enable: Vec<&'static Code>,
    deny_warnings: bool,
}

/// A name that is not the name of a code.
#[derive(Debug, thiserror::Error)]
#[error("there is no code `{name}`{}", self.hint())]
pub struct UnknownCode {
    pub name: String,
    pub nearest: Option<&'static str>,
}

impl Severities {
    /// Parses the names of codes. `deny` may also contain `warnings`; `enable` enables optional codes.
    ///
    /// # Errors
    /// Returns the first name that is not the name of a code.
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

    /// Returns true if an optional code is enabled, or denied by name.
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

    /// Combines these changes with those of `outer`, over which they take precedence.
    #[must_use]
    pub fn over(&self, outer: &Self) -> Self {
        Self {
            layers: self.layers.iter().chain(&outer.layers).cloned().collect(),
        }
    }

    /// Drops the diagnostics that are allowed and raises those that are denied to errors.
    pub fn apply(&self, diagnostics: &mut Vec<Diagnostic>) {
        diagnostics.retain_mut(|diagnostic| {
            let decided = self.severity(diagnostic.code, diagnostic.severity);
            diagnostic.severity = decided.unwrap_or(diagnostic.severity);
            decided.is_some()
        });
    }

    /// Returns the severity of a diagnostic; `None` if it is not reported.
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
            Some(nearest) => format!("; did you mean `{nearest}`?"),
            None => "; `planrun explain` lists all codes".to_owned(),
        }
    }
}

/// Returns the code with this name.
///
/// # Errors
/// Returns an error with the nearest name if there is no such code.
pub fn code_named(name: &str) -> Result<&'static Code, UnknownCode> {
    find(name, None)
}

/// Returns the code with this name, or an error that suggests the nearest one; `further` is another valid name.
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
            codes::names::UNKNOWN_NAME.at(Span::at(0), "e"),
            codes::names::UNUSED_LET.at(Span::at(0), "w"),
            codes::names::UNUSED_RESULT.at(Span::at(0), "n"),
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
        let found = || vec![codes::names::UNUSED_LET.at(Span::at(0), "w")];
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
