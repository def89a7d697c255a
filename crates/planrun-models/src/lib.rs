//! Models: what they are asked, what they answer, and a double that plays one.
//!
//! [`model`] is the one trait and its types, [`wire`] writes requests and reads answers in the shapes of APIs, [`client`] is
//! the model behind an API over HTTP, [`arguments`] reads those of its calls of tools, [`prompt`] makes calls of the prompts of plans, and [`double`] is a server that plays a
//! model from a script. Nothing is printed here.

pub mod arguments;
pub mod client;
pub mod double;
pub mod model;
pub mod prompt;
pub mod wire;
