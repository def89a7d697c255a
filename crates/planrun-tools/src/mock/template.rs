//! Templates in mock answers: `{args.name}` is replaced by an argument of the call.

use serde_json::{Map, Value as Json};

/// Fills the arguments of a call into every text of an answer. A text that is exactly one placeholder becomes the
/// argument with its type; inside other text, the argument is converted to text.
pub(super) fn fill(template: &Json, arguments: &Map<String, Json>) -> Json {
    match template {
        Json::String(text) => fill_text(text, arguments),
        Json::Array(items) => Json::Array(items.iter().map(|item| fill(item, arguments)).collect()),
        Json::Object(entries) => Json::Object(
            entries
                .iter()
                .map(|(name, value)| (name.clone(), fill(value, arguments)))
                .collect(),
        ),
        Json::Null | Json::Bool(_) | Json::Number(_) => template.clone(),
    }
}

fn fill_text(text: &str, arguments: &Map<String, Json>) -> Json {
    if let Some((path, "")) = placeholder(text) {
        return find(path, arguments).cloned().unwrap_or(Json::Null);
    }
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some((path, behind)) = placeholder(rest) {
            match find(path, arguments) {
                Some(Json::String(text)) => filled.push_str(text),
                Some(Json::Null) | None => {}
                Some(other) => filled.push_str(&other.to_string()),
            }
            rest = behind;
        } else {
            // Any other brace is literal text.
            filled.push('{');
            rest = &rest[1..];
        }
    }
    filled.push_str(rest);
    Json::String(filled)
}

/// Returns the path of a placeholder at the start of a text, and the text after it.
fn placeholder(text: &str) -> Option<(&str, &str)> {
    let (path, behind) = text.strip_prefix("{args.")?.split_once('}')?;
    (!path.is_empty() && !path.contains('{')).then_some((path, behind))
}

fn find<'a>(path: &str, arguments: &'a Map<String, Json>) -> Option<&'a Json> {
    let mut parts = path.split('.');
    let first = arguments.get(parts.next()?)?;
    parts.try_fold(first, |value, part| match value {
        Json::Array(items) => items.get(part.parse::<usize>().ok()?),
        other => other.get(part),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_whole_placeholder_keeps_its_type() {
        let json = json!({"n": 3, "who": {"name": "张三"}, "list": ["a", "b"], "none": null});
        let Json::Object(arguments) = json else {
            return;
        };
        let filled = |template: Json| fill(&template, &arguments);
        assert_eq!(filled(json!("{args.n}")), json!(3));
        assert_eq!(filled(json!("{args.who}")), json!({"name": "张三"}));
        assert_eq!(filled(json!("{args.list.1}")), json!("b"));
        assert_eq!(filled(json!("{args.absent}")), Json::Null);
        assert_eq!(
            filled(json!(["PC-{args.n} for {args.who.name}{args.none}!"])),
            json!(["PC-3 for 张三!"])
        );
        assert_eq!(
            filled(json!("{} {x} {args.} {args.n")),
            json!("{} {x} {args.} {args.n")
        );
        assert_eq!(filled(json!({"{args.n}": true})), json!({"{args.n}": true}));
    }
}
