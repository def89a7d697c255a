//! The machine itself.

/// The machine itself.
pub struct RealHost;
