//! `planrun mock`: serves app tools and `OpenAPI` operations, or a model, over HTTP until it is stopped.

mod model;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::diag::Diagnostic;
use planrun_lang::source::SourceFile;
use planrun_lang::value::counted;
use planrun_tools::host::{FileKind, Host, RealHost};
use planrun_tools::mock::{MockOptions, MockServer};
use planrun_tools::tools::app::{App, app_files, load_apps};
use planrun_tools::tools::openapi::{Api, MAX_DOCUMENT_BYTES, read_api};

use super::arguments::MockArguments;
use super::terminal::written;
use super::{Exit, Failure, Result};

/// The options of the command line.
#[derive(Clone, Debug)]
pub struct Mock {
    /// A folder of app files, or one app file.
    pub apps: Option<PathBuf>,
    /// `OpenAPI` documents, with the names below which they are served.
    pub documents: Vec<(String, PathBuf)>,
    pub bind: SocketAddr,
    pub log: Option<PathBuf>,
    /// Number of calls of each tool that fail first.
    pub failures: BTreeMap<String, u64>,
    pub seed: u64,
}

/// Serves what the command line names. Returns an error if there is nothing to serve, or it cannot be served.
pub fn command(arguments: &MockArguments) -> Result<Exit> {
    if let Some(super::arguments::MockKind::Model(arguments)) = &arguments.kind {
        return model::command(arguments);
    }
    let mock = Mock {
        apps: arguments.apps.clone(),
        documents: arguments
            .openapi
            .iter()
            .map(|(name, file)| (name.clone(), file.into()))
            .collect(),
        bind: arguments.bind,
        log: arguments.log.clone(),
        failures: arguments.failures.iter().cloned().collect(),
        seed: arguments.seed,
    };
    let host: Arc<dyn Host> = Arc::new(RealHost);
    run(&mock, &host, &mut io::stdout(), &mut io::stderr())?;
    Ok(Exit::Fine)
}

/// Serves until Ctrl-C or a termination signal. The first line of `out` is the address. Diagnostics of app files are
/// written to `report`; invalid apps are skipped. Returns an error if there is nothing to serve, it cannot be served,
/// or a tool that is to fail does not exist.
pub fn run(
    mock: &Mock,
    host: &Arc<dyn Host>,
    out: &mut dyn Write,
    report: &mut dyn Write,
) -> Result<()> {
    let apps = match &mock.apps {
        Some(path) => read_apps(path, host.as_ref(), report).map_err(Failure::Environment)?,
        None => Vec::new(),
    };
    let mut documents = Vec::new();
    for (name, path) in &mock.documents {
        let document = read_document(name, path, host.as_ref(), report);
        documents.push(document.map_err(Failure::Environment)?);
    }
    let description = names(&apps, &documents);
    let options = MockOptions {
        bind: mock.bind,
        seed: mock.seed,
        log: mock.log.clone(),
        failures: mock.failures.clone(),
        apis: documents,
    };
    serve(async {
        let server = MockServer::start(&apps, options, host.clone()).await;
        let server = server.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => Failure::Usage(format!("--failures: {error}")),
            _ => Failure::Environment(error.to_string()),
        })?;
        let warning = "can call the mock, make its tools fail and read the requests sent to it";
        announce((server.address(), warning), &description, out, report)?;
        let ended = stopped().await;
        server.shutdown().await;
        ended
    })
}

/// Runs a server to its end, in a new runtime.
fn serve(server: impl Future<Output = Result<()>>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = runtime
        .map_err(|error| Failure::Environment(format!("cannot start the server: {error}")))?;
    runtime.block_on(server)
}

/// Prints the address of a server as the first line of `out`, and to `report` what it serves. Warns if the address is
/// reachable from other machines.
fn announce(
    (address, warning): (SocketAddr, &str),
    description: &str,
    out: &mut dyn Write,
    report: &mut dyn Write,
) -> Result<()> {
    written(writeln!(out, "http://{address}").and_then(|()| out.flush()))?;
    let address = address.ip();
    if !address.is_loopback() {
        let _ = writeln!(
            report,
            "warning: anyone who can reach this machine at {address} {warning}"
        );
    }
    let _ = writeln!(report, "serving {description}; press Ctrl-C to stop");
    Ok(())
}

