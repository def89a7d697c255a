//! `planrun tools login`: somebody lets planrun call a server in their name.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use planrun_lang::diag::render::visible_line;
use planrun_runs::runs::Workspace;
use planrun_tools::project::ToolSource;
use planrun_tools::tools::mcp::{Login, McpAddress};

use crate::cli::run::wait;
use crate::cli::{Exit, Failure, Terminal};

/// Log in to a server that wants it, in a browser that you open yourself.
#[derive(Debug, Args)]
pub struct LoginArguments {
    /// Ask for this scope too, beside those of the login before.
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
    /// How long to wait for the browser to come back, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    wait: u64,
    /// The server, as planrun.yaml names it.
    #[arg(value_name = "SERVER")]
    server: String,
}

pub(super) fn run(
    arguments: &LoginArguments,
    project: Option<&Path>,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let workspace = Workspace::open(Path::new("-"), project)?;
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
            "nobody logs in to `{name}`; where its server wants that, write `auth: oauth` beside its `url` in planrun.yaml"
        );
        return Err(Failure::Usage(message));
    };
    let refused = |why: String| {
        Failure::Environment(format!(
            "nobody can log in to the MCP server `{name}`: {}",
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
            "planrun calls `{name}` in your name now; what {} has given for that is in {}\n",
            visible_line(&issuer),
            file.display()
        );
        Ok(terminal.print(&kept))
    })?;
    done.map_err(refused)??;
    Ok(Exit::Fine)
}
