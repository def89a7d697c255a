//! The report in LCOV's tracefile format, which `genhtml`, editors and services read.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use planrun_lang::diag::render::visible_line;
use planrun_lang::sema::{BlockId, NodeId};

use super::lines::{Found, Line, lines};
use super::{Coverage, Goal};

/// The report as a tracefile: lines that have goals, and as branches whatever goes on from a place in several ways.
#[must_use]
pub fn lcov(coverage: &Coverage<'_>) -> String {
    let mut report = String::new();
    for (file, plans) in coverage.files() {
        let lines = lines(&plans);
        // Writing to a string cannot fail.
        // A name with a line break in it would begin a line of its own.
        let _ = writeln!(report, "TN:\nSF:{}", visible_line(file));
        let (mut branches, mut taken) = (0_usize, 0_usize);
        for (number, line) in &lines {
            for (block, ways) in places(line).iter().enumerate() {
                let evaluated = ways
                    .iter()
                    .any(|found| found.count > 0 || found.had_its_turn);
                for (way, found) in ways.iter().enumerate() {
                    // A dash says that nothing was decided there at all.
                    let count = if evaluated {
                        found.count.to_string()
                    } else {
                        "-".to_owned()
                    };
                    let _ = writeln!(report, "BRDA:{number},{block},{way},{count}");
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

/// The branches of a line, those of one statement and one kind together.
fn places<'l>(line: &'l Line<'l>) -> Vec<Vec<&'l Found<'l>>> {
    let mut places: Vec<Vec<&Found<'_>>> = Vec::new();
    let mut known: BTreeMap<(BlockId, NodeId, super::Kind), usize> = BTreeMap::new();
    for found in line
        .goals
        .iter()
        .filter(|found| found.goal.kind.is_branch())
    {
        let Goal { item, kind, .. } = found.goal;
        let key = (item.block, item.node, *kind);
        let index = *known.entry(key).or_insert_with(|| {
            places.push(Vec::new());
            places.len() - 1
        });
        places[index].push(found);
    }
    places
}
