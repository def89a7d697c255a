//! `PLANRUN_LOG`: what happens inside of a run, for whoever develops planrun or a tool of it.

use planrun_runs::runs::real_host;

use super::{Failure, Terminal};

/// What names the levels that are wanted, such as `debug` or `planrun_runs::driver=debug`.
const VARIABLE: &str = "PLANRUN_LOG";

/// Has spans and events of this process written to standard error, where the environment asks for them.
///
/// # Errors
/// When the environment asks for something that is no filter.
pub(super) fn install(terminal: Terminal) -> Result<(), Failure> {
    let Some(wanted) = real_host()
        .variable(VARIABLE)
        .filter(|text| !text.is_empty())
    else {
        return Ok(());
    };
    subscribe(&wanted, terminal)
}

#[cfg(feature = "log")]
fn subscribe(wanted: &str, terminal: Terminal) -> Result<(), Failure> {
    use tracing_subscriber::filter::{EnvFilter, filter_fn};
    use tracing_subscriber::fmt::format::FmtSpan;
    use tracing_subscriber::layer::SubscriberExt as _;
    use tracing_subscriber::util::SubscriberInitExt as _;

    let filter = EnvFilter::try_new(wanted)
        .map_err(|error| Failure::Usage(format!("{VARIABLE}: {error}")))?;
    // Of its own crates alone it is known that no field holds a secret.
    let own = filter_fn(|metadata| metadata.target().starts_with("planrun"));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(terminal.color_messages)
        .with_span_events(FmtSpan::NEW | FmtSpan::CLOSE)
        .finish()
        .with(own);
    // Only another subscriber of this process could be in the way, and then that one is wanted.
    let _ = subscriber.try_init();
    Ok(())
}

#[cfg(not(feature = "log"))]
fn subscribe(_: &str, _: Terminal) -> Result<(), Failure> {
    let why = format!("{VARIABLE} is set, and this planrun was built without the feature `log`");
    Err(Failure::Usage(why))
}
