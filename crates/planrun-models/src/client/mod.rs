//! Models behind an HTTP API, and the choice of a model for a project.

mod attempt;
mod clean_parts;
mod deadline;
mod http;
mod models;

pub use http::{
    DEFAULT_BETWEEN_TOKENS, DEFAULT_FIRST_TOKEN, DEFAULT_RETRIES, DEFAULT_TIMEOUT, HttpModel,
    MAX_WAIT,
};
pub use models::Models;
