//! Calls tools: the transport trait, the catalog, and one module per transport.

pub mod a2a;
mod allowed;
pub mod app;
mod call_errors;
mod catalog;
mod conversation;
pub(crate) mod credential;
mod files;
pub mod http;
mod json;
pub mod mcp;
pub mod openapi;
pub mod pages;
pub mod process;
mod project_limit;
mod required_permission;
mod server;
mod server_pool;
mod shared;
mod system;
mod transport;

pub use allowed::{Allowed, may_call};
pub use planrun_lang::types::BUILT_IN;

pub use call_errors::{causes, denied, failed, innermost, invalid_arguments, invalid_result};
pub use catalog::{Catalog, Compared, Prompts, Tool};
pub use conversation::{
    Ask, AskReply, CallEvent, Conversation, EventSender, Events, Handle, MAX_HANDLE_BYTES,
    MAX_PROGRESS_BYTES, MAX_QUESTION_BYTES, MAX_WAITING_EVENTS, PROGRESS_INTERVAL, Progress,
    Question, TooLarge, Usage, broken_off,
};
pub use files::FileAccess;
pub use process::{kill_left_by, kill_programs};
pub use project_limit::ProjectLimit;
pub use required_permission::{FilePath, Origin, RequiredPermission};
pub use server::{DeniedServer, PinnedTool, Server, ServerError};
pub use server_pool::{Fingerprint, ServerPool};
pub use transport::{
    BoxFuture, DescribeError, Described, Identity, Request, StandIn, Transport, begin_call,
    described,
};
