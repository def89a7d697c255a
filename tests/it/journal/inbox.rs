//! Inbox commands from other processes: received while a run is driven, delivered once, and removed when an event
//! records them.

use planrun_runs::journal::store::{JournalError, Store as _};

use super::temp_journal::{TempJournal, append, create, numbers};

#[tokio::test]
async fn a_driver_hears_what_another_process_says() {
    let temp = TempJournal::new();
    let mut driver = create(&temp.open(), "r1");
    let mut newest = driver.newest_message();
    assert_eq!(driver.inbox().unwrap(), []);
    let other = temp.open();
    let first = other.post("r1", "{\"answer\":1}").unwrap();
    newest.changed().await.unwrap();
    let messages = driver.inbox().unwrap();
    assert_eq!(
        messages
            .iter()
            .map(|message| message.text.as_str())
            .collect::<Vec<_>>(),
        ["{\"answer\":1}"]
    );
    assert_eq!(driver.inbox().unwrap(), [], "each is given once");
    let second = other.post("r1", "{\"answer\":2}").unwrap();
    newest.changed().await.unwrap();
    assert_eq!(
        driver
            .inbox()
            .unwrap()
            .iter()
            .map(|message| message.id)
            .collect::<Vec<_>>(),
        [second]
    );
    append(&mut driver, 1);
    driver.taken(first);
    driver.close().unwrap();

    let mut driver = other.drive("r1").unwrap();
    let left = driver.inbox().unwrap();
    assert_eq!(
        left.iter().map(|message| message.id).collect::<Vec<_>>(),
        [second],
        "what no event has journaled"
    );
    append(&mut driver, 1);
    driver.taken(second);
    driver.close().unwrap();
    assert_eq!(other.drive("r1").unwrap().inbox().unwrap(), []);
}

#[test]
fn what_was_taken_but_not_written_is_given_again() {
    let temp = TempJournal::new();
    let journal = temp.open();
    let mut driver = create(&journal, "r1");
    let id = journal.post("r1", "{}").unwrap();
    append(&mut driver, 1);
    driver.taken(id);
    drop(driver);
    drop(journal);
    let journal = temp.open();
    assert_eq!(numbers(&journal, "r1", 1).0, [0; 0]);
    assert_eq!(journal.drive("r1").unwrap().inbox().unwrap().len(), 1);
    assert_eq!(
        journal.post("r2", "{}").unwrap_err(),
        JournalError::NotFound { run: "r2".into() }
    );
}
