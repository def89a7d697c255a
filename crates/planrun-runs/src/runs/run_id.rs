//! Identifiers of new runs.

use planrun_tools::host::Host;

/// Returns a time-ordered identifier (UUID version 7, RFC 9562).
pub fn new_run_id(host: &dyn Host) -> String {
    let millis = u64::try_from(host.now() / 1_000_000).unwrap_or(0);
    let (high, low) = (host.random(), host.random());
    let mut random = [0; 10];
    random[..8].copy_from_slice(&high.to_le_bytes());
    random[8..].copy_from_slice(&low.to_le_bytes()[..2]);
    uuid::Builder::from_unix_timestamp_millis(millis, &random)
        .into_uuid()
        .to_string()
}
