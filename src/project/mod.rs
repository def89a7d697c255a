//! `planrun.yaml`: where tools come from, and the defaults.
