//! `planrun serve`: plans for models, as a server of the Model Context Protocol.

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
use super::{Exit, Failure, Terminal};

const EXAMPLES: &str = "\
Examples:
  planrun serve --stdio                             what an .mcp.json starts
  planrun serve                                     over HTTP, at http://127.0.0.1:7870/mcp with a token
  planrun serve --bind 127.0.0.1:0 --token-file t   at a free port; the token is made where the file is not there

In an .mcp.json:
  { \"mcpServers\": { \"planrun\": { \"command\": \"planrun\", \"args\": [\"serve\", \"--stdio\"] } } }

A plan that changes something asks the person first: in the client, on a page of this machine, or in a terminal with
`planrun runs answer`. What plans may reach is what `allow` of planrun.yaml says.";

/// The file of the token, where no other is named, beside the journal.
const TOKEN_FILE: &str = "serve.token";
/// Characters of a token at least.
const MIN_TOKEN: usize = 16;

/// Serve plans to models: search, describe, read, run, runs, save.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Over standard input and output, for a client that starts this program.
    #[arg(long, conflicts_with_all = ["bind", "token_file"])]
    stdio: bool,
    /// Where to listen on this machine; port 0 takes a free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7870")]
    bind: SocketAddr,
    /// The file of the token that clients send as `Authorization: Bearer TOKEN`; it is made where it is not there.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// Serves until the client closes its end, or until it is stopped.
///
/// # Errors
/// When the project cannot be used, or nothing can listen.
pub fn run(
    arguments: &Arguments,
    project: Option<&Path>,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let host = real_host();
    let location = Workspace::locate(&*host, Path::new("-"), project)?;
    let planrun = Planrun::at(host, location);
    // What is wrong with the project is told before any model comes.
    planrun.workspace()?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::Environment(format!("cannot start: {error}")))?;
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
    // A read of standard input cannot be taken back.
    runtime.shutdown_background();
    ended.map(|()| Exit::Fine)
}

async fn listen(
    server: Server,
    bind: SocketAddr,
    (token, file): &(String, PathBuf),
    terminal: Terminal,
) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Environment(error.to_string());
    let server = HttpServer::bind(server, bind, token).await;
    let server = server.map_err(|error| failed(&error))?;
    terminal.print(&format!("{}\n", server.url()))?;
    terminal.say(&format!(
        "clients send `Authorization: Bearer` with the token in {}; Ctrl-C ends",
        file.display()
    ));
    stop_on_signal(server.cancellation());
    server.serve().await.map_err(|error| failed(&error))
}

/// The token and where it is; a new one where there is none.
fn token(planrun: &Planrun, file: Option<&Path>) -> Result<(String, PathBuf), Failure> {
    let (host, folder) = (planrun.host(), &planrun.location().folder);
    let named = file.map(Path::to_owned);
    let path = named.unwrap_or_else(|| journal_file(folder).with_file_name(TOKEN_FILE));
    let failed = |error: std::io::Error| {
        Failure::Environment(format!("the token in {}: {error}", path.display()))
    };
    if let Ok(text) = host.read_file(&path) {
        let token = text.trim().to_owned();
        let is_plain = token.bytes().all(|byte| byte.is_ascii_graphic());
        if token.len() < MIN_TOKEN || !is_plain {
            return Err(Failure::Usage(format!(
                "{} holds no token: {MIN_TOKEN} visible characters at least",
                path.display()
            )));
        }
        return Ok((token, path));
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
