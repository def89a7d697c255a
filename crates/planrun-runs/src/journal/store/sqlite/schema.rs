//! The tables, and the ladder of formats that leads to them.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::super::failure::JournalError;

/// What a file of planrun says it is: `plan` in ASCII.
const APPLICATION: i64 = 0x706c_616e;

/// One step from a format to the next.
pub(super) type Step = &'static str;

/// The step at index n leads from format n to n + 1; format 0 is an empty file.
pub(super) const LADDER: &[Step] = &[include_str!("format_1.sql"), include_str!("format_2.sql")];

/// What a file is before anything is changed in it.
pub(super) enum Standing {
    Empty,
    Format(i64),
}

/// Looks whether the file is a journal of a format that the ladder knows.
pub(super) fn look(
    connection: &Connection,
    path: &Path,
    ladder: &[Step],
) -> Result<Standing, JournalError> {
    let told = |error: rusqlite::Error| JournalError::from_sqlite(path, &error);
    // All from one moment: another process may be making the file.
    let _moment = connection
        .is_autocommit()
        .then(|| connection.unchecked_transaction())
        .transpose()
        .map_err(told)?;
    let application = pragma(connection, "application_id").map_err(told)?;
    let found = pragma(connection, "user_version").map_err(told)?;
    if application != APPLICATION {
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(told)?;
        if application == 0 && found == 0 && tables == 0 {
            return Ok(Standing::Empty);
        }
        let why = "it is a database of another program".into();
        return Err(JournalError::NoJournal {
            path: path.to_owned(),
            why,
        });
    }
    let known = i64::try_from(ladder.len()).unwrap_or(i64::MAX);
    if found > known {
        return Err(JournalError::NewerFormat {
            path: path.to_owned(),
            found,
            known,
        });
    }
    if found < 1 {
        let why = format!("it says that it has the format {found}, which never was");
        return Err(JournalError::NoJournal {
            path: path.to_owned(),
            why,
        });
    }
    Ok(Standing::Format(found))
}

/// Brings a file to the newest format, at once or not at all.
pub(super) fn climb(
    connection: &mut Connection,
    path: &Path,
    ladder: &[Step],
) -> Result<(), JournalError> {
    let told = |error: rusqlite::Error| JournalError::from_sqlite(path, &error);
    if let Standing::Format(found) = look(connection, path, ladder)?
        && usize::try_from(found) == Ok(ladder.len())
    {
        return Ok(());
    }
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(told)?;
    // Another process may have been first.
    let done = match look(&transaction, path, ladder)? {
        Standing::Empty => {
            transaction
                .pragma_update(None, "application_id", APPLICATION)
                .map_err(told)?;
            0
        }
        Standing::Format(found) => usize::try_from(found).unwrap_or(0),
    };
    for step in ladder.iter().skip(done) {
        transaction.execute_batch(step).map_err(told)?;
    }
    transaction
        .pragma_update(None, "user_version", ladder.len())
        .map_err(told)?;
    transaction.commit().map_err(told)
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Step =
        "ALTER TABLE runs ADD COLUMN owner TEXT; UPDATE runs SET owner = 'of ' || plan;";
    const BROKEN: Step = "DELETE FROM runs; SELECT no_such_function();";

    fn version(connection: &Connection) -> i64 {
        pragma(connection, "user_version").unwrap()
    }

    fn older_file() -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        climb(&mut connection, Path::new("j"), &LADDER[..1]).unwrap();
        connection
            .execute(
                "INSERT INTO runs (run, plan, digest, pinned, created_at, updated_at, state, last, head, epoch)
                 VALUES ('r', 'p', x'00', x'00', 1, 1, 's', 0, x'00', 1)",
                [],
            )
            .unwrap();
        connection
    }

    #[test]
    fn an_older_file_climbs_and_keeps_what_it_holds() {
        let mut connection = older_file();
        let ladder = [LADDER[0], SECOND];
        climb(&mut connection, Path::new("j"), &ladder).unwrap();
        assert_eq!(version(&connection), 2);
        let owner: String = connection
            .query_row("SELECT owner FROM runs", [], |row| row.get(0))
            .unwrap();
        assert_eq!(owner, "of p");
        climb(&mut connection, Path::new("j"), &ladder).unwrap();
    }

    #[test]
    fn a_step_that_fails_leaves_the_older_file_whole() {
        let mut connection = older_file();
        assert!(
            climb(
                &mut connection,
                Path::new("j"),
                &[LADDER[0], SECOND, BROKEN]
            )
            .is_err()
        );
        assert_eq!(version(&connection), 1);
        assert!(connection.prepare("SELECT owner FROM runs").is_err());
        let runs: i64 = connection
            .query_row("SELECT count(*) FROM runs", [], |row| row.get(0))
            .unwrap();
        assert_eq!(runs, 1);
    }

    #[test]
    fn a_newer_file_and_one_of_another_program_are_refused() {
        let mut connection = older_file();
        connection.pragma_update(None, "user_version", 7).unwrap();
        let error = climb(&mut connection, Path::new("j"), LADDER).unwrap_err();
        assert_eq!(
            error,
            JournalError::NewerFormat {
                path: "j".into(),
                found: 7,
                known: i64::try_from(LADDER.len()).unwrap()
            }
        );
        let mut other = Connection::open_in_memory().unwrap();
        other
            .execute_batch("CREATE TABLE photos (name TEXT)")
            .unwrap();
        let error = climb(&mut other, Path::new("j"), LADDER).unwrap_err();
        assert!(matches!(error, JournalError::NoJournal { .. }), "{error}");
        assert!(other.prepare("SELECT * FROM runs").is_err());
    }
}
