//! Evaluates macros over lists and maps: `all`, `exists`, `map`, `filter` and others.

use super::EvalError;
use super::machine::{Machine, Outcome, not_a_bool};
use crate::builtins::{FailureKind, operators};
use crate::sema::expr::{Comprehension, MacroKind, Node};
use crate::source::Span;
use crate::value::{Key, Map, Value};

/// Intermediate result of a macro.
struct Progress {
    elements: Vec<Value>,
    /// Sort key of each element.
    keys: Vec<Value>,
    entries: Map,
    hits: u64,
    /// First error of a body, for macros that a later element may still decide.
    failed: Option<EvalError>,
}

impl Machine<'_> {
    pub(super) fn comprehension(
        &mut self,
        range: &Value,
        comprehension: &Comprehension,
        span: Span,
    ) -> Outcome {
        let mut progress = Progress {
            elements: Vec::new(),
            keys: Vec::new(),
            entries: Map::new(),
            hits: 0,
            failed: None,
        };
        let decided = match range {
            Value::List(elements) => self.over_list(elements, comprehension, &mut progress)?,
            Value::Map(entries) => self.over_map(entries, comprehension, &mut progress)?,
            other => return Err(no_range(other, span)),
        };
        match (decided, progress.failed) {
            (Some(truth), _) => Ok(Value::Bool(truth)),
            (None, Some(error)) => Err(error),
            (None, None) => Ok(match comprehension.kind {
                MacroKind::All => Value::Bool(true),
                MacroKind::Exists => Value::Bool(false),
                MacroKind::ExistsOne => Value::Bool(progress.hits == 1),
                MacroKind::Map | MacroKind::Filter | MacroKind::TransformList => {
                    Value::from(progress.elements)
                }
                MacroKind::SortBy => self.sorted(progress.keys, progress.elements, span)?,
                MacroKind::TransformMap | MacroKind::TransformMapEntry => {
                    Value::from(progress.entries)
                }
            }),
        }
    }

    fn over_list(
        &mut self,
        elements: &[Value],
        comprehension: &Comprehension,
        progress: &mut Progress,
    ) -> Result<Option<bool>, EvalError> {
        for (index, element) in elements.iter().enumerate() {
            let position = Key::Int(i64::try_from(index).unwrap_or(i64::MAX));
            match comprehension.second {
                Some(second) => {
                    self.set(comprehension.first, Value::from(&position));
                    self.set(second, element.clone());
                }
                None => self.set(comprehension.first, element.clone()),
            }
            let decided = self.step(comprehension, element.clone(), &position, progress)?;
            if decided.is_some() {
                return Ok(decided);
            }
        }
        Ok(None)
    }

    fn over_map(
        &mut self,
        entries: &Map,
        comprehension: &Comprehension,
        progress: &mut Progress,
    ) -> Result<Option<bool>, EvalError> {
        for (key, value) in entries {
            self.set(comprehension.first, Value::from(key));
            if let Some(second) = comprehension.second {
                self.set(second, value.clone());
            }
            let decided = self.step(comprehension, Value::from(key), key, progress)?;
            if decided.is_some() {
                return Ok(decided);
            }
        }
        Ok(None)
    }

    /// Processes one element, whose variables are set. `Some` decides the whole macro.
    fn step(
        &mut self,
        comprehension: &Comprehension,
        single: Value,
        key: &Key,
        progress: &mut Progress,
    ) -> Result<Option<bool>, EvalError> {
        if let Some(condition) = &comprehension.condition
            && !self.truth(condition)?
        {
            return Ok(None);
        }
        match comprehension.kind {
            MacroKind::All => return self.decides(comprehension, false, progress),
            MacroKind::Exists => return self.decides(comprehension, true, progress),
            MacroKind::ExistsOne => progress.hits += u64::from(self.truth(&comprehension.body)?),
            MacroKind::Filter => {
                if self.truth(&comprehension.body)? {
                    progress.elements.push(single);
                }
            }
            MacroKind::Map | MacroKind::TransformList => {
                let value = self.node(&comprehension.body)?;
                progress.elements.push(value);
            }
            MacroKind::SortBy => {
                progress.keys.push(self.node(&comprehension.body)?);
                progress.elements.push(single);
            }
            MacroKind::TransformMap => {
                let value = self.node(&comprehension.body)?;
                progress.entries.insert(key.clone(), value);
            }
            MacroKind::TransformMapEntry => {
                let value = self.node(&comprehension.body)?;
                collect(value, comprehension.body.span, &mut progress.entries)?;
            }
        }
        Ok(None)
    }

    /// Returns the result of `all` or `exists` if this element decides it. An error is kept, since a later element may
    /// decide.
    fn decides(
        &mut self,
        comprehension: &Comprehension,
        decisive: bool,
        progress: &mut Progress,
    ) -> Result<Option<bool>, EvalError> {
        match self.truth(&comprehension.body) {
            Ok(truth) if truth == decisive => return Ok(Some(decisive)),
            Ok(_) => {}
            Err(error) if error.kind == FailureKind::CostLimit => return Err(error),
            Err(error) => drop(progress.failed.get_or_insert(error)),
        }
        Ok(None)
    }

    /// Sorts the elements by their keys. Charges one unit per key for each doubling of the length, for the comparisons.
    fn sorted(&mut self, keys: Vec<Value>, elements: Vec<Value>, span: Span) -> Outcome {
        let doublings = u64::from(keys.len().max(1).ilog2()) + 1;
        self.charge((keys.len() as u64).saturating_mul(doublings), span)?;
        let pairs = keys.into_iter().zip(elements).collect();
        let sorted = operators::ascending(pairs, |(key, _): &(Value, Value)| key)
            .map_err(EvalError::at(span))?;
        Ok(Value::list(sorted.into_iter().map(|(_, element)| element)))
    }

    pub(super) fn set(&mut self, register: u16, value: Value) {
        if let Some(slot) = self.registers.get_mut(usize::from(register)) {
            *slot = Some(value);
        }
    }

    fn truth(&mut self, node: &Node) -> Result<bool, EvalError> {
        match self.node(node)? {
            Value::Bool(truth) => Ok(truth),
            other => Err(not_a_bool("a macro", &other, node.span)),
        }
    }
}

#[cold]
fn no_range(value: &Value, span: Span) -> EvalError {
    let message = format!(
        "no such overload: {} is neither a list nor a map",
        value.kind_name()
    );
    EvalError::new(FailureKind::NoOverload, message, span)
}

/// Adds the entries of a map.
fn collect(value: Value, span: Span, entries: &mut Map) -> Result<(), EvalError> {
    let Value::Map(own) = value else {
        let message = format!(
            "no such overload: an entry is a map, not {}",
            value.kind_name()
        );
        return Err(EvalError::new(FailureKind::NoOverload, message, span));
    };
    for (key, value) in own.iter() {
        if entries.insert(key.clone(), value.clone()).is_some() {
            return Err(EvalError::new(
                FailureKind::DuplicateKey,
                format!("repeated key: `{key}`"),
                span,
            ));
        }
    }
    Ok(())
}
