//! `PLANRUN_LOG`: logs the internals of a run, for developers of planrun and of tools.

use planrun_runs::runs::real_host;

use super::{Failure, Result, Terminal};

/// Environment variable with the log filter, such as `debug` or `planrun_runs::driver=debug`.
const VARIABLE: &str = "PLANRUN_LOG";

/// Logs spans and events of this process to standard error if the environment requests it. Returns an error if the
/// filter is invalid.
pub(super) fn install(terminal: Terminal) -> Result<()> {
    let Some(requested) = real_host()
        .variable(VARIABLE)
        .filter(|text| !text.is_empty())
    else {
        return Ok(());
    };
    subscribe(&requested, terminal)
}

#[cfg(feature = "log")]
fn subscribe(requested: &str, terminal: Terminal) -> Result<()> {
    use tracing_subscriber::filter::{EnvFilter, filter_fn};
    use tracing_subscriber::fmt::format::FmtSpan;
    use tracing_subscriber::layer::SubscriberExt as _;
    use tracing_subscriber::util::SubscriberInitExt as _;

    let filter = EnvFilter::try_new(requested)
        .map_err(|error| Failure::Usage(format!("{VARIABLE}: {error}")))?;
    // Only the fields of planrun's own crates are known to contain no secrets.
    let own = filter_fn(|metadata| metadata.target().starts_with("planrun"));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(terminal.color_messages)
        .with_span_events(FmtSpan::NEW | FmtSpan::CLOSE)
        .finish()
        .with(own);
    // Fails only if this process has another subscriber, which then takes precedence.
    let _ = subscriber.try_init();
    Ok(())
}

#[cfg(not(feature = "log"))]
fn subscribe(_: &str, _: Terminal) -> Result<()> {
    let why = format!("{VARIABLE} is set, but planrun was built without the feature `log`");
    Err(Failure::Usage(why))
}
