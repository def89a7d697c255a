//! Resolves type annotations to types.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::diag::foreign::{self, Certainty, Phrase};
use crate::diag::{Diagnostic, Edit, codes};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{Field, Literal, MapType, ObjectType, Rest, Type};
use crate::value::path_below;

/// The type of text that must be redacted.
const SECRET: &str = "secret";
/// Maximum number of secret paths of one type; a type with more is secret as a whole.
const MAX_SECRETS: usize = 64;

/// Names of built-in types, in the order in which they are suggested.
const BUILT_IN: &[(&str, Type)] = &[
    ("string", Type::String),
    // Text that is redacted; see `NamedTypes::secrets`.
    (SECRET, Type::String),
    ("int", Type::Int),
    ("double", Type::Double),
    ("bool", Type::Bool),
    ("null", Type::Null),
    ("bytes", Type::Bytes),
    ("timestamp", Type::Timestamp),
    ("duration", Type::Duration),
    ("uint", Type::Uint),
    ("any", Type::Any),
    ("Error", Type::Error),
];

/// The named types of one file.
#[derive(Debug, Default)]
pub(super) struct NamedTypes {
    types: Arc<BTreeMap<Arc<str>, NamedType>>,
    /// Types that an annotation names.
    used: BTreeSet<Arc<str>>,
}

#[derive(Clone, Debug)]
struct NamedType {
    span: Span,
    ty: Type,
    /// Paths of the secret parts.
    secrets: Vec<Arc<str>>,
}

impl NamedTypes {
    /// Resolves every `type` item of a file; a type that contains itself is reported once and is invalid.
    pub(super) fn of_file(file: &ast::File, diagnostics: &mut Vec<Diagnostic>) -> Self {
        let mut items: BTreeMap<Arc<str>, &ast::TypeItem> = BTreeMap::new();
        for item in &file.items {
            let ast::ItemKind::Type(definition) = &item.kind else {
                continue;
            };
            let name = &definition.name;
            if BUILT_IN.iter().any(|(word, _)| **word == *name.text) || &*name.text == "Result" {
                let message = format!("`{}` is a built-in type", name.text);
                diagnostics.push(
                    codes::names::DUPLICATE_NAME
                        .at(name.span, message)
                        .help("give the type another name"),
                );
            } else if let Some(first) = items.get(&name.text) {
                diagnostics.push(super::finding::duplicate_name(
                    "type",
                    name,
                    first.name.span,
                ));
            } else {
                items.insert(name.text.clone(), definition);
            }
        }
        let mut named = Self::default();
        for name in items.keys() {
            Resolver {
                items: &items,
                named: &mut named,
                diagnostics,
                open: Vec::new(),
            }
            .named(name);
        }
        named
    }

    /// Returns the same types for one plan of the file, with none of them marked as used.
    pub(super) fn without_uses(&self) -> Self {
        Self {
            types: self.types.clone(),
            used: BTreeSet::new(),
        }
    }

    /// Adds the types that one plan uses.
    pub(super) fn merge_uses(&mut self, plan: Self) {
        self.used.extend(plan.used);
    }

