//! The cost of planrun for calls of tools, compared with bare clients of the same servers, and the cost of a large lock
//! file for a check.
//!
//! `cargo bench --bench tools` prints the table of `docs/performance.md`; `… -- lock` etc. measure one part.

mod calls;
mod lock;
#[path = "../report/mod.rs"]
mod report;
mod serve;
mod servers;

use std::process::ExitCode;

use report::{Parts, Table, cold_start};

fn main() -> ExitCode {
    if let Some(delay) = servers::asked_to_serve(&report::arguments()) {
        return servers::serve_pipe(delay);
    }
    report::run(measure)
}

fn measure(parts: &Parts, table: &mut Table) -> Result<(), String> {
    if parts.includes("lock") {
        Table::head(
            "`planrun check` of a plan that calls one tool, from start to exit",
            "5,000 tools pinned",
            "other",
        );
        lock::measure(table)?;
        cold_start::measure("check", &[], None, table)?;
    }
    if parts.includes("calls") {
        Table::head(
            "calls one after the other, planrun's transport against a bare client",
            "ours",
            "other",
        );
        calls::measure(table)?;
    }
    if parts.includes("serve") {
        Table::head(
            "plan mode over pipes, against a server of one tool",
            "planrun serve",
            "other",
        );
        serve::measure(&lock::written_tools()?, &serve::reads()?, table)?;
    }
    if parts.includes("connect") {
        Table::head(
            "connecting to 20 servers that take 200 ms, against one of them",
            "20",
            "1",
        );
        calls::connect(table)?;
    }
    Ok(())
}
