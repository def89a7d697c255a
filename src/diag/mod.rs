//! What planrun tells an author: codes, diagnostics and their rendering.

pub mod codes;
mod diagnostic;
pub mod render;
mod suggest;

pub use codes::{Code, Severity};
pub use diagnostic::{Diagnostic, Edit, Fix, Label};
pub use suggest::closest;
