//! Parses LCOV tracefiles as strictly as LCOV's own programs do.

use std::collections::{BTreeMap, BTreeSet};

/// The coverage of one file.
#[derive(Debug, Default)]
pub struct Record {
    pub lines: BTreeMap<u32, u64>,
    /// Counts by line, block and branch.
    pub branches: BTreeMap<(u32, u32, u32), Option<u64>>,
}

/// Parses a tracefile. Panics if it is inconsistent.
pub fn read(text: &str) -> BTreeMap<String, Record> {
    let mut files = BTreeMap::new();
    let mut open: Option<(String, Record, BTreeMap<String, usize>)> = None;
    for line in text.lines() {
        if line == "end_of_record" {
            let (name, record, summary) = open.take().expect("a record is open");
            hold(&name, &record, &summary);
            assert!(
                files.insert(name.clone(), record).is_none(),
                "{name} is there twice"
            );
            continue;
        }
        let (key, value) = line
            .split_once(':')
            .unwrap_or_else(|| panic!("no key in {line}"));
        if key == "TN" {
            continue;
        }
        if key == "SF" {
            assert!(open.is_none() && !value.is_empty());
            open = Some((value.to_owned(), Record::default(), BTreeMap::new()));
            continue;
        }
        let (_, record, summary) = open
            .as_mut()
            .unwrap_or_else(|| panic!("{line} stands in no record"));
        let parts: Vec<&str> = value.split(',').collect();
        match (key, parts.as_slice()) {
            ("DA", [line, count]) => {
                assert!(
                    record
                        .lines
                        .insert(line.parse().unwrap(), count.parse().unwrap())
                        .is_none()
                );
            }
            ("BRDA", [line, block, branch, taken]) => {
                let at = (
                    line.parse().unwrap(),
                    block.parse().unwrap(),
                    branch.parse().unwrap(),
                );
                let taken = (*taken != "-").then(|| taken.parse().unwrap());
                assert!(record.branches.insert(at, taken).is_none());
            }
            ("LF" | "LH" | "BRF" | "BRH", [count]) => {
                assert!(
                    summary
                        .insert(key.to_owned(), count.parse().unwrap())
                        .is_none()
                );
            }
            _ => panic!("unknown: {line}"),
        }
    }
    assert!(open.is_none(), "the last record has no end");
    files
}

fn hold(name: &str, record: &Record, summary: &BTreeMap<String, usize>) {
    let hit = |counts: &mut dyn Iterator<Item = u64>| counts.filter(|count| *count > 0).count();
    assert_eq!(summary["LF"], record.lines.len(), "{name}");
    assert_eq!(
        summary["LH"],
        hit(&mut record.lines.values().copied()),
        "{name}"
    );
    assert_eq!(
        summary.get("BRF").copied().unwrap_or(0),
        record.branches.len(),
        "{name}"
    );
    assert_eq!(
        summary.get("BRH").copied().unwrap_or(0),
        hit(&mut record.branches.values().flatten().copied()),
        "{name}"
    );
    let lines: BTreeSet<u32> = record.branches.keys().map(|(line, ..)| *line).collect();
    assert!(
        lines.iter().all(|line| record.lines.contains_key(line)),
        "{name}: a branch on a line without a count"
    );
    for ((line, ..), taken) in &record.branches {
        assert!(
            taken.unwrap_or(0) == 0 || record.lines[line] > 0,
            "{name}:{line}: taken, and never hit"
        );
    }
}
