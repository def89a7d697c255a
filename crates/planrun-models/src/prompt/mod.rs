//! `infer` and `ask` of plans: prompts that the engine executes as calls.

mod ask;
mod exchange;
mod expected;
mod infer;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use planrun_tools::tools::{Prompts, Tool, Transport};

use crate::client::{HttpModel, Models};
use crate::model::ModelError;
use ask::Ask;
use infer::Infer;

pub use ask::{MAX_CALLS_OF_ASK, MAX_ROUNDS};

/// Maximum number of times that an invalid answer is returned to the model with a description of the error.
pub const MAX_REPAIRS: usize = 2;

/// The models of a project, used to answer the prompts of its plans.
pub struct PromptModels {
    models: Arc<OpenModels>,
}

/// Opened models are kept, so that the next prompt reuses their connections.
struct OpenModels {
    models: Models,
    open: Mutex<BTreeMap<Option<Arc<str>>, HttpModel>>,
}

impl PromptModels {
    pub fn new(models: Models) -> Self {
        Self {
            models: Arc::new(OpenModels {
                models,
                open: Mutex::default(),
            }),
        }
    }
}

impl OpenModels {
    fn open(&self, name: Option<&str>) -> Result<HttpModel, ModelError> {
        let mut open = self.open.lock();
        let name: Option<Arc<str>> = name.map(Into::into);
        if let Some(model) = open.get(&name) {
            return Ok(model.clone());
        }
        let model = self.models.open(name.as_deref())?;
        open.insert(name, model.clone());
        Ok(model)
    }
}

impl Prompts for PromptModels {
    fn model(&self) -> Arc<dyn Transport> {
        Arc::new(Infer {
            models: self.models.clone(),
        })
    }

    fn secrets(&self) -> Vec<String> {
        self.models.models.secrets()
    }

    fn refusal(&self, model: Option<&str>) -> Option<String> {
        self.models.open(model).err().map(|error| error.message)
    }

    fn agent(&self, context: Option<&Arc<str>>, tools: Vec<Tool>) -> Arc<dyn Transport> {
        Arc::new(Ask::new(self.models.clone(), context, tools))
    }
}
