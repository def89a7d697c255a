//! Types in the language's own syntax, for messages and for generated plans.

use std::fmt::{self, Display, Formatter};

use super::{Field, Literal, ObjectType, Rest, Type};

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::Any | Self::Invalid => f.write_str("any"),
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Uint => f.write_str("uint"),
            Self::Double => f.write_str("double"),
            Self::String => f.write_str("string"),
            Self::Bytes => f.write_str("bytes"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Duration => f.write_str("duration"),
            Self::Type => f.write_str("type"),
            Self::Error => f.write_str("Error"),
            Self::Literal(literal) => literal.fmt(f),
            Self::Result(value) => write!(f, "Result<{value}>"),
            Self::Map(map) => write!(f, "map<{}, {}>", map.key, map.value),
            Self::Object(object) => object.fmt(f),
            Self::List(element) if needs_group(element) => write!(f, "({element})[]"),
            Self::List(element) => write!(f, "{element}[]"),
            Self::Union(members) => match single_optional(members) {
                Some(one) => write!(f, "{one}?"),
                None => write_alternatives(f, members),
            },
        }
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
        let mut separator = "{ ";
        for field in &self.fields {
            write!(f, "{separator}{field}")?;
            separator = ", ";
        }
        if let Rest::Typed(ty) = &self.rest {
            write!(f, "{separator}…: {ty}")?;
        } else if self.fields.is_empty() {
            return f.write_str("{}");
        }
        f.write_str(" }")
    }
}

impl Display for Field {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_name(f, &self.name)?;
        match (self.required, &self.ty) {
            // As the type of a field `T?` also means that it may be missing, so a field that is always there says `| null`.
            (true, Type::Union(members)) => {
                f.write_str(": ")?;
                write_alternatives(f, members)
            }
            (false, Type::Union(members)) if single_optional(members).is_none() => {
                f.write_str("?: ")?;
                write_alternatives(f, members)
            }
            (true, ty) | (false, ty @ Type::Union(_)) => write!(f, ": {ty}"),
            (false, ty) => write!(f, "?: {ty}"),
        }
    }
}

/// The `T` of a union that is nothing but `T | null` and can take the suffix `?`.
fn single_optional(members: &[Type]) -> Option<&Type> {
    match members {
        [one, Type::Null] | [Type::Null, one] => Some(one),
        _ => None,
    }
}

fn needs_group(element: &Type) -> bool {
    matches!(element, Type::Union(members) if single_optional(members).is_none())
}

fn write_alternatives(f: &mut Formatter<'_>, members: &[Type]) -> fmt::Result {
    for (index, member) in members.iter().enumerate() {
        if index > 0 {
            f.write_str(" | ")?;
        }
        member.fmt(f)?;
    }
    Ok(())
}

/// A field's name, in back quotes where it is no identifier.
fn write_name(f: &mut Formatter<'_>, name: &str) -> fmt::Result {
    let mut letters = name.chars();
    let starts = letters
        .next()
        .is_some_and(|letter| letter == '_' || unicode_ident::is_xid_start(letter));
    if starts && letters.all(unicode_ident::is_xid_continue) {
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
