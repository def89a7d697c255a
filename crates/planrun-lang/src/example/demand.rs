//! Collects the constraints of all schemas of one place, with references followed and alternatives chosen.

use serde_json::{Map, Value as Json, json};

use super::kinds::Kinds;
use super::negate::negate;
use super::number::Bounds;
use super::reference::{Documents, Part};
use crate::types::TYPE_KEYWORD;
use crate::value::Value;

/// Maximum number of schemas of one place; further ones are left to the validator.
const MAX_PARTS: usize = 400;

/// Constraints of one schema on the elements of a list: by position, and for the rest.
#[derive(Debug)]
pub(super) struct Elements {
    pub prefix: Vec<Part>,
    pub rest: Option<Part>,
}

/// Constraints of one schema on the fields of an object.
#[derive(Debug)]
pub(super) struct Fields {
    pub named: Vec<(String, Part)>,
    pub patterns: Vec<(regex::Regex, String, Part)>,
    pub rest: Option<Part>,
}

/// The number and the schema of elements that a list must contain.
#[derive(Debug)]
pub(super) struct Contains {
    pub part: Part,
    pub least: u64,
    pub most: Option<u64>,
}

/// Keywords that apply only to objects.
const OBJECT_KEYWORDS: [&str; 11] = [
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
];

/// The combined constraints of one place.
#[derive(Debug, Default)]
pub(super) struct Demand {
    pub kinds: Kinds,
    /// Kinds of values that some keyword applies to.
    hinted: Vec<Kinds>,
    /// Whether a type is stated.
    pub typed: bool,
    /// The listed values, if there is a list.
    pub listed: Option<Vec<Json>>,
    pub excluded: Vec<Json>,
    /// Values given by the author of the schema: examples and defaults.
    pub examples: Vec<Json>,
    pub bounds: Bounds,
    pub length: Range,
    pub patterns: Vec<String>,
    pub formats: Vec<String>,
    pub items: Range,
    pub unique: bool,
    pub elements: Vec<Elements>,
    pub contains: Vec<Contains>,
    pub size: Range,
    pub fields: Vec<Fields>,
    pub required: Vec<String>,
    /// Names of fields with the names of the fields that they require.
    pub requires: Vec<(String, Vec<String>)>,
    /// Names of fields with the schemas that apply if they are present.
    dependents: Vec<(String, Part)>,
    pub names: Vec<Part>,
    /// The references that were followed.
    pub followed: Vec<String>,
}

/// A range of counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Range {
    pub least: u64,
    pub most: Option<u64>,
}

impl Range {
    fn narrow(&mut self, schema: &Map<String, Json>, least: &str, most: &str) {
        let whole = |keyword: &str| {
            schema
                .get(keyword)
                .and_then(Json::as_f64)
                .and_then(super::number::count)
        };
        self.least = self.least.max(whole(least).unwrap_or(0));
        self.most = match (self.most, whole(most)) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }

    /// Returns the number nearest to `count` within the range.
    pub fn clamp(self, count: u64) -> u64 {
        self.most.map_or(count.max(self.least), |most| {
            count.max(self.least).min(most)
        })
    }
}

/// Chooses one of several alternatives.
pub(super) type Choose<'c> = dyn FnMut(&[Json]) -> usize + 'c;

/// Collects the constraints of these schemas.
pub(super) fn gather(documents: &Documents, parts: &[Part], choose: &mut Choose<'_>) -> Demand {
    let mut gatherer = Gatherer {
        documents,
        demand: Demand::default(),
        open: parts.to_vec(),
        choose,
    };
    let mut seen = 0;
    loop {
        while !gatherer.open.is_empty() && seen < MAX_PARTS {
            let part = gatherer.open.remove(0);
            seen += 1;
            gatherer.part(part);
        }
        let required = &gatherer.demand.required;
        let brought = gatherer
            .demand
            .dependents
            .iter()
            .position(|(name, _)| required.contains(name));
        match brought {
            Some(index) if seen < MAX_PARTS => {
                let (_, part) = gatherer.demand.dependents.remove(index);
                gatherer.open.push(part);
            }
            _ => return gatherer.demand,
        }
    }
}

struct Gatherer<'a, 'c> {
    documents: &'a Documents,
    demand: Demand,
    open: Vec<Part>,
    choose: &'a mut Choose<'c>,
}

