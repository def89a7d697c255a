//! The models that a project can use: those in `planrun.yaml`, or the one of the environment.

use std::sync::Arc;

use planrun_lang::secrets::credentials_in_address;
use planrun_tools::host::Host;
use planrun_tools::project::{ModelApi, ModelList, ModelSettings, Project};
use planrun_tools::tools::{Identity, ProjectLimit};
use url::Url;

use super::HttpModel;
use crate::model::{ErrorKind, ModelError};

/// The environment variables that many programs read. They are sufficient if the project configures no model.
const BASE_URL: &str = "OPENAI_BASE_URL";
const KEY: &str = "OPENAI_API_KEY";
const MODEL: &str = "OPENAI_MODEL";
/// Minimum length of `OPENAI_API_KEY` to be treated as a secret, in bytes. Local servers accept placeholders such as
/// `none`, which would be redacted in every answer that contains the word.
const MIN_KEY_LENGTH: usize = 16;
/// Default of `OPENAI_BASE_URL`.
const OPENAI: &str = "https://api.openai.com/v1";

/// The models that a project can use.
#[derive(Clone)]
pub struct Models {
    list: ModelList,
    limit: ProjectLimit,
    host: Arc<dyn Host>,
}

impl Models {
    pub fn of(project: &Project, host: &Arc<dyn Host>) -> Self {
        Self {
            list: project.settings.models.clone(),
            limit: project.limit(&**host),
            host: Arc::clone(host),
        }
    }

    /// Returns the host of the project.
    pub fn host(&self) -> &dyn Host {
        &*self.host
    }

    /// Opens the model with this name, or the project's default or only model. If the project configures no model,
    /// opens the model `name` or `OPENAI_MODEL` at `OPENAI_BASE_URL` with the key `OPENAI_API_KEY`. Returns an error if
    /// there is no such model, no model is selected, its key is not set, or its server may not be reached.
    pub fn open(&self, name: Option<&str>) -> Result<HttpModel, ModelError> {
        if self.list.models.is_empty() {
            return self.of_environment(name);
        }
        let settings = self.list.find(name);
        let settings = settings.map_err(|why| ModelError::new(ErrorKind::InvalidRequest, why))?;
        let key = match &settings.key {
            None => None,
            Some(variable) => Some(self.variable(variable).ok_or_else(|| {
                let message = format!(
                    "the environment variable {variable}, which holds the key of the model `{}`, is not set",
                    settings.name
                );
                ModelError::new(ErrorKind::Authentication, message)
            })?),
        };
        let host = Arc::clone(&self.host);
        let secret = (key.as_deref(), &*self.secrets());
        HttpModel::new(settings.clone(), secret, host, &self.limit)
    }

    /// Returns the credentials that requests send: the keys, and those in the base URL of the environment.
    pub fn secrets(&self) -> Vec<String> {
        if self.list.models.is_empty() {
            let url = self.variable(BASE_URL).unwrap_or_default();
            let key = self.variable(KEY);
            let key = key.filter(|key| key.len() >= MIN_KEY_LENGTH);
            return credentials_in_address(&url)
                .into_iter()
                .chain(key)
                .collect();
        }
        let keys = self.list.models.iter();
        let keys = keys.filter_map(|model| model.key.as_deref());
        keys.filter_map(|name| self.variable(name)).collect()
    }

    /// Adds what determines the answers: the servers, the models and the keys.
    pub fn identify(&self, identity: &mut Identity) {
        for model in &self.list.models {
            let key = model.key.as_ref().and_then(|name| self.variable(name));
            identity.add_all([&model.base_url.to_string(), &model.model]);
            identity.add_all(&key);
        }
        for name in [BASE_URL, KEY, MODEL] {
            identity.add_all(&self.variable(name));
        }
    }

    fn of_environment(&self, name: Option<&str>) -> Result<HttpModel, ModelError> {
        let wrong = |message| ModelError::new(ErrorKind::InvalidRequest, message);
        let model = name.map(str::to_owned).or_else(|| self.variable(MODEL));
        let model = model.ok_or_else(|| {
            wrong(format!(
                "no model is configured: set {MODEL}, or add one under `models` in planrun.yaml"
            ))
        })?;
        let written = self.variable(BASE_URL);
        let base_url = Url::parse(written.as_deref().unwrap_or(OPENAI)).ok();
        let base_url = base_url.filter(|url| matches!(url.scheme(), "http" | "https"));
        // The message does not quote the URL, which may contain credentials.
        let base_url =
            base_url.ok_or_else(|| wrong(format!("{BASE_URL} is not an HTTP or HTTPS URL")))?;
        let settings = ModelSettings {
            name: model.as_str().into(),
            api: ModelApi::Chat,
            base_url,
            model,
            key: None,
            temperature: None,
            max_tokens: None,
            timeout: None,
            first_token: None,
            between_tokens: None,
            retries: None,
            price: None,
        };
        let key = self.variable(KEY);
        let secret = (key.as_deref(), &*self.secrets());
        HttpModel::new(settings, secret, Arc::clone(&self.host), &self.limit)
    }

    fn variable(&self, name: &str) -> Option<String> {
        let value = self.host.variable(name)?;
        Some(value.trim().to_owned()).filter(|value| !value.is_empty())
    }
}
