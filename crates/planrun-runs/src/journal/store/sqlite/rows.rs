//! The rows of runs, and lists of runs.

use planrun_lang::protocol::RunState;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, OptionalExtension as _, Row, ToSql, params_from_iter};

use super::super::digest::Digest;
use super::super::failure::JournalError;
use super::super::run_row::{Filter, Holder, RunInfo, RunRow};
use super::Inner;
use super::nanos;

/// The columns that `read` expects, in this order.
const COLUMNS: &str = "id, run, plan, digest, pinned, created_at, updated_at, state, ended, error, note, wake_at, \
                       steps_done, steps_all, last, head, driver, process, machine, driven_since, driven_until";

/// Maximum number of runs that an error for an ambiguous prefix lists.
const MAX_NAMED: usize = 5;

impl Inner {
    /// Returns the run with this id, or the only one whose id begins with it.
    pub(super) fn resolve(&self, prefix: &str) -> Result<RunRow, JournalError> {
        let (found, mut others) = self.read(|connection| {
            let exact = find(connection, prefix)?;
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM runs WHERE run >= ?1 AND run < ?1 || char(1114111) ORDER BY run LIMIT {MAX_NAMED}"
            ))?;
            let others = if exact.is_none() && !prefix.is_empty() {
                statement.query_map([prefix], read)?.collect::<rusqlite::Result<Vec<_>>>()?
            } else {
                Vec::new()
            };
            Ok((exact, others))
        })?;
        if let Some((_, row)) = found {
            return Ok(row);
        }
        match others.len() {
            1 => Ok(others.remove(0)),
            0 => Err(JournalError::NotFound { run: prefix.into() }),
            _ => {
                let runs = others.into_iter().map(|row| row.info.run).collect();
                Err(JournalError::Ambiguous {
                    prefix: prefix.into(),
                    runs,
                })
            }
        }
    }

    /// Returns the runs that pass the filter, newest first.
    pub(super) fn list(&self, filter: &Filter) -> Result<Vec<RunRow>, JournalError> {
        let (text, parameters) = select(filter);
        self.read(|connection| {
            connection
                .prepare(&text)?
                .query_map(params_from_iter(parameters), read)?
                .collect()
        })
    }
}

/// Converts a time to whole microseconds since the Unix epoch, as `wake_at` has them, which reach beyond the year 9999.
fn whole_microseconds(moment: i128) -> i64 {
    let whole = moment.div_euclid(1000);
    i64::try_from(whole).unwrap_or(if whole < 0 { i64::MIN } else { i64::MAX })
}

/// Converts the time at which a run wakes for `wake_at`. It is rounded up, so that the run is not due too early.
pub(super) fn wake_microseconds(wake: i128) -> i64 {
    whole_microseconds(wake.saturating_add(999))
}

/// Returns the query for the runs that pass the filter, and its parameters.
fn select(filter: &Filter) -> (String, Vec<Value>) {
    let mut parameters: Vec<Value> = Vec::new();
    let mut conditions = vec!["1"];
    if let Some(plan) = &filter.plan {
        parameters.push(plan.clone().into());
        conditions.push("plan = ?");
    }
    let pending = filter.pending.then_some(RunInfo::PENDING);
    let names = filter.states.iter().map(|state| state.name());
    let names: Vec<&str> = names.chain(pending).collect();
    let states = format!("state IN ({})", vec!["?"; names.len()].join(", "));
    if !names.is_empty() {
        parameters.extend(names.into_iter().map(|name| name.to_owned().into()));
        conditions.push(&states);
    }
    if let Some(since) = filter.since {
        parameters.push(nanos(since).into());
        conditions.push("created_at >= ?");
    }
    if let Some(due) = filter.due {
        parameters.push(whole_microseconds(due).into());
        conditions.push("wake_at <= ?");
    }
    parameters.push(
        filter
            .limit
            .map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX))
            .into(),
    );
    let conditions = conditions.join(" AND ");
    let text = format!(
        "SELECT {COLUMNS} FROM runs WHERE {conditions} ORDER BY created_at DESC, id DESC LIMIT ?"
    );
    (text, parameters)
}

/// Returns the run with exactly this id, and its row id.
pub(super) fn find(connection: &Connection, run: &str) -> rusqlite::Result<Option<(i64, RunRow)>> {
    let mut statement =
        connection.prepare_cached(&format!("SELECT {COLUMNS} FROM runs WHERE run = ?"))?;
    statement
        .query_row([run], |row| Ok((row.get(0)?, read(row)?)))
        .optional()
}

fn read(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    let moment = |index| row.get::<_, i64>(index).map(i128::from);
    let holder = match row.get(16)? {
        Some(driver) => {
            let (process, machine) = (row.get(17)?, row.get(18)?);
            Some(Holder {
                driver,
                process,
                machine,
                since: moment(19)?,
                until: moment(20)?,
            })
        }
        None => None,
    };
    let info = RunInfo {
        run: row.get(1)?,
        plan: row.get(2)?,
        created_at: moment(5)?,
        updated_at: moment(6)?,
        state: RunState::find(&row.get::<_, String>(7)?),
        ended: row.get(8)?,
        error: row.get(9)?,
        note: row.get(10)?,
        wake_at: row
            .get::<_, Option<i64>>(11)?
            .map(|wake| i128::from(wake) * 1000),
        steps_done: row.get(12)?,
        steps_all: row.get(13)?,
        events: row.get(14)?,
    };
    Ok(RunRow {
        info,
        digest: row.get(3)?,
        pinned: row.get(4)?,
        head: row.get(15)?,
        holder,
    })
}

/// A hash is a column of 32 bytes.
impl ToSql for Digest {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Blob(&self.0)))
    }
}

impl FromSql for Digest {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value
            .as_blob()?
            .try_into()
            .map(Self)
            .map_err(|_| FromSqlError::InvalidType)
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema::{MIGRATIONS, migrate};
    use super::*;

    #[test]
    fn lists_are_read_from_an_index_in_their_order() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, std::path::Path::new("j"), MIGRATIONS).unwrap();
        let filters = [
            (
                Filter {
                    limit: Some(9),
                    ..Filter::default()
                },
                "runs_by_age",
            ),
            (
                Filter {
                    since: Some(1),
                    ..Filter::default()
                },
                "runs_by_age",
            ),
            (
                Filter {
                    plan: Some("p".into()),
                    ..Filter::default()
                },
                "runs_by_plan",
            ),
            (
                Filter {
                    states: vec![RunState::Paused],
                    ..Filter::default()
                },
                "runs_by_state",
            ),
            (
                Filter {
                    due: Some(1),
                    ..Filter::default()
                },
                "runs_by_",
            ),
        ];
        for (filter, index) in filters {
            let (text, parameters) = select(&filter);
            let mut statement = connection
                .prepare(&format!("EXPLAIN QUERY PLAN {text}"))
                .unwrap();
            let plan = statement
                .query_map(params_from_iter(parameters), |row| row.get::<_, String>(3))
                .unwrap();
            let plan = plan.map(Result::unwrap).collect::<Vec<_>>().join("; ");
            assert!(plan.contains(index), "{filter:?}: {plan}");
            assert!(
                filter.due.is_some() || !plan.contains("TEMP B-TREE"),
                "{filter:?}: {plan}"
            );
        }
    }
}
