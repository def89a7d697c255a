//! `planrun runs export`: everything that is known of a run as lines of JSON that prove themselves.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal as _, Write};
use std::path::Path;

use clap::Args;

use crate::cli::{Exit, Failure, Terminal};
use planrun_runs::runs::{Planrun, verify_export};

/// Write everything that is known of a run, one JSON object a line, each event with the chain over those before it.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The run; with `--verify` an exported file, or `-` for standard input.
    #[arg(value_name = "RUN|FILE")]
    what: String,
    /// Prove that an exported file is whole and unaltered.
    #[arg(long)]
    pub verify: bool,
    /// Write also what plans and tools call sensitive, so that the export is the run byte for byte.
    #[arg(long, conflicts_with = "verify")]
    with_secrets: bool,
}

pub fn run(planrun: &Planrun, arguments: &Arguments, terminal: Terminal) -> Result<Exit, Failure> {
    // On a terminal what it would act on is written out; elsewhere the lines are as they prove themselves.
    let mut out: Box<dyn Write> = if io::stdout().is_terminal() {
        Box::new(Harmless(terminal))
    } else {
        Box::new(io::stdout().lock())
    };
    let (exported, redacted) = planrun.export(&arguments.what, arguments.with_secrets, &mut out)?;
    let marks = if redacted {
        ", with marks for what is secret; `--with-secrets` writes everything"
    } else {
        ""
    };
    terminal.say(&format!(
        "{} events of the run {}{marks}",
        exported.events, exported.run
    ));
    Ok(Exit::Fine)
}

/// Writes to a terminal, with the characters that it would act on as escapes.
struct Harmless(Terminal);

impl Write for Harmless {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .print_exactly(&String::from_utf8_lossy(bytes))
            .map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub fn verify(arguments: &Arguments, terminal: Terminal) -> Result<Exit, Failure> {
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
            terminal.say(&format!(
                "whole and unaltered: {} events of the run {}",
                exported.events, exported.run
            ));
            Ok(Exit::Fine)
        }
        Err(fault) => {
            terminal.complain(&format!("{}: {fault}", arguments.what));
            Ok(Exit::Findings)
        }
    }
}
