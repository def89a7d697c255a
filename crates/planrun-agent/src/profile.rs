//! Profiles: the role and the style of a model.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// The role and the style of a model. Every field has a default, so that a profile contains only what differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    pub name: String,
    pub role: String,
    pub goals: Vec<String>,
    /// Typical requests.
    pub tasks: Vec<String>,
    pub backstory: String,
    /// The language of its replies, such as `zh`; empty for the language of the request.
    pub language: String,
    pub tone: String,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            name: "Planner".to_owned(),
            role: "general assistant".to_owned(),
            goals: Vec::new(),
            tasks: Vec::new(),
            backstory: String::new(),
            language: String::new(),
            tone: "concise".to_owned(),
        }
    }
}

/// The fields of a profile that a single request overrides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Overrides {
    pub name: Option<String>,
    pub role: Option<String>,
    pub goals: Option<Vec<String>>,
    pub tasks: Option<Vec<String>>,
    pub backstory: Option<String>,
    pub language: Option<String>,
    pub tone: Option<String>,
}

/// An invalid profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("{0}")]
    Unreadable(#[from] serde_yaml::Error),
    #[error("{0}")]
    Unknown(#[from] serde_json::Error),
    #[error("`{0}` is not of the form `FIELD=VALUE`")]
    NoField(String),
    #[error("`{0}` is given twice")]
    Twice(String),
}

impl Overrides {
    /// Parses overrides from `FIELD=VALUE`. A value that begins with `[` is a list in YAML; any other value is text.
    /// Returns an error for an unknown or repeated field, or a value of the wrong type.
    pub fn read(given: &[String]) -> Result<Self, ProfileError> {
        let mut fields = Map::new();
        for one in given {
            let no_field = || ProfileError::NoField(one.clone());
            let (field, value) = one.split_once('=').ok_or_else(no_field)?;
            let value = if value.trim_start().starts_with('[') {
                serde_yaml::from_str::<Vec<String>>(value)?.into()
            } else {
                Json::from(value)
            };
            if fields.insert(field.to_owned(), value).is_some() {
                return Err(ProfileError::Twice(field.to_owned()));
            }
        }
        Ok(serde_json::from_value(fields.into())?)
    }
}

impl Profile {
    /// Parses a profile from YAML or JSON. Empty text is the default profile. Returns an error with its location for an
    /// unknown key or a value of the wrong type.
    pub fn read(text: &str) -> Result<Self, ProfileError> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        Ok(serde_yaml::from_str(text)?)
    }

    /// Returns the profile for one request; `self` is unchanged.
    #[must_use]
    pub fn merged(&self, overrides: Overrides) -> Self {
        let own = self.clone();
        Self {
            name: overrides.name.unwrap_or(own.name),
            role: overrides.role.unwrap_or(own.role),
            goals: overrides.goals.unwrap_or(own.goals),
            tasks: overrides.tasks.unwrap_or(own.tasks),
            backstory: overrides.backstory.unwrap_or(own.backstory),
            language: overrides.language.unwrap_or(own.language),
            tone: overrides.tone.unwrap_or(own.tone),
        }
    }

    /// Returns the profile as instructions for a model.
    pub fn instructions(&self) -> String {
        let mut text = format!("You are {}, {}. Tone: {}.", self.name, self.role, self.tone);
        if !self.language.is_empty() {
            let _ = write!(
                text,
                " Texts for people are in this language: {}.",
                self.language
            );
        }
        if !self.backstory.is_empty() {
            let _ = write!(text, "\n{}", self.backstory);
        }
        for (title, entries) in [("Goals", &self.goals), ("Typical tasks", &self.tasks)] {
            if !entries.is_empty() {
                let _ = write!(text, "\n{title}:\n- {}", entries.join("\n- "));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s1_10_a_profile_goes_to_yaml_and_back_and_has_defaults() {
        let own = Profile::read("name: 小红\ngoals: [answer]\nlanguage: zh\n").unwrap();
        assert_eq!(
            (&*own.name, &*own.role, &*own.tone),
            ("小红", "general assistant", "concise")
        );
        let written = serde_json::to_string(&own).unwrap();
        assert_eq!(Profile::read(&written).unwrap(), own);
        assert_eq!(Profile::read(" \n").unwrap(), Profile::default());
        assert_eq!(Profile::read("{}").unwrap(), Profile::default());
    }

    #[test]
    fn s1_10_keys_that_profiles_do_not_have_are_told() {
        let text = Profile::read("persona: x\n").unwrap_err().to_string();
        assert!(
            text.contains("persona") && text.contains("backstory"),
            "{text}"
        );
    }

    #[test]
    fn s1_10_merging_changes_only_what_is_said_and_not_the_profile() {
        let own = Profile::default();
        let merged = own.merged(Overrides {
            tone: Some("warm".to_owned()),
            ..Overrides::default()
        });
        assert_eq!((&*merged.tone, merged.name), ("warm", own.name.clone()));
        assert_eq!(own, Profile::default());
    }

    #[test]
    fn s1_1_fields_of_a_request_are_read_as_they_are_written() {
        let read = |given: &[&str]| {
            let given: Vec<String> = given.iter().map(|one| (*one).to_owned()).collect();
            Overrides::read(&given)
        };
        let overrides = read(&["tone=warm: yes", "goals=[a, b]", "name="]).unwrap();
        let goals = Some(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(overrides.goals, goals);
        let own = Profile::default().merged(overrides);
        assert_eq!((&*own.tone, &*own.name), ("warm: yes", ""));
        for (wrong, expected) in [
            (&["tone"][..], "not of the form `FIELD=VALUE`"),
            (&["tone=a", "tone=b"], "given twice"),
            (&["persona=x"], "persona"),
            (&["goals=x"], "sequence"),
        ] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn what_is_empty_is_not_told() {
        let text = Profile::default().instructions();
        assert_eq!(text, "You are Planner, general assistant. Tone: concise.");
    }
}
