//! Counts how often a validator may evaluate the parts of a schema for one value. References make the number
//! exponential in the length of the schema: ten schemas, each of which requires the next one twice.

use core::cell::RefCell;

use foldhash::HashMap;
use serde_json::{Map, Value as Json};

use super::read::decode_percent;

/// Maximum number of evaluations for one place of a value with which a schema is used at all.
const MAX_EVALUATIONS: u64 = 1_000_000;
/// Maximum number of evaluations with which all violations are collected, because each may be a violation.
const MAX_COLLECTED: u64 = 50_000;
/// Maximum depth of values for which the evaluations are counted; a deeper value counts like one of this depth.
const MAX_LEVELS: usize = 40;
/// Maximum number of nested schemas that are followed; what is nested more deeply counts as too much.
const MAX_NESTED: usize = 1_000;

/// The numbers of evaluations, by the depth of the value.
#[derive(Debug)]
pub(super) struct Effort {
    by_depth: Vec<u64>,
    /// Whether a deeper value may need more.
    grows: bool,
}

impl Effort {
    pub(super) fn of(schema: &Json) -> Self {
        let mut named = HashMap::default();
        index(schema, &mut named);
        let count = Count {
            document: schema,
            named,
            done: RefCell::default(),
            is_cut: false.into(),
        };
        let mut by_depth = Vec::new();
        let mut grows = true;
        while grows && by_depth.len() <= MAX_LEVELS {
            count.is_cut.set(false);
            let counted = count.schema(schema, by_depth.len(), 0);
            by_depth.push(counted);
            grows = count.is_cut.get() && counted <= MAX_COLLECTED;
        }
        grows = count.is_cut.get();
        Self { by_depth, grows }
    }

    /// Returns true if even a value without parts, or one as deep as the schema, needs too many evaluations.
    pub(super) fn is_excessive(&self) -> bool {
        let flat = self.by_depth.first().copied().unwrap_or_default();
        let all = self.by_depth.last().copied().unwrap_or_default();
        flat > MAX_EVALUATIONS || (!self.grows && all > MAX_EVALUATIONS)
    }

    /// Returns true if all violations of a value can be collected.
    pub(super) fn can_collect(&self, value: &Json) -> bool {
        let last = self.by_depth.len().saturating_sub(1);
        let at = self.by_depth.get(depth(value, last));
        at.is_none_or(|evaluations| *evaluations <= MAX_COLLECTED)
    }
}

/// Returns the depth of a value, at most `max`.
fn depth(value: &Json, max: usize) -> usize {
    let below = |inner: Option<usize>| inner.map_or(1, |inner| inner + 1);
    match value {
        _ if max == 0 => 0,
        Json::Object(fields) => below(fields.values().map(|one| depth(one, max - 1)).max()),
        Json::Array(items) => below(items.iter().map(|one| depth(one, max - 1)).max()),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => 0,
    }
}