    /// Returns the type of an annotation.
    pub(super) fn resolve(
        &mut self,
        annotation: &ast::TypeExpr,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Type {
        let items = BTreeMap::new();
        let mut resolver = Resolver {
            items: &items,
            named: self,
            diagnostics,
            open: Vec::new(),
        };
        resolver.resolve(annotation)
    }

    /// Returns the paths of the secret parts of a value of this type; the empty path is the whole value.
    pub(super) fn secrets(&self, annotation: &ast::TypeExpr) -> Vec<Arc<str>> {
        let within = |inner: &ast::TypeExpr| self.secrets(inner);
        // Keys of maps and values of a `Result` have no name that could be part of a path.
        let all = |paths: Vec<Arc<str>>| {
            if paths.is_empty() {
                paths
            } else {
                vec![Arc::from("")]
            }
        };
        let paths: Vec<Arc<str>> = match &annotation.kind {
            ast::TypeExprKind::Name(name) if **name == *SECRET => vec!["".into()],
            ast::TypeExprKind::Name(name) => self
                .types
                .get(name)
                .map(|named| named.secrets.clone())
                .unwrap_or_default(),
            ast::TypeExprKind::Union(members) => members.iter().flat_map(within).collect(),
            ast::TypeExprKind::Suffixed { base, .. } => within(base),
            ast::TypeExprKind::Map { value, .. } | ast::TypeExprKind::Result(value) => {
                all(within(value))
            }
            ast::TypeExprKind::Object(fields) => {
                let of_field = |field: &ast::FieldType| {
                    let name = field.name.text.clone();
                    within(&field.ty)
                        .into_iter()
                        .map(move |path| path_below(&name, &path))
                        .collect::<Vec<_>>()
                };
                fields.iter().flat_map(of_field).collect()
            }
            ast::TypeExprKind::Literal(_) | ast::TypeExprKind::Error => Vec::new(),
        };
        if paths.len() > MAX_SECRETS {
            vec!["".into()]
        } else {
            paths
        }
    }

    /// Returns where the type with this name is declared.
    pub(super) fn place(&self, name: &str) -> Option<Span> {
        self.types.get(name).map(|named| named.span)
    }

    /// Returns types that no annotation of the file names.
    pub(super) fn unused(&self) -> impl Iterator<Item = (&str, Span)> {
        self.types
            .iter()
            .filter(|(name, _)| !self.used.contains(*name))
            .map(|(name, named)| (&**name, named.span))
    }
}

struct Resolver<'a> {
    /// Definitions that may not be resolved yet.
    items: &'a BTreeMap<Arc<str>, &'a ast::TypeItem>,
    named: &'a mut NamedTypes,
    diagnostics: &'a mut Vec<Diagnostic>,
    /// The definitions being resolved, outermost first.
    open: Vec<Arc<str>>,
}

