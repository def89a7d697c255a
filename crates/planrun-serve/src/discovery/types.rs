//! Shortens types for display: truncates long unions, leaves out deeply nested objects, and names repeated types.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use planrun_lang::types::{Field, MapType, ObjectType, Rest, Signature, Type};

/// Types whose text is shorter than this number of bytes get no name.
const NAMED_BYTES: usize = 24;

/// How much of a type is displayed.
#[derive(Clone, Copy)]
pub(super) struct Pruning {
    /// Maximum number of literal values of a union.
    pub(super) values: usize,
    /// Maximum nesting depth of objects.
    pub(super) depth: usize,
}

impl Pruning {
    /// No limit.
    pub(super) const NONE: Self = Self {
        values: usize::MAX,
        depth: usize::MAX,
    };
    /// At most 20 values.
    pub(super) const USUAL: Self = Self {
        values: 20,
        depth: usize::MAX,
    };

    /// Returns the displayed part of a type, and descriptions of what was left out.
    pub(super) fn of(self, ty: &Type) -> (Type, Vec<String>) {
        let mut left = LeftOut::default();
        let ty = self.part(ty, 0, &mut left);
        (ty, left.describe())
    }

    fn part(self, ty: &Type, depth: usize, left: &mut LeftOut) -> Type {
        match ty {
            Type::Object(object) if depth >= self.depth && !object.fields.is_empty() => {
                left.objects += 1;
                Type::Any
            }
            Type::Object(object) => {
                let fields = object.fields.iter().map(|field| Field {
                    ty: self.part(&field.ty, depth + 1, left),
                    ..field.clone()
                });
                let fields = fields.collect();
                // Plans cannot declare the type of additional fields next to fields.
                left.rests += usize::from(matches!(object.rest, Rest::Typed(_)));
                let rest = Rest::Open;
                Type::Object(Arc::new(ObjectType { fields, rest }))
            }
            Type::List(element) => self.part(element, depth, left).list(),
            Type::Map(map) => Type::Map(Arc::new(MapType {
                key: map.key.clone(),
                value: self.part(&map.value, depth, left),
            })),
            Type::Result(value) => Type::Result(Arc::new(self.part(value, depth, left))),
            Type::Union(members) => {
                let mut values = 0;
                let kept = members.iter().filter(|member| {
                    values += usize::from(matches!(member, Type::Literal(_)));
                    !matches!(member, Type::Literal(_)) || values <= self.values
                });
                let kept: Vec<Type> = kept.map(|member| self.part(member, depth, left)).collect();
                left.values += values.saturating_sub(self.values);
                Type::union(kept)
            }
            Type::Never
            | Type::Any
            | Type::Invalid
            | Type::Null
            | Type::Bool
            | Type::Int
            | Type::Uint
            | Type::Double
            | Type::String
            | Type::Bytes
            | Type::Timestamp
            | Type::Duration
            | Type::Type
            | Type::Literal(_)
            | Type::Error => ty.clone(),
        }
    }
}

/// The parts that were left out of a type.
#[derive(Default)]
struct LeftOut {
    values: usize,
    objects: usize,
    rests: usize,
}

impl LeftOut {
    fn describe(&self) -> Vec<String> {
        let parts = [
            (self.values, "more values"),
            (self.objects, "objects"),
            (self.rests, "kinds of further fields"),
        ];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        parts
            .map(|(count, what)| format!("{count} {what}"))
            .collect()
    }
}

/// Returns the objects and unions that occur more than once in a contract and are not too short to be named, each with
/// a name, in order of appearance.
pub(super) fn shared(tool: &Signature) -> Vec<(Type, String)> {
    let mut known = Known::default();
    for parameter in &tool.parameters {
        known.visit(&parameter.ty, &parameter.name);
    }
    known.visit(&tool.returns, &tool.name);
    let mut taken = BTreeSet::from(["Error".to_owned(), "Result".to_owned()]);
    let twice = known.types.into_iter().filter(|found| found.count > 1);
    let named = twice.map(|found| {
        let stem = capitalized(&found.place);
        let numbered = (2..).map(|number| format!("{stem}{number}"));
        let name = std::iter::once(stem.clone())
            .chain(numbered)
            .find(|name| !taken.contains(name));
        let name = name.unwrap_or_default();
        taken.insert(name.clone());
        (found.ty.clone(), name)
    });
    named.collect()
}

/// The types that a contract contains.
#[derive(Default)]
struct Known<'t> {
    types: Vec<Found<'t>>,
    places: HashMap<&'t Type, usize>,
}

struct Found<'t> {
    ty: &'t Type,
    place: String,
    count: usize,
}

impl<'t> Known<'t> {
    /// Counts a type. The parts of a type that was seen before are not counted again.
    fn visit(&mut self, ty: &'t Type, place: &str) {
        let is_large =
            matches!(ty, Type::Object(_) | Type::Union(_)) && ty.to_string().len() >= NAMED_BYTES;
        if is_large {
            let next = self.types.len();
            let known = *self.places.entry(ty).or_insert(next);
            if let Some(found) = self.types.get_mut(known) {
                found.count += 1;
                return;
            }
            self.types.push(Found {
                ty,
                place: place.to_owned(),
                count: 1,
            });
        }
        match ty {
            Type::Object(object) => {
                for field in &object.fields {
                    self.visit(&field.ty, &field.name);
                }
            }
            Type::List(element) => self.visit(element, place.strip_suffix('s').unwrap_or(place)),
            Type::Map(map) => self.visit(&map.value, place),
            Type::Result(value) => self.visit(value, place),
            Type::Union(members) => members.iter().for_each(|member| self.visit(member, place)),
            Type::Never
            | Type::Any
            | Type::Invalid
            | Type::Null
            | Type::Bool
            | Type::Int
            | Type::Uint
            | Type::Double
            | Type::String
            | Type::Bytes
            | Type::Timestamp
            | Type::Duration
            | Type::Type
            | Type::Literal(_)
            | Type::Error => {}
        }
    }
}

/// Converts a name to a type name: `open_tickets` becomes `OpenTickets`.
fn capitalized(name: &str) -> String {
    let words = name.split(|character: char| !character.is_ascii_alphanumeric());
    let name: String = words
        .flat_map(|word| {
            let mut characters = word.chars();
            let first = characters.next().map(|first| first.to_ascii_uppercase());
            first.into_iter().chain(characters)
        })
        .collect();
    match name.chars().next() {
        Some(first) if first.is_ascii_alphabetic() => name,
        Some(_) | None => format!("Part{name}"),
    }
}
