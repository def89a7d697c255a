//! Language models: their requests and answers, clients for them, and a test double.
//!
//! [`model`] defines the model trait and its types, [`wire`] writes requests and reads answers in the formats of
//! APIs, [`client`] is a model behind an HTTP API, [`arguments`] parses the arguments of tool calls, [`prompt`] runs
//! the prompts of plans, and [`double`] is a server that plays a scripted model. Nothing is printed here.

pub mod arguments;
pub mod client;
pub mod double;
pub mod model;
pub mod prompt;
pub mod wire;
