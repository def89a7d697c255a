//! The one integration test binary: building one keeps the build lean.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says so by panicking"
)]

mod a2a;
mod adversarial;
mod allow;
mod allow_tools;
mod approval;
mod bad_input;
mod bfcl;
mod breaking;
mod card;
mod cel;
mod check;
mod ci;
mod commands;
mod constants;
mod contracts;
mod conversation;
mod coverage;
mod discovery;
mod disturbed;
mod documents;
mod durable;
mod error_details;
mod examples;
mod expr;
mod fixes;
mod flow;
mod format;
#[path = "../generate/mod.rs"]
mod generate;
mod generated;
mod graph;
mod hiring;
mod hostile;
mod inbox;
mod init;
mod insta_files;
mod journal;
mod json_form;
mod killed;
mod machines;
mod mcp;
mod mcp_hostile;
mod mcp_login;
mod mcp_rmcp;
mod mcp_tasks;
mod mistakes;
mod mock;
mod model;
mod models;
mod mutation;
mod nestools;
mod openapi;
mod orders;
mod plan_list;
mod plans;
mod plantest;
mod process_tools;
mod readme;
mod recordings;
mod remedies;
mod render;
mod replay;
mod reports;
mod retail;
mod run;
mod schema;
mod schema_cases;
mod secrets;
mod semantics;
mod serve;
mod service;
mod sessions;
mod shells;
mod shop;
mod short_form;
mod simulated;
mod starts;
mod support;
mod syntax;
mod systems;
mod test_report;
mod tidy;
mod tool_calls;
mod tool_contracts;
mod tools;
mod tracing;
mod types;
mod watch;
mod words;
mod world;
