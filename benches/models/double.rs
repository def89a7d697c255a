//! The double of a model, as a separate process.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use planrun_models::client::HttpModel;
use planrun_models::wire;
use planrun_tools::host::RealHost;
use planrun_tools::project::{ModelApi, ModelSettings};
use planrun_tools::tools::ProjectLimit;
use reqwest::Url;

use crate::report::cold_start;

pub struct Double {
    process: Child,
    address: String,
}

impl Double {
    /// Starts a double with a script.
    ///
    /// # Errors
    /// Returns an error if the script cannot be written or the process cannot be started.
    pub fn start(script: &str) -> Result<Self, String> {
        let folder = cold_start::folder()?;
        let script = cold_start::write(&folder, "turns.yaml", script)?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_planrun"));
        command.args(["mock", "model", "--bind", "127.0.0.1:0", "--script"]);
        let started = command
            .arg(script)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut process = started.map_err(|error| error.to_string())?;
        let output = process.stdout.take().ok_or("the double says nothing")?;
        let mut address = String::new();
        let read = BufReader::new(output).read_line(&mut address);
        read.map_err(|error| error.to_string())?;
        let address = address.trim().to_owned();
        Ok(Self { process, address })
    }

    fn base(&self) -> Result<Url, String> {
        Url::parse(&self.address).map_err(|error| error.to_string())
    }

    pub fn endpoint(&self, api: ModelApi) -> Result<Url, String> {
        Ok(wire::endpoint(api, &self.base()?))
    }

    pub fn model(&self, api: ModelApi) -> Result<HttpModel, String> {
        let settings = ModelSettings {
            name: "bench".into(),
            api,
            base_url: self.base()?,
            model: "bench".to_owned(),
            key: None,
            temperature: None,
            max_tokens: None,
            timeout: None,
            first_token: None,
            between_tokens: None,
            retries: Some(0),
            price: None,
        };
        let limit = ProjectLimit::default();
        let model = HttpModel::new(settings, (None, &[]), Arc::new(RealHost), &limit);
        model.map_err(|error| error.to_string())
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        // Fails if the process has already exited.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
