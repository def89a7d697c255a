//! `planrun runs export`: exports a run as JSON lines with a hash chain, so that the file can be verified.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;

use clap::Args;
use planrun_lang::value::counted;

use crate::cli::{Exit, Failure, Result, Terminal};
use planrun_runs::runs::{Planrun, verify_export};

/// Export everything recorded about a run as JSON lines, each event with the hash chain over the events before it
#[derive(Debug, Args)]
pub struct Arguments {
    /// Id of the run, or a prefix of it; with `--verify`, an exported file, or `-` for standard input
    #[arg(value_name = "RUN|FILE")]
    what: String,
    /// Verify that an exported file is complete and unaltered
    #[arg(long)]
    pub verify: bool,
    /// Include values that plans and tools declare sensitive, so that the export is the run byte for byte
    #[arg(long, conflicts_with = "verify")]
    with_secrets: bool,
}

pub fn run(planrun: &Planrun, arguments: &Arguments, terminal: Terminal) -> Result<Exit> {
    let mut out = BufWriter::new(ResultWriter(terminal));
    let exported = planrun.export(&arguments.what, arguments.with_secrets, &mut out);
    if terminal.is_closed() {
        return Ok(Exit::Fine);
    }
    let (exported, redacted) = exported?;
    let marks = if redacted {
        ", with secrets redacted; `--with-secrets` exports them"
    } else {
        ""
    };
    terminal.note(&format!(
        "exported {} of the run {}{marks}",
        counted(exported.events, "event"),
        exported.run
    ));
    Ok(Exit::Fine)
}

/// Writes whole lines to standard output, until it is closed.
struct ResultWriter(Terminal);

impl Write for ResultWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .print_exactly(&String::from_utf8_lossy(bytes))
            .map_err(io::Error::other)?;
        if self.0.is_closed() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub fn verify(arguments: &Arguments, terminal: Terminal) -> Result<Exit> {
    let verified = if arguments.what == "-" {
        verify_export(io::stdin().lock())
    } else {
        let file = File::open(Path::new(&arguments.what)).map_err(|error| {
            Failure::Environment(format!("cannot read `{}`: {error}", arguments.what))
        })?;
        verify_export(BufReader::new(file))
    };
    match verified {
        Ok(exported) => {
            terminal.note(&format!(
                "complete and unaltered: {} of the run {}",
                counted(exported.events, "event"),
                exported.run
            ));
            Ok(Exit::Fine)
        }
        Err(fault) => {
            terminal.error(&format!("{}: {fault}", arguments.what));
            Ok(Exit::Findings)
        }
    }
}