fn read_apps(path: &Path, host: &dyn Host, report: &mut dyn Write) -> Result<Vec<App>, String> {
    let cannot_read =
        |error: io::Error| format!("cannot read the app files in `{}`: {error}", path.display());
    let files = match host.kind(path).map_err(cannot_read)? {
        FileKind::Folder => app_files(host, path).map_err(cannot_read)?,
        FileKind::File => vec![path.to_path_buf()],
    };
    let loaded = load_apps(host, &files, &BTreeSet::new());
    for findings in &loaded.findings {
        print_diagnostics(&findings.source, &findings.diagnostics, report);
    }
    if loaded.apps.is_empty() {
        return Err(format!("`{}` has no usable app file", path.display()));
    }
    Ok(loaded.apps)
}

fn read_document(
    name: &str,
    path: &Path,
    host: &dyn Host,
    report: &mut dyn Write,
) -> Result<Api, String> {
    let text = host.read_bounded(path, MAX_DOCUMENT_BYTES);
    let text = text.map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
    let source = Arc::new(SourceFile::new(path.display().to_string(), text));
    let (api, found) = read_api(&source, &name.into(), &BTreeMap::new());
    print_diagnostics(&source, &found, report);
    api.ok_or_else(|| format!("`{}` is not a document that can be served", path.display()))
}

fn print_diagnostics(source: &SourceFile, found: &[Diagnostic], report: &mut dyn Write) {
    for finding in found {
        let place = source.position(finding.span.start);
        let (severity, code) = (finding.severity, finding.code.name);
        let (line, column) = (place.line, place.column);
        let (name, message) = (source.name(), &finding.message);
        let _ = writeln!(
            report,
            "{name}:{line}:{column}: {severity}[{code}] {message}"
        );
    }
}

fn names(apps: &[App], documents: &[Api]) -> String {
    let one = |(name, count): (&Arc<str>, usize)| format!("{name} ({})", counted(count, "tool"));
    let apps = apps.iter().map(|app| (&app.name, app.tools.len()));
    let operations = documents
        .iter()
        .map(|api| (&api.name, api.operations.len()));
    apps.chain(operations)
        .map(one)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Waits for Ctrl-C or a termination signal.
async fn stopped() -> Result<()> {
    let ended = async {
        let mut terminate =
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        tokio::select! {
            interrupted = tokio::signal::ctrl_c() => interrupted,
            _ = terminate.recv() => Ok(()),
        }
    };
    let ended: io::Result<()> = ended.await;
    ended.map_err(|error| Failure::Environment(format!("cannot wait for signals: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use planrun_tools::host::MemoryHost;

    #[test]
    fn apps_that_can_be_used_are_used_and_the_rest_is_told() {
        let host = MemoryHost::default()
            .with_file(
                "apps/hr.yaml",
                "name: hr\ntools: [{ name: a, endpoint: 'http://127.0.0.1:1/' }]\n",
            )
            .with_file("apps/planner.yaml", "app_name: planner\n")
            .with_file("empty/readme.md", "");
        let mut report = Vec::new();
        let mut read = |path: &str| read_apps(Path::new(path), &host, &mut report);
        assert_eq!(names(&read("apps").unwrap(), &[]), "hr (1 tool)");
        assert_eq!(names(&read("apps/hr.yaml").unwrap(), &[]), "hr (1 tool)");
        assert_eq!(read("empty").unwrap_err(), "`empty` has no usable app file");
        assert!(
            read("nothing")
                .unwrap_err()
                .starts_with("cannot read the app files in `nothing`")
        );
        let report = String::from_utf8(report).unwrap();
        assert_eq!(
            report,
            "/apps/planner.yaml:1:1: warning[app-invalid] this app file has no `name`\n"
        );
    }
}
