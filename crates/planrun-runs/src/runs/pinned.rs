//! What a run is bound to: the text of its plan, every file that was read to check it, and its inputs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::permission::Grant;
use planrun_lang::secrets::{at_path, hidden};
use planrun_lang::sema::{Plan, PlanParameter};
use planrun_lang::source::SourceFile;
use planrun_lang::syntax::json::{self, definitions, meaning_of};
use planrun_lang::syntax::parse;
use planrun_lang::value::Value;
use planrun_tools::host::Pins;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Error, Inputs, Journal};
use crate::journal::store::{Digest, RunRow};
use planrun_core::journal::{EventRedactor, ReplayState, labelled};
use planrun_core::run::Approval;

/// The document that a journal keeps of a run. Paths are relative to the folder of the project.
#[derive(Debug, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent fact of the run"
)]
pub(super) struct Pinned {
    version: u32,
    /// The name of the plan's file, as the user wrote it.
    pub file: String,
    pub text: String,
    pub plan: String,
    /// Whether the project has a `planrun.yaml`.
    pub has_project_file: bool,
    pins: Pins,
    /// Typed JSON by name.
    inputs: BTreeMap<String, Json>,
    /// App tools are answered by their `mock:` sections.
    pub mock: bool,
    pub max_steps: Option<u64>,
    /// No `recover` arm puts a value in the place of a result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// Whether a model has written its plan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confined: bool,
    /// What it reaches at most, beside what the project allows.
    #[serde(default, skip_serializing_if = "<[Grant]>::is_empty")]
    pub within: Arc<[Grant]>,
    /// What somebody has to agree to before it does anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// The places in inputs that must not be shown; their first field is the name of the input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sensitive: Vec<Arc<str>>,
}

/// The version of this document.
const VERSION: u32 = 1;

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
        let pins = moved(pins, &|path| {
            path.strip_prefix(folder).unwrap_or(path).to_owned()
        });
        let labels = |parameter: &PlanParameter| {
            let name = parameter.name.clone();
            parameter
                .sensitive
                .iter()
                .map(move |path| labelled(&name, path))
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
            sensitive,
        }
    }

    /// Reads the document.
    ///
    /// # Errors
    /// When another version wrote it.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Error> {
        let unusable = |why: String| {
            Error::Unusable(format!("what the run is bound to cannot be read: {why}"))
        };
        let pinned: Self =
            serde_json::from_slice(bytes).map_err(|error| unusable(error.to_string()))?;
        if pinned.version == VERSION {
            return Ok(pinned);
        }
        Err(unusable(format!(
            "it has version {}, and this planrun knows {VERSION}",
            pinned.version
        )))
    }

    /// What a run is bound to; after a patch, to what that has brought.
    ///
    /// # Errors
    /// When that cannot be read.
    pub(super) fn of(journal: &Journal, row: &RunRow, past: &ReplayState) -> Result<Self, Error> {
        match &past.patched {
            Some(digest) => {
                let digest: Digest = digest
                    .parse()
                    .map_err(|error| Error::Unusable(format!("`{digest}`: {error}")))?;
                Self::read(&journal.blob(digest)?)
            }
            None => Self::read(&journal.pinned(&row.run)?),
        }
    }

    /// What each statement of its plan means, by its name.
    pub(super) fn definitions(&self) -> BTreeMap<String, String> {
        let source = SourceFile::new(&*self.file, &*self.text);
        definitions(&parse(&source).file, &self.plan)
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The digest that two starts with the same id must share to be one run: of the meaning of their plans, whatever the
    /// layout of the text, and of everything else byte for byte.
    pub(super) fn digest(&self) -> Digest {
        let meaning = |name: &str, text: &str| {
            let source = SourceFile::new(name, text);
            meaning_of(&parse(&source).file).unwrap_or_else(|| text.to_owned())
        };
        let mut bytes = meaning(&self.file, &self.text).into_bytes();
        let mut part = |text: &[u8]| {
            bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
            bytes.extend_from_slice(text);
        };
        for (path, text) in &self.pins.files {
            let name = path.to_string_lossy();
            let is_plan = name.ends_with(".plan") || name.ends_with(json::ENDING);
            part(name.as_bytes());
            if is_plan {
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
        Digest::of(&bytes)
    }

    /// What was read, at its place below this folder.
    pub(super) fn pins(&self, folder: &Path) -> Pins {
        moved(&self.pins, &|path| {
            if path.is_absolute() {
                path.to_owned()
            } else {
                folder.join(path)
            }
        })
    }

    /// Hides the inputs that must not be shown.
    ///
    /// # Errors
    /// When one of them is no typed value.
    pub(super) fn hide(&self, shown: &mut EventRedactor) -> Result<(), Error> {
        let inputs = self.inputs()?;
        let inputs = Value::object(inputs.0);
        for path in &self.sensitive {
            at_path(&inputs, path, &mut |secret| shown.hide(secret));
        }
        Ok(())
    }

    /// The document with marks for the inputs that must not be shown.
    pub(super) fn shown(mut self) -> Vec<u8> {
        for path in &self.sensitive {
            let (name, rest) = path.split_once('.').unwrap_or((path, ""));
            if let Some(input) = self.inputs.get_mut(name)
                && let Ok(value) = Value::from_typed_json(input)
            {
                *input = hidden(&value, &[rest.into()]).to_typed_json();
            }
        }
        self.to_bytes()
    }

    /// The inputs by name.
    ///
    /// # Errors
    /// When one of them is no typed value.
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

fn moved(pins: &Pins, place: &dyn Fn(&Path) -> PathBuf) -> Pins {
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
