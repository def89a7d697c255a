//! HTTP statuses as error classes.

use planrun_lang::call::{status_class, status_name};
use planrun_lang::protocol::Sent;

/// Returns the error classes of a status. If `unknown_outcome` is among them, the call may have happened all the
/// same.
pub fn of_status(status: i64) -> Vec<String> {
    let Some((class, sent)) = u16::try_from(status).ok().and_then(status_class) else {
        return vec![format!("tool.{}", reason(status))];
    };
    let mut classes = vec![class.to_string()];
    if sent == Sent::Maybe {
        classes.push("unknown_outcome".to_owned());
    }
    classes
}

/// Returns the error name of a status that has no class of its own: the one that tools use.
pub fn reason(status: i64) -> String {
    u16::try_from(status).map_or_else(|_| format!("status_{status}"), status_name)
}
