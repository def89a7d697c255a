//! Exporting a run as a text, in which every alteration is detected.

use planrun_runs::journal::store::{
    Digest, ExportFault, Journal, JournalError, Store as _, verify_export,
};

use super::temp_journal::{TempJournal, append, create};

/// Returns a journal with a run of five events and three values, and its export.
fn exported() -> (TempJournal, Journal, Vec<u8>) {
    let temp = TempJournal::new();
    let journal = temp.open();
    let mut driver = create(&journal, "r1");
    for value in [b"\"large\"".as_slice(), &[0xff, 0, 1]] {
        driver.keep(Digest::of(value), value);
    }
    append(&mut driver, 5);
    driver.close().unwrap();
    let mut text = Vec::new();
    journal.export("r1", &mut text).unwrap();
    (temp, journal, text)
}

fn fault(text: &[u8]) -> ExportFault {
    verify_export(text).expect_err("it is not what was exported")
}

#[test]
fn an_export_proves_itself() {
    let (_stage, journal, text) = exported();
    let verified = verify_export(&*text).unwrap();
    let row = journal.run("r1").unwrap();
    assert_eq!(
        (
            verified.run.as_str(),
            verified.plan.as_str(),
            verified.events,
            verified.values
        ),
        ("r1", "plan", 5, 3)
    );
    assert_eq!(verified.head, row.head);
    for line in text
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        serde_json::from_slice::<serde_json::Value>(line).unwrap();
    }
    let mut again = Vec::new();
    assert_eq!(journal.export("r1", &mut again).unwrap(), verified);
    assert_eq!(again, text);
    assert!(matches!(
        journal.export("r2", &mut again),
        Err(JournalError::NotFound { .. })
    ));
}

#[test]
fn a_run_without_events_is_exported() {
    let temp = TempJournal::new();
    let journal = temp.open();
    drop(create(&journal, "r1"));
    let mut text = Vec::new();
    journal.export("r1", &mut text).unwrap();
    assert_eq!(verify_export(&*text).unwrap().events, 0);
}

#[test]
fn whatever_byte_is_altered_or_cut_off_is_seen() {
    let (_stage, _journal, text) = exported();
    for at in 0..text.len() {
        let mut altered = text.clone();
        altered[at] ^= 1;
        fault(&altered);
        fault(&text[..at]);
    }
}

#[test]
fn the_line_at_fault_is_named() {
    let (_stage, _journal, text) = exported();
    let text = String::from_utf8(text).unwrap();
    let lines: Vec<_> = text.lines().collect();
    let without = |gone: usize| -> String {
        let left = lines
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != gone)
            .map(|(_, line)| format!("{line}\n"));
        left.collect()
    };
    // The header, three values, five events, the footer.
    assert_eq!(lines.len(), 10);
    for (gone, line) in [(0, 1), (1, 2), (2, 9), (4, 5), (6, 7), (8, 9), (9, 10)] {
        assert_eq!(
            fault(without(gone).as_bytes()).line,
            line,
            "without line {}",
            gone + 1
        );
    }
    let altered = text.replacen(
        "\"number\":3,\"event\":\"step",
        "\"number\":3,\"event\":\"stop",
        1,
    );
    assert_eq!(
        fault(altered.as_bytes()).to_string(),
        "line 7 of the export: event 3 was altered, or one before it is missing"
    );
    assert_eq!(
        fault(text.replacen("\"large", "\"Large", 1).as_bytes()).why,
        "the value does not match its hash"
    );
    assert_eq!(fault(format!("{text}{{}}\n").as_bytes()).line, 11);
    assert_eq!(fault(b"").line, 1);
    let newer = text.replacen("\"version\":1", "\"version\":2", 1);
    assert!(fault(newer.as_bytes()).why.contains("use a newer planrun"));
}
