//! Checks and runs the measured plans.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use planrun_core::journal::{Event, LineWriter};
use planrun_core::run::{Outcome, Program, Setup};
use planrun_lang::permission::Permissions;
use planrun_lang::protocol::RunState;
use planrun_lang::sema::{NoFiles, Plan, Tools, check_without_rules};
use planrun_lang::source::SourceFile;
use planrun_runs::driver::{self, Context};
use planrun_tools::host::{Host, RealHost};
use planrun_tools::tools::Catalog;
use tokio::runtime::Runtime;

/// The environment of all measurements.
pub struct Runner {
    pub runtime: Runtime,
    tools: Tools,
    catalog: Arc<Catalog>,
    host: Arc<dyn Host>,
}

impl Runner {
    pub fn new() -> Result<Self, String> {
        // The same runtime as in `planrun run`. The hand-written scheduler uses it too; with threads it is slower.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let host: Arc<dyn Host> = Arc::new(RealHost);
        let catalog = Catalog::new(host.clone(), ".".into(), &Arc::new(Permissions::none()));
        let tools = catalog.signatures().cloned().collect();
        Ok(Self {
            runtime,
            tools,
            catalog: Arc::new(catalog),
            host,
        })
    }

    /// Returns a checked plan; its text and tree are already dropped.
    pub fn plan(&self, text: String) -> Result<Arc<Plan>, String> {
        let checked = check_without_rules(
            &SourceFile::new("measured.plan", text),
            &self.tools,
            &NoFiles,
        );
        if let Some(error) = checked.diagnostics.iter().find(|found| found.is_error()) {
            return Err(format!("{}: {}", error.code.name, error.message));
        }
        checked
            .plans
            .into_iter()
            .next()
            .ok_or_else(|| "there is no plan".to_owned())
    }

    /// Builds the graph of a plan, runs it, and writes its events as lines to a counting sink.
    pub fn run(&self, plan: Arc<Plan>) -> Result<(Outcome, Sink), String> {
        let (mut sink, mut lines) = (BufWriter::new(Sink::default()), LineWriter::default());
        let outcome = self.run_observed(plan, &mut |event: &Event| {
            let _ = sink.write_all(lines.line(event));
        })?;
        let sink = sink.into_inner().map_err(|error| error.to_string())?;
        Ok((outcome, sink))
    }

    pub fn run_observed(
        &self,
        plan: Arc<Plan>,
        mut observer: &mut (dyn FnMut(&Event) + Send),
    ) -> Result<Outcome, String> {
        let program = Arc::new(Program::new(plan));
        let context = Context::new(
            self.host.clone(),
            self.catalog.clone(),
            Setup::new("measured"),
            &mut observer,
        );
        let outcome = self
            .runtime
            .block_on(driver::run(&program, &BTreeMap::new(), context));
        match outcome.state {
            RunState::Completed => Ok(outcome),
            other => Err(format!("the run is {other}")),
        }
    }
}

/// A writer that counts bytes.
#[derive(Default)]
pub struct Sink {
    bytes: usize,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