impl Resolver<'_> {
    fn named(&mut self, name: &Arc<str>) -> Option<Type> {
        if let Some(known) = self.named.types.get(name) {
            let ty = known.ty.clone();
            if !self.open.is_empty() || self.items.is_empty() {
                self.named.used.insert(name.clone());
            }
            return Some(ty);
        }
        let definition = *self.items.get(name)?;
        if let Some(start) = self.open.iter().position(|open| open == name) {
            let path = self.open[start..]
                .iter()
                .chain([name])
                .map(|name| format!("`{name}`"))
                .collect::<Vec<_>>();
            let message = format!("the type `{name}` contains itself: {}", path.join(" → "));
            let help = "a value of this type would be infinite; use `any` or a list of references for the inner type";
            self.diagnostics.push(
                codes::types::TYPE_CYCLE
                    .at(definition.name.span, message)
                    .help(help),
            );
            return Some(Type::Invalid);
        }
        // Deeper chains are a mistake, and the limit protects the stack.
        if self.open.len() >= 64 {
            let message = "types refer to each other more than 64 levels deep";
            self.diagnostics
                .push(codes::text::TOO_DEEP.at(definition.name.span, message));
            return Some(Type::Invalid);
        }
        self.open.push(name.clone());
        let ty = self.resolve(&definition.definition);
        self.open.pop();
        let ty = if ty.is_too_large() {
            self.too_large(name, definition)
        } else {
            ty
        };
        if !self.open.is_empty() {
            self.named.used.insert(name.clone());
        }
        let secrets = self.named.secrets(&definition.definition);
        let entry = NamedType {
            span: definition.name.span,
            ty: ty.clone(),
            secrets,
        };
        Arc::make_mut(&mut self.named.types)
            .entry(name.clone())
            .or_insert(entry);
        Some(ty)
    }

    fn too_large(&mut self, name: &Arc<str>, definition: &ast::TypeItem) -> Type {
        let message = format!("the type `{name}` has more parts than can be checked");
        let help =
            "a type that names another one twice doubles its size; use `any` for the inner types";
        self.diagnostics.push(
            codes::text::TOO_DEEP
                .at(definition.name.span, message)
                .help(help),
        );
        Type::Invalid
    }

    fn resolve(&mut self, annotation: &ast::TypeExpr) -> Type {
        match &annotation.kind {
            ast::TypeExprKind::Name(name) => self.name(name, annotation.span),
            ast::TypeExprKind::Literal(literal) => self.literal(literal, annotation.span),
            ast::TypeExprKind::Union(members) => {
                let members = members
                    .iter()
                    .map(|member| self.resolve(member))
                    .collect::<Vec<_>>();
                Type::union(members)
            }
            ast::TypeExprKind::Suffixed { base, suffixes } => {
                let base = self.resolve(base);
                suffixes.iter().fold(base, |ty, suffix| match suffix {
                    ast::TypeSuffix::List => Type::List(Arc::new(ty)),
                    ast::TypeSuffix::Optional => Type::union([ty, Type::Null]),
                })
            }
            ast::TypeExprKind::Map { key, value } => {
                let keys = self.resolve(key);
                self.require_text_keys(&keys, key.span);
                Type::Map(Arc::new(MapType {
                    key: Type::String,
                    value: self.resolve(value),
                }))
            }
            ast::TypeExprKind::Object(fields) => self.object(fields),
            ast::TypeExprKind::Result(value) => Type::Result(Arc::new(self.resolve(value))),
            ast::TypeExprKind::Error => Type::Invalid,
        }
    }

    /// Values of annotated types are read from JSON, where the keys of objects are strings.
    fn require_text_keys(&mut self, keys: &Type, span: Span) {
        if matches!(keys, Type::String | Type::Invalid) {
            return;
        }
        let diagnostic = codes::types::WRONG_TYPE
            .at(span, "the keys of a map must be strings")
            .expected("string", keys)
            .unsafe_fix("write `string`", vec![Edit::new(span, "string")]);
        self.diagnostics.push(diagnostic);
    }

    fn name(&mut self, name: &Arc<str>, span: Span) -> Type {
        if let Some((_, ty)) = BUILT_IN.iter().find(|(word, _)| **word == **name) {
            return ty.clone();
        }
        if let Some(ty) = self.named(name) {
            return ty;
        }
        let built_in = BUILT_IN.iter().map(|(word, _)| *word);
        let names = || {
            built_in.clone().chain(
                self.named
                    .types
                    .keys()
                    .chain(self.items.keys())
                    .map(|name| &**name),
            )
        };
        let diagnostic =
            super::finding::unknown(&codes::names::UNKNOWN_TYPE, "type", name, span, names());
        let phrase = foreign::TYPES.iter().find(|phrase| phrase.wrong == &**name);
        self.diagnostics.push(match phrase {
            Some(phrase) => meant_type(diagnostic, phrase, span),
            None => diagnostic,
        });
        Type::Invalid
    }

    fn literal(&mut self, literal: &ast::Literal, span: Span) -> Type {
        match literal {
            ast::Literal::Null => Type::Null,
            ast::Literal::Bool(value) => Type::Literal(Literal::Bool(*value)),
            ast::Literal::Int(value) => Type::Literal(Literal::Int(*value)),
            ast::Literal::String(value) => Type::Literal(Literal::String(value.clone())),
            ast::Literal::Uint(_)
            | ast::Literal::Double(_)
            | ast::Literal::Bytes(_)
            | ast::Literal::Duration(_) => {
                let message =
                    "only strings, whole numbers, `true`, `false` and `null` can be types";
                self.diagnostics
                    .push(codes::names::UNKNOWN_TYPE.at(span, message));
                Type::Invalid
            }
        }
    }

    fn object(&mut self, fields: &[ast::FieldType]) -> Type {
        let mut resolved: Vec<Field> = Vec::with_capacity(fields.len());
        for field in fields {
            if resolved
                .iter()
                .any(|earlier| earlier.name == field.name.text)
            {
                // Reported where the text was read.
                continue;
            }
            let ty = self.resolve(&field.ty);
            resolved.push(Field {
                name: field.name.text.clone(),
                required: !field.optional && !is_optional(&field.ty),
                ty,
            });
        }
        Type::Object(Arc::new(ObjectType {
            fields: resolved,
            rest: Rest::Closed,
        }))
    }
}

/// Returns true if an annotation ends in `?`, which lets a field be missing as well as null.
pub(super) fn is_optional(annotation: &ast::TypeExpr) -> bool {
    matches!(
        &annotation.kind,
        ast::TypeExprKind::Suffixed { suffixes, .. }
            if suffixes.last() == Some(&ast::TypeSuffix::Optional)
    )
}

/// Adds the counterpart of a type name of another language.
fn meant_type(diagnostic: Diagnostic, phrase: &Phrase, span: Span) -> Diagnostic {
    let title = format!("write `{}`", phrase.right);
    let edits = vec![Edit::new(span, phrase.right)];
    let diagnostic = diagnostic.help(phrase.help(None));
    if phrase.certainty == Certainty::Certain {
        diagnostic.fix_all(title, edits)
    } else {
        diagnostic.unsafe_fix(title, edits)
    }
}
