//! `planrun mock model`: serves a scripted model over HTTP until it is stopped.

use std::io;
use std::path::Path;
use std::sync::Arc;

use planrun_lang::diag::Diagnostic;
use planrun_lang::source::SourceFile;
use planrun_models::double::{DoubleOptions, ModelDouble, Script};
use planrun_tools::host::{Host, RealHost};

use super::{announce, serve, stopped};
use crate::cli::arguments::MockModelArguments;
use crate::cli::{Exit, Failure, Result};

/// Serves the script that the command line names.
pub(super) fn command(arguments: &MockModelArguments) -> Result<Exit> {
    let host: Arc<dyn Host> = Arc::new(RealHost);
    run(arguments, &host)?;
    Ok(Exit::Fine)
}

fn run(arguments: &MockModelArguments, host: &Arc<dyn Host>) -> Result<()> {
    let script = read(&arguments.script, &**host).map_err(Failure::Environment)?;
    let options = DoubleOptions {
        bind: arguments.bind,
        log: arguments.log.clone(),
    };
    let description = arguments.script.display().to_string();
    serve(async {
        let double = ModelDouble::start(script, options, host.clone())
            .await
            .map_err(|error| Failure::Environment(error.to_string()))?;
        let warning = "can query this model and use up the turns of its script";
        let (out, report) = (&mut io::stdout(), &mut io::stderr());
        announce((double.address(), warning), &description, out, report)?;
        let ended = stopped().await;
        double.shutdown().await;
        ended
    })
}

fn read(path: &Path, host: &dyn Host) -> Result<Script, String> {
    let text = host.read_file(path);
    let text = text.map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
    let source = SourceFile::new(path.display().to_string(), text);
    Script::read(&source).map_err(|found| {
        let line = |finding: &Diagnostic| {
            let place = source.position(finding.span.start);
            let (line, column) = (place.line, place.column);
            let message = finding.message_with_help();
            format!("{}:{line}:{column}: {message}", source.name())
        };
        let lines: Vec<String> = found.iter().map(line).collect();
        format!("the script is not valid\n{}", lines.join("\n"))
    })
}
