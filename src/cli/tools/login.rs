//! `planrun tools login`: authorizes planrun to call a server on the user's behalf.

use std::time::Duration;

use clap::Args;
use planrun_lang::diag::render::visible_line;
use planrun_runs::runs::Workspace;
use planrun_tools::project::ToolSource;
use planrun_tools::tools::mcp::{Login, McpAddress};

use crate::cli::run::wait;
use crate::cli::{Exit, Failure, Result, Terminal};

/// Log in to a server that requires it, in a browser that you open yourself
#[derive(Debug, Args)]
pub struct LoginArguments {
    /// Request this scope in addition to those of the previous login (repeatable)
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
    /// Time to wait for the browser, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    wait: u64,
    /// Name of the server in planrun.yaml
    #[arg(value_name = "SERVER")]
    server: String,
}

pub fn run(arguments: &LoginArguments, workspace: &Workspace, terminal: Terminal) -> Result<Exit> {
    let name = &arguments.server;
    let servers = &workspace.project.servers;
    let Some(server) = servers.iter().find(|server| *server.name == **name) else {
        let message = format!("there is no server `{name}` in planrun.yaml");
        return Err(Failure::Usage(message));
    };
    let ToolSource::Mcp(McpAddress::Url {
        url,
        headers,
        oauth: Some(oauth),
    }) = &server.source
    else {
        let message = format!(
            "`{name}` is not configured for login; if its server requires it, add `auth: oauth` next to its `url` in planrun.yaml"
        );
        return Err(Failure::Usage(message));
    };
    let refused = |why: String| {
        Failure::Environment(format!(
            "cannot log in to the MCP server `{name}`: {}",
            visible_line(&why)
        ))
    };
    let limit = workspace.project.limit(&*workspace.host);
    let done = wait(async {
        let login = Login::begin(
            (url, headers),
            oauth,
            &arguments.scope,
            (&limit, &workspace.host),
        );
        let login = login.await?;
        let (issuer, file) = (login.issuer().to_owned(), login.file().to_owned());
        let asked = format!(
            "Open this address in a browser, and log in at {}:\n{}\n",
            visible_line(&issuer),
            visible_line(login.address())
        );
        if let Err(failure) = terminal.print(&asked) {
            return Ok(Err(failure));
        }
        login.finish(Duration::from_secs(arguments.wait)).await?;
        let kept = format!(
            "planrun now calls `{name}` on your behalf; the credentials from {} are in {}\n",
            visible_line(&issuer),
            file.display()
        );
        Ok(terminal.print(&kept))
    })?;
    done.map_err(refused)??;
    Ok(Exit::Fine)
}
