//! The pinned document of a run: the text of its plan, every file that was read to check it, and its inputs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::permission::Confinement;
use planrun_lang::secrets::{MARK, at_path, redact_paths};
use planrun_lang::sema::{Plan, PlanParameter};
use planrun_lang::source::SourceFile;
use planrun_lang::syntax::json::{self, canonical_json};
use planrun_lang::syntax::parse;
use planrun_lang::value::{Value, path_below, split_path};
use planrun_tools::host::Pins;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Error, Inputs, Journal};
use crate::journal::store::{Digest, RunRow};
use planrun_core::journal::{EventRedactor, ReplayState, deep};
use planrun_core::run::Approval;

/// The pinned document. Paths are relative to the folder of the project.
#[derive(Debug, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent fact of the run"
)]
pub(super) struct Pinned {
    version: u32,
    /// Name of the plan's file, as the user wrote it.
    pub file: String,
    pub text: String,
    pub plan: String,
    /// Whether the project has a `planrun.yaml`.
    pub has_project_file: bool,
    pins: Pins,
    /// Inputs by name, as typed JSON.
    inputs: BTreeMap<String, Json>,
    /// Whether app tools answer from their `mock:` sections.
    pub mock: bool,
    pub max_steps: Option<u64>,
    /// Whether `recover` arms that only replace a result by a placeholder are disabled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// Whether a model wrote the plan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confined: bool,
    /// Grants that restrict it in addition to the project's `allow`.
    #[serde(default, skip_serializing_if = "<[Confinement]>::is_empty")]
    pub within: Arc<[Confinement]>,
    /// The approval that a person has to give before the run does anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// The run whose results it copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<PinnedBase>,
    /// The contracts of the tools that the program has added and the plan calls, as digests by the names of the tools.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub own_contracts: BTreeMap<String, String>,
    /// Paths of sensitive values in the inputs; their first field is the name of the input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sensitive: Vec<Arc<str>>,
}

/// How a run copies results of another one. That one has ended, so its results do not change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PinnedBase {
    pub run: String,
    /// A step that is executed again, with everything below it in the text.
    pub from: Option<String>,
    /// Whether effects of the other run may be repeated.
    pub repeats_effects: bool,
}

/// Version of this document.
const VERSION: u32 = 1;

/// Returns the meaning of a plan's text, independent of its layout.
fn meaning(name: &str, text: &str) -> String {
    let source = SourceFile::new(name, text);
    canonical_json(&parse(&source).file).unwrap_or_else(|| text.to_owned())
}

