//! A model behind an API over HTTP, and which one a project asks.

mod attempt;
mod http;
mod models;
mod patience;

pub use http::{
    DEFAULT_BETWEEN_TOKENS, DEFAULT_FIRST_TOKEN, DEFAULT_RETRIES, DEFAULT_TIMEOUT, HttpModel,
    MAX_WAIT,
};
pub use models::Models;
