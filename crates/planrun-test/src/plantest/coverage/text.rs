//! The coverage report as text: a table, and the goals that no test reaches, by line.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr;

use super::missing::missing;
use super::{Coverage, Kind, PlanCoverage, Share};

/// The columns of the table: a title and the kinds that it counts.
const COLUMNS: [(&str, &[Kind]); 4] = [
    ("steps", &[Kind::Step]),
    (
        "branches",
        &[
            Kind::Condition,
            Kind::Ensure,
            Kind::Arm,
            Kind::Recover,
            Kind::Loop,
        ],
    ),
    ("errors", &[Kind::Error]),
    (
        "others",
        &[
            Kind::Undo,
            Kind::Verify,
            Kind::Listener,
            Kind::Reply,
            Kind::Gate,
            Kind::Input,
        ],
    ),
];

/// Returns the report as text.
#[must_use]
pub fn text(coverage: &Coverage<'_>) -> String {
    let mut rows = vec![header()];
    for (file, plans) in coverage.files() {
        rows.push(row(file, &plans));
        if plans.len() > 1 {
            rows.extend(
                plans
                    .iter()
                    .map(|plan| row(&format!("  {}", plan.goals.plan().name), &[plan])),
            );
        }
    }
    let all: Vec<&PlanCoverage<'_>> = coverage.plans.iter().collect();
    rows.push(row("all", &all));
    let mut text = table(&rows);
    for (file, plans) in coverage.files() {
        let mut open: Vec<(u32, String)> = plans.iter().flat_map(|plan| missing(plan)).collect();
        open.sort_by_key(|(line, _)| *line);
        if open.is_empty() {
            continue;
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{file}");
        let width = open
            .iter()
            .map(|(line, _)| line.to_string().len())
            .max()
            .unwrap_or(0);
        for (line, missing) in open {
            let _ = writeln!(text, "  {line:>width$}  {missing}");
        }
    }
    text
}

fn header() -> Vec<String> {
    let words = COLUMNS.iter().map(|(word, _)| (*word).to_owned());
    std::iter::once("plan".to_owned())
        .chain(words)
        .chain(["reached".to_owned(), String::new()])
        .collect()
}

fn row(name: &str, plans: &[&PlanCoverage<'_>]) -> Vec<String> {
    let mut row = vec![name.to_owned()];
    let mut total = Share::default();
    for (_, kinds) in COLUMNS {
        let mut share = Share::default();
        for plan in plans {
            share += plan.share_of(&|kind| kinds.contains(&kind));
        }
        row.push(if share.all == 0 {
            "-".to_owned()
        } else {
            format!("{}/{}", share.reached, share.all)
        });
        total += share;
    }
    row.push(format!("{}/{}", total.reached, total.all));
    row.push(format!("{}%", total.percent()));
    row
}

/// Formats columns of equal width: the first is left-aligned, the others are right-aligned.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            rows.iter()
                .map(|row| row[column].width())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let space = " ".repeat(width.saturating_sub(cell.width()));
            let parts = if column == 0 {
                [cell.as_str(), &space, ""]
            } else {
                ["  ", &space, cell]
            };
            line.extend(parts);
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}
