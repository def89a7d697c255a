//! The test double of app tools: real HTTP, answers from the app files, failures on demand.
