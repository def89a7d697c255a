//! Where a server is: a program that speaks over its standard input and output, or a web address.

use crate::tools::process::Surroundings;

use super::OAuth;

/// Where a server is. Variables of the environment have been filled in.
#[derive(Clone, PartialEq, Eq)]
pub enum McpAddress {
    /// A program, started without a shell.
    Program {
        /// The program and its arguments as they are written; the program first.
        command: Vec<String>,
        surroundings: Surroundings,
    },
    /// A server of streamable HTTP.
    Url {
        url: String,
        headers: Vec<(String, String)>,
        /// Where somebody has to log in to it.
        oauth: Option<OAuth>,
    },
}

impl std::fmt::Debug for McpAddress {
    /// Without values of variables and headers, which may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Program { command, .. } => f.debug_tuple("Program").field(command).finish(),
            Self::Url { url, .. } => f.debug_tuple("Url").field(url).finish(),
        }
    }
}
