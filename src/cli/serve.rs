//! `planrun serve`: serves plans to models over the Model Context Protocol.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use planrun_runs::runs::{Planrun, Workspace, real_host};
use planrun_serve::mcp::{HttpServer, Server};
use planrun_serve::mode::PlanMode;
use planrun_tools::host::random_hex;
use planrun_tools::project::{check_own_folder, journal_file, make_own_folder};
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use super::signals::stop_on_signal;
use super::{Exit, Failure, Result, Terminal};

const EXAMPLES: &str = "\
Examples:
  planrun serve --stdio                             as an .mcp.json starts it
  planrun serve                                     over HTTP, at 127.0.0.1:7870 with a token
  planrun serve --bind 127.0.0.1:0 --token-file t   on a free port; creates the token

In an .mcp.json:
  { \"mcpServers\": { \"planrun\": { \"command\": \"planrun\", \"args\": [\"serve\", \"--stdio\"] } } }

A plan that changes something asks the user first: in the client, on a page of this machine, or in a terminal with \
`planrun runs answer`. Plans can reach only what `allow` in planrun.yaml permits.";

/// Default name of the token file, next to the journal.
const TOKEN_FILE: &str = "serve.token";
/// Minimum length of a token, in characters.
const MIN_TOKEN: usize = 16;

/// Serve plans to models over MCP, with tools to search, describe, read, run and save plans
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Serve over standard input and output, for a client that starts this program
    #[arg(long, conflicts_with_all = ["bind", "token_file"])]
    stdio: bool,
    /// Address to listen on, on this machine; port 0 picks a free port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7870")]
    bind: SocketAddr,
    /// File with the token that clients send as `Authorization: Bearer TOKEN`, created if it does not exist [default:
    /// .planrun/serve.token]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// Serves until the client closes the connection, or a signal stops the server. Returns an error if the project or the
/// token file cannot be used, or the address cannot be bound.
pub fn run(arguments: &Arguments, project: Option<&Path>, terminal: Terminal) -> Result<Exit> {
    let host = real_host();
    let location = Workspace::locate(&*host, Path::new("-"), project)?;
    let planrun = Planrun::at(host, location);
    // Reports errors of the project before a client connects.
    planrun.workspace()?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::Environment(format!("cannot start the runtime: {error}")))?;
    let ended = runtime.block_on(async {
        let server = Server::new(PlanMode::new(planrun.clone()));
        if arguments.stdio {
            let cancel = CancellationToken::new();
            stop_on_signal(cancel.clone());
            let ended = Box::pin(server.serve_stdio(cancel)).await;
            return ended.map_err(|error| Failure::Environment(error.to_string()));
        }
        let token = token(&planrun, arguments.token_file.as_deref())?;
        listen(server, arguments.bind, &token, terminal).await
    });
    // A blocking read of standard input cannot be cancelled.
    runtime.shutdown_background();
    ended.map(|()| Exit::Fine)
}

async fn listen(
    server: Server,
    bind: SocketAddr,
    (token, file): &(String, PathBuf),
    terminal: Terminal,
) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| Failure::Environment(error.to_string());
    let server = HttpServer::bind(server, bind, token).await;
    let server = server.map_err(|error| failed(&error))?;
    terminal.print(&format!("{}\n", server.url()))?;
    terminal.note(&format!(
        "clients must send `Authorization: Bearer` with the token in {}; press Ctrl-C to stop",
        file.display()
    ));
    stop_on_signal(server.cancellation());
    server.serve().await.map_err(|error| failed(&error))
}

/// Returns the token and the path of its file; creates both if the file does not exist.
fn token(planrun: &Planrun, file: Option<&Path>) -> Result<(String, PathBuf)> {
    let (host, folder) = (planrun.host(), &planrun.location().folder);
    let named = file.map(Path::to_owned);
    let path = named.unwrap_or_else(|| journal_file(folder).with_file_name(TOKEN_FILE));
    let failed = |error: std::io::Error| {
        Failure::Environment(format!(
            "cannot use the token in {}: {error}",
            path.display()
        ))
    };
    match host.read_file(&path) {
        Ok(text) => {
            let token = text.trim().to_owned();
            let is_plain = token.bytes().all(|byte| byte.is_ascii_graphic());
            if token.len() < MIN_TOKEN || !is_plain {
                return Err(Failure::Usage(format!(
                    "{} does not contain a token of at least {MIN_TOKEN} visible characters; remove it to get a new one",
                    path.display()
                )));
            }
            return Ok((token, path));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    if file.is_none() {
        check_own_folder(&**host, folder).map_err(failed)?;
        make_own_folder(&**host, folder).map_err(failed)?;
    }
    let token = random_hex(&**host, 4);
    host.write_private_file(&path, token.as_bytes())
        .map_err(failed)?;
    Ok((token, path))
}
