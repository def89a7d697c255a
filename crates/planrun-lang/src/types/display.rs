//! Formats types in the language's own syntax, for messages and generated plans.

use std::fmt::{self, Display, Formatter};

use foldhash::HashMap;

use super::{Field, Literal, ObjectType, Rest, Type};
use crate::characters::is_plain_word;

/// Names of types, written in place of the types.
pub type TypeNames = HashMap<Type, String>;

impl Type {
    /// Formats the type in plan syntax, with the names of those parts that have one.
    #[must_use]
    pub fn named<'t>(&'t self, names: &'t TypeNames) -> impl Display + 't {
        Written {
            part: self,
            names: Some(names),
        }
    }
}

/// A part of a type, with the names to use for its parts.
struct Written<'t, T> {
    part: &'t T,
    names: Option<&'t TypeNames>,
}

impl<'t, T> Written<'t, T> {
    fn other<U>(&self, part: &'t U) -> Written<'t, U> {
        Written {
            part,
            names: self.names,
        }
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (part, names) = (self, None);
        Written { part, names }.fmt(f)
    }
}

impl Display for Written<'_, Type> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.names.and_then(|names| names.get(self.part)) {
            return f.write_str(name);
        }
        match self.part {
            Type::Never => f.write_str("never"),
            Type::Any | Type::Invalid => f.write_str("any"),
            Type::Null => f.write_str("null"),
            Type::Bool => f.write_str("bool"),
            Type::Int => f.write_str("int"),
            Type::Uint => f.write_str("uint"),
            Type::Double => f.write_str("double"),
            Type::String => f.write_str("string"),
            Type::Bytes => f.write_str("bytes"),
            Type::Timestamp => f.write_str("timestamp"),
            Type::Duration => f.write_str("duration"),
            Type::Type => f.write_str("type"),
            Type::Error => f.write_str("Error"),
            Type::Literal(literal) => literal.fmt(f),
            Type::Result(value) => write!(f, "Result<{}>", self.other(&**value)),
            Type::Map(map) => {
                let (key, value) = (self.other(&map.key), self.other(&map.value));
                write!(f, "map<{key}, {value}>")
            }
            Type::Object(object) => self.other(&**object).fmt(f),
            Type::List(element) => {
                let written = self.other(&**element);
                let has_name = self.names.is_some_and(|names| names.contains_key(element));
                if needs_group(element) && !has_name {
                    write!(f, "({written})[]")
                } else {
                    write!(f, "{written}[]")
                }
            }
            Type::Union(members) => match single_optional(members) {
                Some(one) => write!(f, "{}?", self.other(one)),
                None => self.alternatives(f, members),
            },
        }
    }
}

impl<'t, T> Written<'t, T> {
    fn alternatives(&self, f: &mut Formatter<'_>, members: &'t [Type]) -> fmt::Result {
        for (index, member) in members.iter().enumerate() {
            if index > 0 {
                f.write_str(" | ")?;
            }
            self.other(member).fmt(f)?;
        }
        Ok(())
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::String(value) => {
                let quoted = serde_json::Value::from(&**value).to_string();
                f.write_str(&quoted.replace("${", "\\${"))
            }
        }
    }
}

impl Display for ObjectType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (part, names) = (self, None);
        Written { part, names }.fmt(f)
    }
}

impl Display for Written<'_, ObjectType> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut separator = "{ ";
        for field in &self.part.fields {
            write!(f, "{separator}{}", self.other(field))?;
            separator = ", ";
        }
        if let Rest::Typed(ty) = &self.part.rest {
            write!(f, "{separator}…: {}", self.other(ty))?;
        } else if self.part.fields.is_empty() {
            return f.write_str("{}");
        }
        f.write_str(" }")
    }
}

impl Display for Written<'_, Field> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let field = self.part;
        let (ty, required) = (self.other(&field.ty), field.required);
        write_name(f, &field.name)?;
        if self
            .names
            .is_some_and(|names| names.contains_key(&field.ty))
        {
            return write!(f, "{}: {ty}", if required { "" } else { "?" });
        }
        match (required, &field.ty) {
            // In the type of a field, `T?` also means that the field may be missing, so a required field is written
            // with `| null`.
            (true, Type::Union(members)) => {
                f.write_str(": ")?;
                self.alternatives(f, members)
            }
            (false, Type::Union(members)) if single_optional(members).is_none() => {
                f.write_str("?: ")?;
                self.alternatives(f, members)
            }
            (true, _) | (false, Type::Union(_)) => write!(f, ": {ty}"),
            (false, _) => write!(f, "?: {ty}"),
        }
    }
}

/// Returns the `T` of the union `T | null` if it can be written as `T?`.
fn single_optional(members: &[Type]) -> Option<&Type> {
    match members {
        [one, Type::Null] | [Type::Null, one] => Some(one),
        _ => None,
    }
}

fn needs_group(element: &Type) -> bool {
    matches!(element, Type::Union(members) if single_optional(members).is_none())
}

/// Writes the name of a field, in back quotes if it is not an identifier.
fn write_name(f: &mut Formatter<'_>, name: &str) -> fmt::Result {
    if is_plain_word(name) {
        f.write_str(name)
    } else {
        write!(f, "`{name}`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn field(name: &str, ty: Type, required: bool) -> Field {
        Field {
            name: name.into(),
            ty,
            required,
        }
    }

    #[test]
    fn types_are_written_as_in_plans() {
        let level =
            Type::union(["L1", "L2"].map(|name| Type::Literal(Literal::String(name.into()))));
        let list = |ty: Type| Type::List(Arc::new(ty));
        assert_eq!(level.to_string(), r#""L1" | "L2""#);
        assert_eq!(list(level.clone()).to_string(), r#"("L1" | "L2")[]"#);
        assert_eq!(list(Type::String.optional()).to_string(), "string?[]");
        assert_eq!(list(Type::String).optional().to_string(), "string[]?");
        assert_eq!(level.optional().to_string(), r#""L1" | "L2" | null"#);
        assert_eq!(Type::Result(Arc::new(Type::Int)).to_string(), "Result<int>");
    }

    #[test]
    fn fields_tell_null_and_missing_apart() {
        let fields = vec![
            field("a", Type::String, true),
            field("b", Type::Int, false),
            field("c", Type::Int.optional(), true),
            field("d", Type::Int.optional(), false),
            field("名字", Type::Bool, true),
            field("read-file", Type::Any, true),
        ];
        let object = Type::Object(Arc::new(ObjectType {
            fields,
            rest: Rest::Open,
        }));
        let expected =
            "{ a: string, b?: int, c: int | null, d: int?, 名字: bool, `read-file`: any }";
        assert_eq!(object.to_string(), expected);
        let empty = ObjectType {
            fields: Vec::new(),
            rest: Rest::Closed,
        };
        assert_eq!(empty.to_string(), "{}");
    }

    #[test]
    fn text_literals_stay_one_line_of_plan_text() {
        assert_eq!(
            Literal::String("a\"${b}\n".into()).to_string(),
            r#""a\"\${b}\n""#
        );
    }
}
