//! Leases: taking the lease of a run, and distinguishing live drivers from dead ones.

use rusqlite::{Connection, OptionalExtension as _, Transaction, named_params, params};

use super::super::digest::{Digest, Origin};
use super::super::failure::{Damage, JournalError};
use super::super::run_row::{Created, Holder, NewRun, RunRow};
use super::process::{self, Liveness};
use super::queue::Target;
use super::rows;
use super::{Inner, nanos};

/// The lease of a run, as granted to this process.
pub(super) struct GrantedLease {
    pub target: Target,
    /// Whether the previous driver ended without releasing the run.
    pub after_crash: bool,
    /// Whether the run was created with it, so that nothing has been sent to the run yet.
    pub is_new: bool,
}

impl Inner {
    /// Creates the row of a run and takes its lease, in one transaction.
    pub(super) fn create_row(
        &self,
        new: &NewRun<'_>,
        driver: &str,
    ) -> Result<Created<GrantedLease>, JournalError> {
        let pinned = Digest::of(new.pinned);
        let created_at = nanos(new.at);
        let origin = Origin {
            run: new.run,
            plan: new.plan,
            digest: new.digest,
            pinned,
            created_at,
        };
        let head = origin.head();
        self.change(|transaction| {
            let there = rows::find(transaction, new.run).map_err(|error| self.failure(&error))?;
            if let Some((_, row)) = there {
                if row.digest == new.digest {
                    return Ok(Created::Exists(Box::new(row)));
                }
                let (there, given) = (row.digest, new.digest);
                return Err(JournalError::OtherInput {
                    run: new.run.into(),
                    there,
                    given,
                });
            }
            let id = self
                .insert(transaction, &origin, &head, driver)
                .map_err(|error| self.failure(&error))?;
            super::commit::keep(transaction, id, &pinned, new.pinned)
                .map_err(|error| self.failure(&error))?;
            let target = Target {
                id,
                run: new.run.to_owned(),
                epoch: 1,
                last: 0,
                head,
                newest_message: 0,
            };
            Ok(Created::New(GrantedLease {
                target,
                after_crash: false,
                is_new: true,
            }))
        })
    }

    fn insert(
        &self,
        transaction: &Transaction<'_>,
        origin: &Origin<'_>,
        head: &Digest,
        driver: &str,
    ) -> rusqlite::Result<i64> {
        transaction.execute(
            "INSERT INTO runs (run, plan, digest, pinned, created_at, updated_at, state, last, head, epoch,
                               driver, process, machine, driven_since, driven_until)
             VALUES (:run, :plan, :digest, :pinned, :at, :at, 'pending', 0, :head, 1,
                     :driver, :process, :machine, :since, :until)",
            named_params! {
                ":run": origin.run, ":plan": origin.plan, ":digest": origin.digest, ":pinned": origin.pinned,
                ":at": origin.created_at, ":head": head, ":driver": driver, ":process": std::process::id(),
                ":machine": self.machine.name, ":since": self.now(), ":until": self.until(),
            },
        )?;
        Ok(transaction.last_insert_rowid())
    }

    /// Takes the lease of a run, unless a live driver holds it.
    pub(super) fn take_lease(&self, run: &str, driver: &str) -> Result<GrantedLease, JournalError> {
        self.change(|transaction| {
            let to_error = |error: rusqlite::Error| self.failure(&error);
            let found = rows::find(transaction, run).map_err(to_error)?;
            let (id, row) = found.ok_or_else(|| JournalError::NotFound { run: run.into() })?;
            let after_crash = row.holder.is_some();
            if let Some(holder) = row.holder.clone()
                && self.is_driven(&holder)
            {
                return Err(JournalError::Driven {
                    run: run.into(),
                    holder: Box::new(holder),
                });
            }
            let epoch: i64 = transaction
                .query_row(
                    "UPDATE runs SET epoch = epoch + 1, driver = ?2, process = ?3, machine = ?4,
                                     driven_since = ?5, driven_until = ?6
                     WHERE id = ?1 RETURNING epoch",
                    params![
                        id,
                        driver,
                        std::process::id(),
                        self.machine.name,
                        self.now(),
                        self.until()
                    ],
                    |row| row.get(0),
                )
                .map_err(to_error)?;
            self.check_consistency(transaction, id, &row)?;
            let target = Target {
                id,
                run: run.into(),
                epoch,
                last: row.events,
                head: row.head,
                newest_message: 0,
            };
            Ok(GrantedLease {
                target,
                after_crash,
                is_new: false,
            })
        })
    }

    /// Checks that the row matches the last event, so that new events are not appended to others than the row
    /// describes.
    fn check_consistency(
        &self,
        at: &Connection,
        id: i64,
        row: &RunRow,
    ) -> Result<(), JournalError> {
        let newest = super::events::newest(at, id)
            .optional()
            .map_err(|error| self.failure(&error))?;
        let there = newest.unwrap_or_else(|| (0, row.origin()));
        if there == (row.events, row.head) {
            return Ok(());
        }
        let why = format!(
            "it records {} events, which do not match the stored ones",
            row.events
        );
        Err(self.damaged(Damage::Run {
            run: row.run.clone(),
            why,
        }))
    }

    /// Returns true if this holder may still write. On this machine its lock decides; for a holder on another machine,
    /// only the end of its lease is known.
    pub(super) fn is_driven(&self, holder: &Holder) -> bool {
        match process::liveness(&self.path, &self.machine, &holder.driver) {
            Liveness::Alive => true,
            Liveness::Dead => false,
            Liveness::Unknown => holder.until > self.host.now(),
        }
    }

    pub(super) fn now(&self) -> i64 {
        nanos(self.host.now())
    }

    /// Returns the end of a lease that is taken or renewed now.
    fn until(&self) -> i64 {
        self.now()
            .saturating_add(i64::try_from(self.settings.lease.as_nanos()).unwrap_or(i64::MAX))
    }
}
