//! The handling of new and changed snapshots.

use planrun_tools::host::Host;

use super::SnapshotError;

/// The handling of new and changed snapshots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Both fail, and nothing is written. For CI.
    Check,
    /// Both fail, and are written as `.snap.new` for review.
    Pending,
    /// New ones are accepted; changed ones fail and are written as `.snap.new`.
    Unseen,
    /// Both are accepted.
    Accept,
    /// Both are accepted, and unchanged ones are rewritten in the current format.
    Force,
}

impl Mode {
    /// Returns the selected mode: [`Mode::Accept`] with `--accept`, else that of `INSTA_UPDATE`, else [`Mode::Check`]
    /// in CI and [`Mode::Pending`] elsewhere.
    ///
    /// # Errors
    /// Returns an error if `INSTA_UPDATE` has an unknown value.
    pub fn chosen(host: &dyn Host, accept: bool) -> Result<Self, SnapshotError> {
        if accept {
            return Ok(Self::Accept);
        }
        match host.variable("INSTA_UPDATE").as_deref() {
            None | Some("" | "auto") => Ok(if in_ci(host) {
                Self::Check
            } else {
                Self::Pending
            }),
            Some("always" | "1") => Ok(Self::Accept),
            Some("new") => Ok(Self::Pending),
            Some("no") => Ok(Self::Check),
            Some("unseen") => Ok(Self::Unseen),
            Some("force") => Ok(Self::Force),
            Some(other) => Err(SnapshotError::Setting(other.to_owned())),
        }
    }

    pub(super) const fn writes(self) -> bool {
        !matches!(self, Self::Check)
    }

    /// Returns true if stored snapshots are replaced without a review.
    pub(super) const fn replaces(self) -> bool {
        matches!(self, Self::Accept | Self::Force)
    }
}

/// Detects CI as insta does.
fn in_ci(host: &dyn Host) -> bool {
    match host.variable("CI").as_deref() {
        Some("" | "0" | "false") => false,
        Some(_) => true,
        None => host.variable("TF_BUILD").is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use planrun_tools::host::MemoryHost;

    #[test]
    fn the_flag_comes_before_insta_and_insta_before_ci() {
        let host = |variables: &[(&str, &str)]| {
            variables
                .iter()
                .fold(MemoryHost::new(0), |host, (name, value)| {
                    host.with_variable(name, value)
                })
        };
        let mode = |variables: &[(&str, &str)]| Mode::chosen(&host(variables), false).unwrap();
        assert_eq!(mode(&[]), Mode::Pending);
        assert_eq!(mode(&[("CI", "true")]), Mode::Check);
        assert_eq!(mode(&[("TF_BUILD", "True")]), Mode::Check);
        assert_eq!(
            mode(&[("CI", "false"), ("TF_BUILD", "True")]),
            Mode::Pending
        );
        assert_eq!(mode(&[("CI", "1"), ("INSTA_UPDATE", "new")]), Mode::Pending);
        assert_eq!(mode(&[("INSTA_UPDATE", "always")]), Mode::Accept);
        assert_eq!(mode(&[("INSTA_UPDATE", "no")]), Mode::Check);
        assert_eq!(
            Mode::chosen(&host(&[("INSTA_UPDATE", "no")]), true).unwrap(),
            Mode::Accept
        );
        let error = Mode::chosen(&host(&[("INSTA_UPDATE", "\u{1b}x")]), false)
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "INSTA_UPDATE is `\\u{1b}x`: expected auto, always, new, no, unseen or force"
        );
    }
}
