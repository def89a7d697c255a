//! App files: systems with tools of their own, called over HTTP.

mod access;
mod load;
mod rest;
pub(in crate::tools) mod safety;
pub mod section;
pub(crate) mod tool;
mod transport;
pub(crate) mod variables;

use std::path::PathBuf;
use std::sync::Arc;

use planrun_lang::call::CallError;
use planrun_lang::protocol::Sent;
use planrun_lang::secrets::Redactor;
use planrun_lang::types::{ErrorClass, Signature};
use reqwest::header::HeaderMap;

pub use load::{Findings, Loaded, app_files, is_app_file, load_apps, read_app};
pub use rest::{Received, Rest};
pub use transport::AppTransport;

/// One app file: a namespace of tools behind HTTP endpoints.
#[derive(Clone, Debug)]
pub struct App {
    /// The namespace of its tools.
    pub name: Arc<str>,
    pub display_name: Option<Arc<str>>,
    /// What a model is told about the system.
    pub system_context: Option<Arc<str>>,
    /// The file it was read from, as the user would write it.
    pub file: PathBuf,
    pub tools: Vec<AppTool>,
    /// What every call of its tools carries.
    pub headers: HeaderMap,
    /// What comes from the environment and lets somebody in: in headers, and in endpoints.
    pub credentials: Redactor,
}

/// One tool of an app.
#[derive(Clone, Debug)]
pub struct AppTool {
    pub signature: Arc<Signature>,
    /// Where calls are posted to, with its variables filled in.
    pub endpoint: Arc<str>,
    /// The request that a call is; nothing where `{tool, args}` is posted.
    pub rest: Option<Arc<Rest>>,
    /// What the reasons that it gives for failing mean. A reason that is not listed means `tool.failed`.
    pub errors: Vec<Reason>,
    /// How `planrun mock` answers, as written; nothing for answers made up from the result's schema.
    pub mock: Option<serde_json::Value>,
}

/// What one reason of a failed answer means.
#[derive(Clone, Debug)]
pub struct Reason {
    pub reason: Arc<str>,
    pub class: ErrorClass,
    /// Whether the effect may have happened all the same.
    pub may_have_happened: bool,
}

impl Reason {
    /// The failure with this reason.
    fn error(&self, message: String) -> CallError {
        let sent = if self.may_have_happened {
            Sent::Maybe
        } else {
            Sent::Refused
        };
        CallError::new(self.class.clone(), message, sent)
    }
}

impl App {
    /// The tool with this name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&AppTool> {
        self.tools.iter().find(|tool| &*tool.signature.name == name)
    }
}
