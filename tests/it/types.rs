//! Types: fit, JSON Schema both ways.