impl Pinned {
    pub(super) fn new(
        (file, text, plan): (&str, &str, &Plan),
        (folder, has_project_file, pins): (&Path, bool, &Pins),
        inputs: &Inputs,
        (mock, max_steps, strict): (bool, Option<u64>, bool),
    ) -> Self {
        let inputs = inputs
            .0
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_typed_json()))
            .collect();
        let pins = relocated(pins, &|path| {
            path.strip_prefix(folder).unwrap_or(path).to_owned()
        });
        let labels = |parameter: &PlanParameter| {
            let name = parameter.name.clone();
            parameter
                .sensitive
                .iter()
                .map(move |path| path_below(&name, path))
                .collect::<Vec<_>>()
        };
        let sensitive = plan.parameters.iter().flat_map(labels).collect();
        let (file, text, plan) = (file.to_owned(), text.to_owned(), plan.name.to_string());
        Self {
            version: VERSION,
            file,
            text,
            plan,
            has_project_file,
            pins,
            inputs,
            mock,
            max_steps,
            strict,
            confined: false,
            within: Arc::default(),
            approval: None,
            base: None,
            own_contracts: BTreeMap::new(),
            sensitive,
        }
    }

    /// Parses the document.
    ///
    /// # Errors
    /// Returns an error if the document cannot be parsed or has another version.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Error> {
        let unusable = |why: String| {
            Error::Unusable(format!(
                "the pinned document of the run cannot be read: {why}"
            ))
        };
        let pinned: Self = deep::from_slice(bytes).map_err(|error| unusable(error.to_string()))?;
        if pinned.version == VERSION {
            return Ok(pinned);
        }
        Err(unusable(format!(
            "it has version {}, but this planrun supports version {VERSION}",
            pinned.version
        )))
    }

    /// Returns the pinned document of a run, or that of its last patch.
    ///
    /// # Errors
    /// Returns an error if the document cannot be read.
    pub(super) fn of(journal: &Journal, row: &RunRow, replay: &ReplayState) -> Result<Self, Error> {
        match &replay.patched {
            Some(digest) => {
                let digest: Digest = digest.parse().map_err(|error| {
                    let run = &row.run;
                    Error::Unusable(format!(
                        "the hash `{digest}` of the last patch of the run `{run}` is {error}"
                    ))
                })?;
                Self::read(&journal.blob(digest)?)
            }
            None => Self::read(&journal.pinned(&row.run)?),
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Returns the digest that two starts with the same id must share to be the same run. It covers the meaning of
    /// their plans, independent of the layout of the text, the other pinned files byte by byte, the inputs, the
    /// options, and what restricts the run in addition to the project. It does not cover `approval` and `base`.
    pub(super) fn digest(&self) -> Digest {
        let mut bytes = meaning(&self.file, &self.text).into_bytes();
        let mut part = |text: &[u8]| {
            bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
            bytes.extend_from_slice(text);
        };
        for (path, text) in &self.pins.files {
            let name = path.to_string_lossy();
            part(name.as_bytes());
            if is_plan(&name) {
                part(meaning(&name, text).as_bytes());
            } else {
                part(text.as_bytes());
            }
        }
        let rest = (
            &self.plan,
            self.has_project_file,
            &self.inputs,
            self.mock,
            self.max_steps,
            self.strict,
        );
        part(&serde_json::to_vec(&rest).unwrap_or_default());
        // A run without restrictions keeps the digest that it had before restrictions were part of it.
        if self.confined || !self.within.is_empty() {
            let restrictions = (self.confined, &self.within);
            part(&serde_json::to_vec(&restrictions).unwrap_or_default());
        }
        Digest::of(&bytes)
    }

    /// Returns what the digest covers and differs from the document of an earlier start, without any values.
    pub(super) fn differences(&self, earlier: &Self) -> Vec<String> {
        let mut found = Vec::new();
        let of = |pinned: &Self| (pinned.plan.clone(), meaning(&pinned.file, &pinned.text));
        if of(self) != of(earlier) {
            found.push("the plan".to_owned());
        }
        let files = |one: &Self, other: &Self| {
            let files = one.pins.files.iter();
            let files = files.filter(|(path, text)| other.pins.files.get(*path) != Some(*text));
            files.map(|(path, _)| path.clone()).collect::<BTreeSet<_>>()
        };
        let files = &files(self, earlier) | &files(earlier, self);
        found.extend(
            files
                .iter()
                .map(|path| format!("the file `{}`", path.display())),
        );
        let names: BTreeSet<&String> = self.inputs.keys().chain(earlier.inputs.keys()).collect();
        found.extend(names.into_iter().filter_map(|name| {
            match (self.inputs.get(name), earlier.inputs.get(name)) {
                (Some(_), None) => Some(format!("the input `{name}` (not given then)")),
                (None, Some(_)) => Some(format!("the input `{name}` (given then)")),
                (now, then) => (now != then).then(|| format!("the value of the input `{name}`")),
            }
        }));
        let options = [
            ("mock", self.mock != earlier.mock),
            ("max-steps", self.max_steps != earlier.max_steps),
            ("strict", self.strict != earlier.strict),
        ];
        let options = options.into_iter().filter(|(_, differs)| *differs);
        found.extend(options.map(|(option, _)| format!("the option `--{option}`")));
        if (self.confined, &self.within) != (earlier.confined, &earlier.within) {
            found.push("the permissions".to_owned());
        }
        found
    }

    /// Returns the pinned files other than plans that have another text in a later document.
    pub(super) fn changed_files(&self, later: &Self) -> Vec<String> {
        let files = self.pins.files.iter().filter(|(path, text)| {
            let now = later.pins.files.get(*path);
            !is_plan(&path.to_string_lossy()) && now.is_some_and(|now| now != *text)
        });
        files.map(|(path, _)| path.display().to_string()).collect()
    }

    /// Returns the pinned files, at their paths below this folder.
    pub(super) fn pins(&self, folder: &Path) -> Pins {
        relocated(&self.pins, &|path| {
            if path.is_absolute() {
                path.to_owned()
            } else {
                folder.join(path)
            }
        })
    }

    /// Registers the sensitive inputs as secrets.
    ///
    /// # Errors
    /// Returns an error if an input is not a typed value.
    pub(super) fn add_secrets(&self, redactor: &mut EventRedactor) -> Result<(), Error> {
        let inputs = self.inputs()?;
        let inputs = Value::object(inputs.0);
        for path in &self.sensitive {
            at_path(&inputs, path, &mut |secret| redactor.add_value(secret));
        }
        Ok(())
    }

    /// Returns the inputs as JSON, with those that are sensitive redacted.
    ///
    /// # Errors
    /// Returns an error if an input is not a typed value.
    pub(super) fn redacted_inputs(&self) -> Result<Json, Error> {
        let inputs = Value::object(self.inputs()?.0);
        Ok(redact_paths(&inputs, &self.sensitive).to_json())
    }

    /// Returns the document with sensitive inputs redacted.
    pub(super) fn redacted(mut self) -> Vec<u8> {
        for path in &self.sensitive {
            let (name, rest) = split_path(path);
            if let Some(input) = self.inputs.get_mut(&*name) {
                // An input that cannot be read is redacted as a whole.
                let redacted = Value::from_typed_json(input).map_or_else(
                    |_| MARK.into(),
                    |value| redact_paths(&value, &[rest.into()]),
                );
                *input = redacted.to_typed_json();
            }
        }
        self.to_bytes()
    }

    /// Returns the inputs by name.
    ///
    /// # Errors
    /// Returns an error if an input is not a typed value.
    pub(super) fn inputs(&self) -> Result<Inputs, Error> {
        let read = |(name, json): (&String, &Json)| match Value::from_typed_json(json) {
            Ok(value) => Ok((name.as_str().into(), value)),
            Err(error) => Err(Error::Unusable(format!(
                "the input `{name}` of the run cannot be read: {error}"
            ))),
        };
        self.inputs
            .iter()
            .map(read)
            .collect::<Result<_, _>>()
            .map(Inputs)
    }
}

fn is_plan(file: &str) -> bool {
    let mut endings = [".plan", json::ENDING].into_iter();
    endings.any(|ending| file.ends_with(ending))
}

fn relocated(pins: &Pins, place: &dyn Fn(&Path) -> PathBuf) -> Pins {
    Pins {
        files: pins
            .files
            .iter()
            .map(|(path, text)| (place(path), text.clone()))
            .collect(),
        folders: pins
            .folders
            .iter()
            .map(|(path, all)| (place(path), all.iter().map(|path| place(path)).collect()))
            .collect(),
        kinds: pins
            .kinds
            .iter()
            .map(|(path, kind)| (place(path), *kind))
            .collect(),
    }
}
