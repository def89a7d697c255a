//! The coverage report in LCOV's tracefile format, which `genhtml`, editors and services read.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use planrun_lang::diag::render::visible_line;
use planrun_lang::sema::{BlockId, NodeId};

use super::lines::{Found, Line, lines};
use super::{Coverage, Goal};

/// Returns the report as a tracefile: lines with goals, and branches for statements with several outcomes.
#[must_use]
pub fn lcov(coverage: &Coverage<'_>) -> String {
    let mut report = String::new();
    for (file, plans) in coverage.files() {
        let lines = lines(&plans);
        // Writing to a string cannot fail.
        // A line break in a file name would start a new record.
        let _ = writeln!(report, "TN:\nSF:{}", visible_line(file));
        let (mut branches, mut taken) = (0_usize, 0_usize);
        for (number, line) in &lines {
            for (block, group) in branch_groups(line).iter().enumerate() {
                let evaluated = group
                    .iter()
                    .any(|found| found.count > 0 || found.was_reachable);
                for (index, found) in group.iter().enumerate() {
                    // A dash means that the branch was never evaluated.
                    let count = if evaluated {
                        found.count.to_string()
                    } else {
                        "-".to_owned()
                    };
                    let _ = writeln!(report, "BRDA:{number},{block},{index},{count}");
                    branches += 1;
                    taken += usize::from(found.count > 0);
                }
            }
        }
        if branches > 0 {
            let _ = writeln!(report, "BRF:{branches}\nBRH:{taken}");
        }
        for (number, line) in &lines {
            let _ = writeln!(report, "DA:{number},{}", line.hits());
        }
        let hits = lines.values().filter(|line| line.hits() > 0).count();
        let _ = writeln!(report, "LF:{}\nLH:{hits}\nend_of_record", lines.len());
    }
    report
}

/// Returns the branches of a line, grouped by statement and kind.
fn branch_groups<'l>(line: &'l Line<'l>) -> Vec<Vec<&'l Found<'l>>> {
    let mut groups: Vec<Vec<&Found<'_>>> = Vec::new();
    let mut known: BTreeMap<(BlockId, NodeId, super::Kind), usize> = BTreeMap::new();
    for found in line
        .goals
        .iter()
        .filter(|found| found.goal.kind.is_branch())
    {
        let Goal { item, kind, .. } = found.goal;
        let key = (item.block, item.node, *kind);
        let index = *known.entry(key).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[index].push(found);
    }
    groups
}
