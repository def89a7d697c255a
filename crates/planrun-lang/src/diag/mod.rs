//! Diagnostics: their codes, fixes, suggestions and rendering.

pub mod codes;
mod diagnostic;
pub mod fix;
pub mod foreign;
pub mod render;
mod severities;
mod suggest;

pub use codes::{Code, Severity};
pub use diagnostic::{Diagnostic, Edit, Fix, Label};
pub use severities::{Severities, UnknownCode, code_named};
pub use suggest::{Near, closest, is_other_form, misspelt, nearest};
