//! Macros over lists and maps: `all`, `exists`, `map`, `filter` and their kin.

use super::EvalError;
use super::machine::{Machine, Outcome, not_a_bool};
use crate::builtins::FailureKind;
use crate::sema::expr::{Comprehension, MacroKind, Node};
use crate::source::Span;
use crate::value::{Key, Map, Value};

/// What the macro has so far.
struct Progress {
    elements: Vec<Value>,
    entries: Map,
    hits: u64,
    /// The first error of a body, for macros that a later element may still decide.
    failed: Option<EvalError>,
}

impl Machine<'_> {
    pub(super) fn comprehension(&mut self, range: Value, comprehension: &Comprehension, span: Span) -> Outcome {
        let mut progress = Progress { elements: Vec::new(), entries: Map::new(), hits: 0, failed: None };
        let decided = match &range {
            Value::List(elements) => {
                let mut decided = None;
                for (index, element) in elements.iter().enumerate() {
                    let position = Value::Int(i64::try_from(index).unwrap_or(i64::MAX));
                    decided = self.step(comprehension, position, element, false, &mut progress)?;
                    if decided.is_some() {
                        break;
                    }
                }
                decided
            }
            Value::Map(entries) => {
                let mut decided = None;
                for (key, value) in entries.iter() {
                    decided = self.step(comprehension, Value::from(key), value, true, &mut progress)?;
                    if decided.is_some() {
                        break;
                    }
                }
                decided
            }
            other => {
                let message = format!("no such overload: {} is neither a list nor a map", other.kind_name());
                return Err(EvalError::new(FailureKind::NoOverload, message, span));
            }
        };
        if let Some(value) = decided {
            return Ok(value);
        }
        if let Some(error) = progress.failed {
            return Err(error);
        }
        Ok(match comprehension.kind {
            MacroKind::All => Value::Bool(true),
            MacroKind::Exists => Value::Bool(false),
            MacroKind::ExistsOne => Value::Bool(progress.hits == 1),
            MacroKind::Map | MacroKind::Filter | MacroKind::TransformList => Value::from(progress.elements),
            MacroKind::TransformMap | MacroKind::TransformMapEntry => Value::from(progress.entries),
        })
    }

    /// One element. A value decides the whole macro.
    fn step(
        &mut self,
        comprehension: &Comprehension,
        position: Value,
        element: &Value,
        is_map: bool,
        progress: &mut Progress,
    ) -> Result<Option<Value>, EvalError> {
        let single = if is_map { position.clone() } else { element.clone() };
        match comprehension.second {
            Some(second) => {
                self.set(comprehension.first, position.clone());
                self.set(second, element.clone());
            }
            None => self.set(comprehension.first, single.clone()),
        }
        if let Some(condition) = &comprehension.condition
            && !self.truth(condition)?
        {
            return Ok(None);
        }
        match comprehension.kind {
            MacroKind::All | MacroKind::Exists => {
                let decisive = comprehension.kind == MacroKind::Exists;
                match self.truth(&comprehension.body) {
                    Ok(truth) if truth == decisive => return Ok(Some(Value::Bool(decisive))),
                    Ok(_) => {}
                    Err(error) if error.kind == FailureKind::CostLimit => return Err(error),
                    Err(error) => {
                        progress.failed.get_or_insert(error);
                    }
                }
            }
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
            MacroKind::TransformMap => {
                let value = self.node(&comprehension.body)?;
                if let Some(key) = Key::written(&position) {
                    progress.entries.insert(key, value);
                }
            }
            MacroKind::TransformMapEntry => {
                let value = self.node(&comprehension.body)?;
                collect(value, comprehension.body.span, &mut progress.entries)?;
            }
        }
        Ok(None)
    }

    pub(super) fn set(&mut self, register: u16, value: Value) {
        if let Some(slot) = self.registers.get_mut(usize::from(register)) {
            *slot = value;
        }
    }

    fn truth(&mut self, node: &Node) -> Result<bool, EvalError> {
        match self.node(node)? {
            Value::Bool(truth) => Ok(truth),
            other => Err(not_a_bool("a macro", &other, node.span)),
        }
    }
}

/// Adds the entries of a map to those so far.
fn collect(value: Value, span: Span, entries: &mut Map) -> Result<(), EvalError> {
    let Value::Map(own) = value else {
        let message = format!("no such overload: an entry is a map, not {}", value.kind_name());
        return Err(EvalError::new(FailureKind::NoOverload, message, span));
    };
    for (key, value) in own.iter() {
        if entries.insert(key.clone(), value.clone()).is_some() {
            return Err(EvalError::new(FailureKind::DuplicateKey, format!("repeated key: `{key}`"), span));
        }
    }
    Ok(())
}
