//! App files: systems with their own tools, which are called over HTTP.

mod access;
mod load;
mod rest;
mod safety;
pub(crate) mod script;
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

use crate::tools::http::{HttpResponse, displayed, retry_after};

pub use load::{Findings, Loaded, app_files, is_app_file, load_apps, read_app};
pub use rest::{Received, Rest};
pub use transport::AppTransport;

/// One app file: a namespace of tools behind HTTP endpoints.
#[derive(Clone, Debug)]
pub struct App {
    /// The namespace of its tools.
    pub name: Arc<str>,
    pub display_name: Option<Arc<str>>,
    /// A description of the system for models.
    pub system_context: Option<Arc<str>>,
    /// The file it was read from, as the user would write it.
    pub file: PathBuf,
    pub tools: Vec<AppTool>,
    /// The headers that every call of its tools sends.
    pub headers: HeaderMap,
    /// An environment variable in `headers` that is not set and has no default.
    pub unset: Option<Arc<str>>,
    /// The credentials in headers and endpoints, from the environment or from the file itself.
    pub credentials: Redactor,
}

#[derive(Clone)]
pub struct AppTool {
    pub signature: Arc<Signature>,
    /// The address that calls are sent to, with its variables filled in.
    pub endpoint: Arc<str>,
    /// An environment variable in the address that is not set and has no default.
    pub unset: Option<Arc<str>>,
    /// The HTTP request of a call; `None` if `{tool, args}` is posted.
    pub rest: Option<Arc<Rest>>,
    /// The meanings of the failure reasons that it returns. A reason that is not listed means `tool.failed`.
    pub errors: Vec<Reason>,
    /// The `mock` section of the tool as written; `None` if answers are generated from the schema of the result.
    pub mock: Option<serde_json::Value>,
}

impl std::fmt::Debug for AppTool {
    /// Leaves out credentials in the address, and what may contain others.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AppTool")
            .field("signature", &self.signature)
            .field("endpoint", &displayed(&self.endpoint))
            .field("errors", &self.errors)
            .finish_non_exhaustive()
    }
}

/// The meaning of one failure reason.
#[derive(Clone, Debug)]
pub struct Reason {
    pub reason: Arc<str>,
    pub class: ErrorClass,
    /// Whether the effect may have happened although the call failed.
    pub may_have_happened: bool,
}

impl Reason {
    /// Returns the failure with this reason that an answer reports.
    fn error(&self, response: &HttpResponse, message: String, now: i128) -> CallError {
        let sent = if self.may_have_happened {
            Sent::Maybe
        } else {
            Sent::Refused
        };
        CallError {
            retry_after: retry_after(&response.headers, now),
            ..CallError::new(self.class.clone(), message, sent)
        }
    }
}

impl App {
    /// Returns an environment variable without a default that the calls of a tool need and that is not set.
    pub fn unset_variable(&self, tool: &str) -> Option<&str> {
        let mut tools = self.tools.iter();
        let tool = tools.find(|one| *one.signature.name == *tool);
        let own = tool.and_then(|tool| tool.unset.as_deref());
        own.or(self.unset.as_deref())
    }

    pub fn tool(&self, name: &str) -> Option<&AppTool> {
        self.tools.iter().find(|tool| &*tool.signature.name == name)
    }
}
