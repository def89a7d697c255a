//! Cases: a test with one row of what is given.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::sema::test::{Row, Test};
use planrun_lang::value::Value;

use super::recording::Recording;
use super::slots::Slots;

/// More rows than this are not crossed.
pub const MAX_ROWS: usize = 10_000;

/// One run of a test.
#[derive(Clone, Debug)]
pub struct Case {
    pub test: Arc<Test>,
    /// The number of its row, from 1; absent where there is only one.
    pub row: Option<usize>,
    pub inputs: BTreeMap<Arc<str>, Value>,
    /// What the real tools answered, where that is kept.
    pub recording: Option<Arc<Recording>>,
}

/// The cases of a test, in the order of its rows: the last table changes fastest.
///
/// # Errors
/// In one sentence, where a row has no value, or there are too many.
pub fn cases(test: &Arc<Test>) -> Result<Vec<Case>, String> {
    let mut rows: Vec<BTreeMap<Arc<str>, Value>> = vec![BTreeMap::new()];
    for table in &test.tables {
        if rows.len().saturating_mul(table.len()) > MAX_ROWS {
            return Err(format!(
                "the tables of this test have more than {MAX_ROWS} rows together"
            ));
        }
        let mut crossed = Vec::with_capacity(rows.len() * table.len());
        for before in &rows {
            for row in table {
                let mut inputs = before.clone();
                inputs.extend(values(row)?);
                crossed.push(inputs);
            }
        }
        rows = crossed;
    }
    let many = rows.len() > 1;
    let case = |(index, inputs)| Case {
        test: test.clone(),
        row: many.then_some(index + 1),
        inputs,
        recording: None,
    };
    Ok(rows.into_iter().enumerate().map(case).collect())
}

fn values(row: &Row) -> Result<Vec<(Arc<str>, Value)>, String> {
    let mut values = Vec::with_capacity(row.inputs.len());
    for (name, code) in &row.inputs {
        let value = Slots::none()
            .evaluate(code)
            .map_err(|error| format!("the input `{name}` has no value: {error}"))?;
        // As for an argument: a null leaves out what need not be given.
        if value != Value::Null {
            values.push((name.clone(), value));
        }
    }
    Ok(values)
}

impl Case {
    /// The name of the test, with the number of the row where there are several.
    #[must_use]
    pub fn title(&self) -> String {
        match self.row {
            Some(row) => format!("{} #{row}", self.test.name),
            None => self.test.name.to_string(),
        }
    }
}
