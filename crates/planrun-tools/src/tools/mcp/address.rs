//! The address of a server: a program that communicates over its standard input and output, or a web address.

use planrun_lang::secrets::{credentials_in, credentials_in_address};

use crate::tools::http::displayed;
use crate::tools::process::ProgramContext;

use super::OAuth;

/// The address of a server. Variables have been filled in.
#[derive(Clone, PartialEq, Eq, Hash)]
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

impl McpAddress {
    /// Returns the credentials that are sent to the server, as far as names and URLs show them.
    pub(crate) fn credentials(&self) -> Vec<String> {
        match self {
            Self::Program { context, .. } => context.credentials(),
            Self::Url {
                url,
                headers,
                oauth,
            } => {
                let headers = headers.iter();
                let mut found = credentials_in_address(url);
                found.extend(headers.flat_map(|(name, value)| credentials_in(name, value)));
                found.extend(oauth.as_ref().and_then(|oauth| oauth.secret.clone()));
                found
            }
        }
    }
}

impl std::fmt::Debug for McpAddress {
    /// Leaves out arguments and the values of variables and headers, which may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Program { command, context } => {
                let program = command.first().map_or("", String::as_str);
                let mut output = f.debug_struct("Program");
                output.field("program", &program).field("context", context);
                output.finish_non_exhaustive()
            }
            Self::Url {
                url,
                headers,
                oauth,
            } => {
                let names: Vec<&String> = headers.iter().map(|(name, _)| name).collect();
                let mut output = f.debug_struct("Url");
                output
                    .field("url", &displayed(url))
                    .field("headers", &names);
                output.field("oauth", oauth).finish()
            }
        }
    }
}