impl Gatherer<'_, '_> {
    fn part(&mut self, part: Part) {
        // Next to a `$ref` that excludes other keywords, `$id` is ignored, too.
        let alone = self.documents.alone && part.schema.get("$ref").is_some();
        let base = if alone {
            part.base.clone()
        } else {
            self.documents.base(&part)
        };
        let object = match part.schema {
            Json::Bool(false) => {
                self.demand.kinds = Kinds::NONE;
                return;
            }
            Json::Object(object) => object,
            _ => return,
        };
        let part = |schema: &Json| Part {
            schema: schema.clone(),
            base: base.clone(),
        };
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let Some(reference) = object.get(keyword).and_then(Json::as_str) else {
                continue;
            };
            self.demand.followed.push(reference.to_owned());
            self.open.extend(self.documents.follow(reference, &base));
            if alone {
                return;
            }
        }
        self.values(&object);
        self.texts(&object);
        self.lists(&object, &part);
        self.objects(&object, &part);
        self.combined(&object, &part);
        if object.get(TYPE_KEYWORD).is_some_and(|own| own == "error") {
            self.open.push(part(&error()));
        }
    }

    fn hint(&mut self, object: &Map<String, Json>, kinds: Kinds, keywords: &[&str]) {
        if keywords.iter().any(|keyword| object.contains_key(*keyword))
            && !self.demand.hinted.contains(&kinds)
        {
            self.demand.hinted.push(kinds);
        }
    }

    fn values(&mut self, object: &Map<String, Json>) {
        let demand = &mut self.demand;
        let mut kinds = match object.get("type") {
            Some(Json::String(name)) => Kinds::of_type_name(name),
            Some(Json::Array(names)) => names
                .iter()
                .filter_map(Json::as_str)
                .map(Kinds::of_type_name)
                .fold(Kinds::NONE, Kinds::union),
            _ => Kinds::ALL,
        };
        if object.contains_key("type") {
            demand.typed = true;
            if object.get("nullable") == Some(&Json::Bool(true)) {
                kinds = kinds.union(Kinds::NULL);
            }
        }
        demand.kinds = demand.kinds.intersection(kinds);
        let constant = object.get("const").map(std::slice::from_ref);
        let listed = object
            .get("enum")
            .and_then(Json::as_array)
            .map(Vec::as_slice);
        for values in constant.into_iter().chain(listed) {
            match &mut demand.listed {
                Some(kept) => kept.retain(|value| values.iter().any(|other| same(value, other))),
                none => *none = Some(values.to_vec()),
            }
        }
        let examples = object
            .get("examples")
            .and_then(Json::as_array)
            .into_iter()
            .flatten();
        let single = object
            .get("example")
            .or_else(|| object.get("default"))
            .filter(|value| !value.is_null());
        demand.examples.extend(
            examples
                .chain(single.filter(|_| !object.contains_key("examples")))
                .cloned(),
        );
        demand.bounds.narrow(object);
        self.hint(
            object,
            Kinds::INTEGER,
            &[
                "minimum",
                "maximum",
                "exclusiveMinimum",
                "exclusiveMaximum",
                "multipleOf",
            ],
        );
    }

    fn texts(&mut self, object: &Map<String, Json>) {
        let demand = &mut self.demand;
        demand.length.narrow(object, "minLength", "maxLength");
        let text = |keyword: &str| {
            object
                .get(keyword)
                .and_then(Json::as_str)
                .map(str::to_owned)
        };
        demand.patterns.extend(text("pattern"));
        demand.formats.extend(text("format"));
        match object.get(TYPE_KEYWORD).and_then(Json::as_str) {
            Some(own @ ("duration" | "bytes")) => {
                demand.formats.insert(0, format!("planrun-{own}"));
            }
            _ if object
                .get("contentEncoding")
                .is_some_and(|encoding| encoding == "base64") =>
            {
                demand.formats.insert(0, "planrun-bytes".into());
            }
            _ => {}
        }
        self.hint(
            object,
            Kinds::TEXT,
            &["minLength", "maxLength", "pattern", "format"],
        );
    }

    fn lists(&mut self, object: &Map<String, Json>, part: &dyn Fn(&Json) -> Part) {
        let demand = &mut self.demand;
        demand.items.narrow(object, "minItems", "maxItems");
        demand.unique |= object.get("uniqueItems") == Some(&Json::Bool(true));
        let (prefix, rest) = match object.get("items") {
            // Drafts before 2020-12: a list of schemas, one per position.
            Some(Json::Array(places)) => (Some(places), object.get("additionalItems")),
            items => (object.get("prefixItems").and_then(Json::as_array), items),
        };
        let rest = rest.or_else(|| object.get("unevaluatedItems").filter(|_| !combines(object)));
        if prefix.is_some() || rest.is_some() {
            let prefix = prefix.into_iter().flatten().map(part).collect();
            demand.elements.push(Elements {
                prefix,
                rest: rest.map(part),
            });
        }
        if let Some(contained) = object.get("contains") {
            let count = |keyword: &str| {
                object
                    .get(keyword)
                    .and_then(Json::as_f64)
                    .and_then(super::number::count)
            };
            let (least, most) = (count("minContains").unwrap_or(1), count("maxContains"));
            demand.contains.push(Contains {
                part: part(contained),
                least,
                most,
            });
        }
        let keywords = [
            "items",
            "prefixItems",
            "contains",
            "minItems",
            "maxItems",
            "uniqueItems",
            "unevaluatedItems",
        ];
        self.hint(object, Kinds::LIST, &keywords);
    }

    fn objects(&mut self, object: &Map<String, Json>, part: &dyn Fn(&Json) -> Part) {
        let demand = &mut self.demand;
        demand.size.narrow(object, "minProperties", "maxProperties");
        let texts = |value: &Json| -> Vec<String> {
            value
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Json::as_str)
                .map(str::to_owned)
                .collect()
        };
        for name in object.get("required").map(texts).unwrap_or_default() {
            if !demand.required.contains(&name) {
                demand.required.push(name);
            }
        }
        let entries = |keyword: &str| {
            object
                .get(keyword)
                .and_then(Json::as_object)
                .into_iter()
                .flatten()
        };
        let named: Vec<_> = entries("properties")
            .map(|(name, schema)| (name.clone(), part(schema)))
            .collect();
        let patterns: Vec<_> = entries("patternProperties")
            .filter_map(|(text, schema)| {
                Some((regex::Regex::new(text).ok()?, text.clone(), part(schema)))
            })
            .collect();
        let rest = object.get("additionalProperties");
        let rest = rest
            .or_else(|| {
                object
                    .get("unevaluatedProperties")
                    .filter(|_| !combines(object))
            })
            .map(part);
        if !named.is_empty() || !patterns.is_empty() || rest.is_some() {
            demand.fields.push(Fields {
                named,
                patterns,
                rest,
            });
        }
        demand.names.extend(object.get("propertyNames").map(part));
        for (name, needed) in entries("dependentRequired").chain(entries("dependencies")) {
            if needed.is_array() {
                demand.requires.push((name.clone(), texts(needed)));
            }
        }
        let schemas = entries("dependentSchemas").chain(entries("dependencies"));
        let schemas = schemas.filter(|(_, schema)| !schema.is_array());
        demand
            .dependents
            .extend(schemas.map(|(name, schema)| (name.clone(), part(schema))));
        self.hint(object, Kinds::OBJECT, &OBJECT_KEYWORDS);
    }

    fn combined(&mut self, object: &Map<String, Json>, part: &dyn Fn(&Json) -> Part) {
        let list = |keyword: &str| {
            object
                .get(keyword)
                .and_then(Json::as_array)
                .map(Vec::as_slice)
                .unwrap_or_default()
        };
        self.open.extend(list("allOf").iter().map(part));
        for keyword in ["oneOf", "anyOf"] {
            let alternatives = list(keyword);
            if !alternatives.is_empty() {
                let chosen = (self.choose)(alternatives);
                self.open.extend(alternatives.get(chosen).map(part));
            }
        }
        if let Some(excluded) = object.get("not") {
            self.exclude(excluded, part);
        }
        if let Some(condition) = object.get("if") {
            let not = Json::Object(Map::from_iter([("not".to_owned(), condition.clone())]));
            let branches = [
                (condition.clone(), object.get("then")),
                (not, object.get("else")),
            ];
            let chosen =
                (self.choose)(&branches.each_ref().map(|(condition, _)| condition.clone()));
            if let Some((condition, branch)) = branches.get(chosen) {
                self.open.push(part(condition));
                self.open.extend(branch.map(part));
            }
        }
    }

    fn exclude(&mut self, excluded: &Json, part: &dyn Fn(&Json) -> Part) {
        if let Json::Object(object) = excluded
            && object.len() == 1
        {
            if let Some(value) = object.get("const") {
                self.demand.excluded.push(value.clone());
                return;
            }
            if let Some(values) = object.get("enum").and_then(Json::as_array) {
                self.demand.excluded.extend(values.iter().cloned());
                return;
            }
            if let Some(reference) = object.get("$ref").and_then(Json::as_str) {
                let target = self.documents.follow(reference, &part(excluded).base);
                let Some(target) = target else { return };
                self.exclude_schema(target);
                return;
            }
        }
        self.exclude_schema(part(excluded));
    }

    fn exclude_schema(&mut self, part: Part) {
        let ways = negate(&part.schema);
        let everything =
            part.schema == Json::Bool(true) || part.schema.as_object().is_some_and(Map::is_empty);
        match (ways.is_empty(), everything) {
            (false, _) => {
                let chosen = (self.choose)(&ways);
                self.open.extend(ways.get(chosen).map(|way| Part {
                    schema: way.clone(),
                    base: part.base,
                }));
            }
            (true, true) => self.demand.kinds = Kinds::NONE,
            // Keywords that cannot be negated are left to the validator.
            (true, false) => {}
        }
    }
}

