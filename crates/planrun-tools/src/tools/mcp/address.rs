//! The address of a server: a program that communicates over its standard input and output, or a web address.

use crate::tools::process::ProgramContext;

use super::OAuth;

/// The address of a server. Variables have been filled in.
#[derive(Clone, PartialEq, Eq)]
pub enum McpAddress {
    /// A program, started without a shell.
    Program {
        /// The program and its arguments as they are written, the program first.
        command: Vec<String>,
        context: ProgramContext,
    },
    /// A streamable HTTP server.
    Url {
        url: String,
        headers: Vec<(String, String)>,
        /// OAuth settings, if the server requires a login.
        oauth: Option<OAuth>,
    },
}

impl std::fmt::Debug for McpAddress {
    /// Leaves out the values of variables and headers, which may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Program { command, .. } => f.debug_tuple("Program").field(command).finish(),
            Self::Url { url, .. } => f.debug_tuple("Url").field(url).finish(),
        }
    }
}
