//! The test double of app tools over real HTTP.
