//! Cases: a test with one row of inputs.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::sema::Plan;
use planrun_lang::sema::test::{Row, Test};
use planrun_lang::types::Type;
use planrun_lang::value::Value;

use super::fractions::with_fractions;
use super::recording::Recording;
use super::slots::Slots;

/// Maximum number of combined rows of the tables of a test.
pub const MAX_ROWS: usize = 10_000;

/// One run of a test.
#[derive(Clone, Debug)]
pub struct Case {
    pub test: Arc<Test>,
    /// Number of its row, from 1; `None` if there is only one.
    pub row: Option<usize>,
    pub inputs: BTreeMap<Arc<str>, Value>,
    /// Recorded answers of real tools, if there are any.
    pub recording: Option<Arc<Recording>>,
}

/// Returns the cases of a test, one for each combination of rows; the last table varies fastest.
///
/// # Errors
/// Returns a message if a value of a row cannot be evaluated, or if there are more than [`MAX_ROWS`] combinations.
pub fn cases(test: &Arc<Test>) -> Result<Vec<Case>, String> {
    let mut rows: Vec<BTreeMap<Arc<str>, Value>> = vec![BTreeMap::new()];
    for table in &test.tables {
        if rows.len().saturating_mul(table.len()) > MAX_ROWS {
            return Err(format!(
                "the tables of this test have more than {MAX_ROWS} combined rows"
            ));
        }
        let mut crossed = Vec::with_capacity(rows.len() * table.len());
        for before in &rows {
            for row in table {
                let mut inputs = before.clone();
                inputs.extend(values(&test.plan, row)?);
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

fn values(plan: &Plan, row: &Row) -> Result<Vec<(Arc<str>, Value)>, String> {
    let mut values = Vec::with_capacity(row.inputs.len());
    for (name, code) in &row.inputs {
        let value = Slots::none()
            .evaluate(code)
            .map_err(|error| format!("cannot evaluate the input `{name}`: {error}"))?;
        let parameter = plan
            .parameters
            .iter()
            .find(|parameter| parameter.name == *name);
        // As with arguments, null means that an optional input is omitted, unless its type has null.
        if !value.is_null() || parameter.is_some_and(|parameter| parameter.ty.admits_null()) {
            let ty = parameter.map_or(&Type::Any, |parameter| &parameter.ty);
            values.push((name.clone(), with_fractions(&value, ty)));
        }
    }
    Ok(values)
}

impl Case {
    /// Returns the name of the test, with the number of the row if there are several.
    #[must_use]
    pub fn title(&self) -> String {
        match self.row {
            Some(row) => format!("{} #{row}", self.test.name),
            None => self.test.name.to_string(),
        }
    }
}