/// Returns true if other schemas may already evaluate the remaining fields or elements.
fn combines(schema: &Map<String, Json>) -> bool {
    let keywords = [
        "$ref",
        "$dynamicRef",
        "allOf",
        "anyOf",
        "oneOf",
        "if",
        "not",
        "dependentSchemas",
    ];
    keywords.iter().any(|keyword| schema.contains_key(*keyword))
}

/// Returns the constraints on an error value that a reader of errors relies on.
fn error() -> Json {
    json!({"required": ["class", "message", "retryable"], "properties": {
        "class": {"enum": ["transient", "validation", "auth"]}, "message": {"type": "string"},
        "retryable": {"type": "boolean"}}})
}

/// Compares two JSON values; the numbers `1` and `1.0` are equal, but not lists or objects that contain them.
pub(super) fn same(left: &Json, right: &Json) -> bool {
    left == right
        || left.is_number()
            && right.is_number()
            && Value::from_json(left) == Value::from_json(right)
}

impl Demand {
    /// Returns the kinds that the value may have, the most likely first.
    pub fn order(&self) -> Vec<Kinds> {
        let mut order: Vec<Kinds> = self
            .hinted
            .iter()
            .copied()
            .filter(|kind| self.kinds.intersects(*kind))
            .collect();
        // If the stated type allows fractions, a number with a fraction is more likely than an integer.
        let integer =
            self.kinds.intersects(Kinds::INTEGER) && !self.kinds.intersects(Kinds::FRACTION);
        let rest = if self.typed {
            Kinds::EACH
        } else {
            [
                Kinds::TEXT,
                Kinds::INTEGER,
                Kinds::OBJECT,
                Kinds::LIST,
                Kinds::BOOL,
                Kinds::FRACTION,
                Kinds::NULL,
            ]
        };
        for kind in rest {
            if self.kinds.intersects(kind) && !order.contains(&kind) {
                order.push(kind);
            }
        }
        if self.typed
            && !integer
            && let Some(whole) = order.iter().position(|kind| *kind == Kinds::INTEGER)
            && let Some(fraction) = order.iter().position(|kind| *kind == Kinds::FRACTION)
            && whole < fraction
        {
            order.swap(whole, fraction);
        }
        order
    }

    /// Returns true if the schemas do not constrain the value.
    pub fn is_unconstrained(&self) -> bool {
        let has_values =
            self.listed.is_some() || !self.excluded.is_empty() || !self.examples.is_empty();
        self.kinds == Kinds::ALL && !self.typed && self.hinted.is_empty() && !has_values
    }

    /// Returns the schemas of the field with this name.
    pub fn field(&self, name: &str) -> Vec<Part> {
        let mut parts = Vec::new();
        for fields in &self.fields {
            let named = fields
                .named
                .iter()
                .filter(|(own, _)| own == name)
                .map(|(_, part)| part);
            let matching = fields
                .patterns
                .iter()
                .filter(|(pattern, ..)| pattern.is_match(name))
                .map(|(.., part)| part);
            let found: Vec<Part> = named.chain(matching).cloned().collect();
            if found.is_empty() {
                parts.extend(fields.rest.clone());
            }
            parts.extend(found);
        }
        parts
    }

    /// Returns true if the field makes another schema apply that has not been collected.
    pub fn has_dependent_schema(&self, name: &str) -> bool {
        self.dependents.iter().any(|(own, _)| own == name)
    }
}
