//! The tables, and the migrations that create them.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::super::failure::JournalError;

/// Application id of a journal file: `plan` in ASCII.
const APPLICATION: i64 = 0x706c_616e;

/// A migration from one format to the next.
pub(super) type Migration = &'static str;

/// The migration at index n leads from format n to n + 1; format 0 is an empty file.
pub(super) const MIGRATIONS: &[Migration] = &[
    include_str!("format_1.sql"),
    include_str!("format_2.sql"),
    include_str!("format_3.sql"),
];

/// The format of a file before anything is changed in it.
pub(super) enum FileFormat {
    Empty,
    Format(i64),
}

/// Determines whether the file is a journal of a known format.
pub(super) fn inspect(
    connection: &Connection,
    path: &Path,
    migrations: &[Migration],
) -> Result<FileFormat, JournalError> {
    let to_error = |error: rusqlite::Error| JournalError::from_sqlite(path, &error);
    // All queries in one transaction, because another process may be creating the file.
    let _moment = connection
        .is_autocommit()
        .then(|| connection.unchecked_transaction())
        .transpose()
        .map_err(to_error)?;
    let application = pragma(connection, "application_id").map_err(to_error)?;
    let found = pragma(connection, "user_version").map_err(to_error)?;
    if application != APPLICATION {
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(to_error)?;
        if application == 0 && found == 0 && tables == 0 {
            return Ok(FileFormat::Empty);
        }
        let why = "it is a database of another program".into();
        return Err(JournalError::NoJournal {
            path: path.to_owned(),
            why,
        });
    }
    let known = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    if found > known {
        return Err(JournalError::NewerFormat {
            path: path.to_owned(),
            found,
            known,
        });
    }
    if found < 1 {
        let why = format!("it has the unknown format {found}");
        return Err(JournalError::NoJournal {
            path: path.to_owned(),
            why,
        });
    }
    Ok(FileFormat::Format(found))
}

/// Migrates a file to the newest format, in one transaction.
pub(super) fn migrate(
    connection: &mut Connection,
    path: &Path,
    migrations: &[Migration],
) -> Result<(), JournalError> {
    let to_error = |error: rusqlite::Error| JournalError::from_sqlite(path, &error);
    if let FileFormat::Format(found) = inspect(connection, path, migrations)?
        && usize::try_from(found) == Ok(migrations.len())
    {
        return Ok(());
    }
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(to_error)?;
    // Another process may have been first.
    let done = match inspect(&transaction, path, migrations)? {
        FileFormat::Empty => {
            transaction
                .pragma_update(None, "application_id", APPLICATION)
                .map_err(to_error)?;
            0
        }
        FileFormat::Format(found) => usize::try_from(found).unwrap_or(0),
    };
    for migration in migrations.iter().skip(done) {
        transaction.execute_batch(migration).map_err(to_error)?;
    }
    transaction
        .pragma_update(None, "user_version", migrations.len())
        .map_err(to_error)?;
    transaction.commit().map_err(to_error)
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Migration =
        "ALTER TABLE runs ADD COLUMN owner TEXT; UPDATE runs SET owner = 'of ' || plan;";
    const BROKEN: Migration = "DELETE FROM runs; SELECT no_such_function();";

    fn version(connection: &Connection) -> i64 {
        pragma(connection, "user_version").unwrap()
    }

    fn older_file() -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, Path::new("j"), &MIGRATIONS[..1]).unwrap();
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
        let migrations = [MIGRATIONS[0], SECOND];
        migrate(&mut connection, Path::new("j"), &migrations).unwrap();
        assert_eq!(version(&connection), 2);
        let owner: String = connection
            .query_row("SELECT owner FROM runs", [], |row| row.get(0))
            .unwrap();
        assert_eq!(owner, "of p");
        migrate(&mut connection, Path::new("j"), &migrations).unwrap();
    }

    #[test]
    fn wake_times_of_an_older_file_are_converted_and_never_become_earlier() {
        let mut connection = older_file();
        connection
            .execute("UPDATE runs SET wake_at = 1700000000000000001", [])
            .unwrap();
        migrate(&mut connection, Path::new("j"), MIGRATIONS).unwrap();
        let wake: i64 = connection
            .query_row("SELECT wake_at FROM runs", [], |row| row.get(0))
            .unwrap();
        assert_eq!(wake, 1_700_000_000_000_001);
    }

    #[test]
    fn a_step_that_fails_leaves_the_older_file_whole() {
        let mut connection = older_file();
        assert!(
            migrate(
                &mut connection,
                Path::new("j"),
                &[MIGRATIONS[0], SECOND, BROKEN]
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
        let error = migrate(&mut connection, Path::new("j"), MIGRATIONS).unwrap_err();
        assert_eq!(
            error,
            JournalError::NewerFormat {
                path: "j".into(),
                found: 7,
                known: i64::try_from(MIGRATIONS.len()).unwrap()
            }
        );
        let mut other = Connection::open_in_memory().unwrap();
        other
            .execute_batch("CREATE TABLE photos (name TEXT)")
            .unwrap();
        let error = migrate(&mut other, Path::new("j"), MIGRATIONS).unwrap_err();
        assert!(matches!(error, JournalError::NoJournal { .. }), "{error}");
        assert!(other.prepare("SELECT * FROM runs").is_err());
    }
}