/// Collects the schemas that have names: identifiers, and anchors with `#`.
fn index<'s>(schema: &'s Json, named: &mut HashMap<String, &'s Json>) {
    match schema {
        Json::Object(object) => {
            for (keyword, mark) in [("$id", ""), ("$anchor", "#"), ("$dynamicAnchor", "#")] {
                if let Some(name) = object.get(keyword).and_then(Json::as_str) {
                    named.insert(format!("{mark}{}", name.trim_end_matches('#')), schema);
                }
            }
            object.values().for_each(|inner| index(inner, named));
        }
        Json::Array(items) => items.iter().for_each(|inner| index(inner, named)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

/// The count of a schema, and whether the value ended before the schema did; `None` while it is being counted.
type Counted = Option<(u64, bool)>;

struct Count<'s> {
    document: &'s Json,
    named: HashMap<String, &'s Json>,
    /// The counts of the targets of references at each depth.
    done: RefCell<HashMap<(*const Json, usize), Counted>>,
    /// Whether the value ended before the schema did.
    is_cut: core::cell::Cell<bool>,
}

impl<'s> Count<'s> {
    /// Counts the evaluations of a schema for a value that has parts to this depth.
    fn schema(&self, schema: &'s Json, depth: usize, nested: usize) -> u64 {
        let Json::Object(object) = schema else {
            return 1;
        };
        if nested > MAX_NESTED {
            return u64::MAX;
        }
        let here = self.of_the_value_itself(object, depth, nested + 1);
        here.saturating_add(self.of_its_parts(object, depth, nested + 1))
            .saturating_add(1)
    }

    fn of_the_value_itself(
        &self,
        object: &'s Map<String, Json>,
        depth: usize,
        nested: usize,
    ) -> u64 {
        let mut sum = 0_u64;
        for (keyword, inner) in object {
            let counted = match keyword.as_str() {
                "$ref" | "$dynamicRef" | "$recursiveRef" => self.reference(inner, depth, nested),
                "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" => {
                    self.sum(inner, depth, nested)
                }
                "dependentSchemas" | "dependencies" => {
                    let named = inner.as_object().into_iter().flatten();
                    sum_of(named.map(|(_, one)| self.sum(one, depth, nested)))
                }
                _ => 0,
            };
            sum = sum.saturating_add(counted);
        }
        sum
    }

    /// Counts the evaluations for the parts of the value: each part is a field of its own or the element at an index of
    /// its own, so only the most expensive one counts, but several keywords may apply to it.
    fn of_its_parts(&self, object: &'s Map<String, Json>, depth: usize, nested: usize) -> u64 {
        let mut sum = 0_u64;
        for (keyword, inner) in object {
            let is_of_parts = matches!(
                keyword.as_str(),
                "properties"
                    | "patternProperties"
                    | "additionalProperties"
                    | "unevaluatedProperties"
                    | "propertyNames"
                    | "items"
                    | "prefixItems"
                    | "additionalItems"
                    | "unevaluatedItems"
                    | "contains"
            );
            if !is_of_parts {
                continue;
            }
            let Some(depth) = depth.checked_sub(1) else {
                self.is_cut.set(true);
                continue;
            };
            let named = inner.as_object().into_iter().flatten();
            let counts = named.map(|(_, one)| self.schema(one, depth, nested));
            let counted = match (keyword.as_str(), inner) {
                ("properties", _) => counts.max().unwrap_or_default(),
                ("patternProperties", _) => sum_of(counts),
                (_, Json::Array(items)) => {
                    let items = items.iter().map(|one| self.schema(one, depth, nested));
                    items.max().unwrap_or_default()
                }
                _ => self.schema(inner, depth, nested),
            };
            sum = sum.saturating_add(counted);
        }
        sum
    }

    /// Counts the evaluations of one schema, or of each in a list.
    fn sum(&self, schemas: &'s Json, depth: usize, nested: usize) -> u64 {
        match schemas {
            Json::Array(all) => sum_of(all.iter().map(|one| self.schema(one, depth, nested))),
            one => self.schema(one, depth, nested),
        }
    }

    fn reference(&self, written: &Json, depth: usize, nested: usize) -> u64 {
        let target = written.as_str().and_then(|written| self.target(written));
        let Some(target) = target else {
            return 1;
        };
        let key = (core::ptr::from_ref(target), depth);
        // A schema that refers to itself for the same value is not evaluated again.
        if let Some(known) = self.done.borrow().get(&key) {
            let (counted, is_cut) = known.unwrap_or((1, false));
            self.is_cut.set(self.is_cut.get() || is_cut);
            return counted;
        }
        self.done.borrow_mut().insert(key, None);
        let was_cut = self.is_cut.replace(false);
        let counted = self.schema(target, depth, nested);
        let is_cut = self.is_cut.get();
        self.done.borrow_mut().insert(key, Some((counted, is_cut)));
        self.is_cut.set(was_cut || is_cut);
        counted
    }

    fn target(&self, written: &str) -> Option<&'s Json> {
        let (resource, fragment) = written.split_once('#').unwrap_or((written, ""));
        let root = match resource {
            "" => self.document,
            name => self.named.get(name).copied().or_else(|| {
                let is_same = |known: &&String| known.ends_with(&format!("/{name}"));
                let name = self.named.keys().find(is_same)?;
                self.named.get(name).copied()
            })?,
        };
        if fragment.is_empty() {
            return Some(root);
        }
        let fragment = decode_percent(fragment);
        if fragment.starts_with('/') {
            return root.pointer(&fragment);
        }
        self.named.get(&format!("#{fragment}")).copied()
    }
}

fn sum_of(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Schemas of which each refers to the next one, as `link` says.
    fn chain(length: usize, link: impl Fn(Json) -> Json) -> Json {
        let mut defs = Map::new();
        for at in 0..length {
            let next = json!({ "$ref": format!("#/$defs/d{}", at + 1) });
            defs.insert(format!("d{at}"), link(next));
        }
        defs.insert(format!("d{length}"), json!({ "type": "string" }));
        json!({ "$defs": defs, "properties": { "x": { "$ref": "#/$defs/d0" } } })
    }

    #[test]
    fn branches_multiply_and_lists_of_fields_do_not() {
        let value = json!({ "x": [1] });
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let eight = |length| chain(length, |next| json!({ keyword: vec![next; 8] }));
            assert!(Effort::of(&eight(3)).can_collect(&value));
            assert!(!Effort::of(&eight(6)).can_collect(&value));
            assert!(!Effort::of(&eight(6)).is_excessive());
            assert!(Effort::of(&eight(30)).is_excessive());
        }
        let fields = chain(30, |next| json!({ "properties": { "a": next, "b": next } }));
        let effort = Effort::of(&fields);
        assert!(!effort.is_excessive() && effort.can_collect(&value));
        let twice = json!({ "$anchor": "n", "allOf": [
            { "properties": { "a": { "$ref": "#n" } } },
            { "additionalProperties": { "$ref": "#" } },
        ] });
        let effort = Effort::of(&twice);
        let deep = |levels| (0..levels).fold(json!(1), |inner, _| json!({ "a": inner }));
        assert!(!effort.is_excessive());
        assert!(effort.can_collect(&deep(8)) && !effort.can_collect(&deep(30)));
    }

    #[test]
    fn a_long_chain_and_a_circle_are_counted() {
        assert!(Effort::of(&chain(100_000, |next| next)).is_excessive());
        let circle = json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/b" },
            "b": { "allOf": [{ "$ref": "#/$defs/a" }] } } });
        assert!(!Effort::of(&circle).is_excessive());
    }
}
