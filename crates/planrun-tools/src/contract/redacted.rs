//! Redacts credentials in what a server says about itself, which is pinned, printed and given to models.

use std::borrow::Cow;

use planrun_lang::secrets::{MARK, Redactor};
use serde_json::Value as Json;

use super::documentation::{NAMED, SCHEMAS};
use super::{OfferedServer, OfferedTool};

/// Keywords that restrict or replace a value. With a mark instead of the credential they would reject valid arguments
/// or send the mark, so they are removed.
const RESTRICTING: [&str; 4] = ["const", "default", "enum", "pattern"];
/// Keywords whose texts are names, which calls need.
const NAMING: [&str; 11] = [
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$ref",
    "$schema",
    "contentEncoding",
    "dependentRequired",
    "format",
    "required",
    "type",
];

impl OfferedServer {
    /// Redacts these credentials, except in the names of tools and arguments.
    pub(crate) fn redact(&mut self, credentials: &Redactor) {
        if credentials.is_empty() {
            return;
        }
        redact_text(&mut self.name, credentials);
        redact_text(&mut self.version, credentials);
        for tool in self.tools.values_mut() {
            tool.redact(credentials);
        }
    }

    /// Returns true if a text of the server has been redacted.
    #[must_use]
    pub fn is_redacted(&self) -> bool {
        let has_mark = |tool: &OfferedTool| {
            let json = serde_json::to_string(tool);
            json.is_ok_and(|json| json.contains(MARK))
        };
        self.name.contains(MARK) || self.version.contains(MARK) || self.tools.values().any(has_mark)
    }
}

impl OfferedTool {
    /// Redacts these credentials, except in the names of arguments.
    pub(crate) fn redact(&mut self, credentials: &Redactor) {
        let texts = [&mut self.title, &mut self.description];
        for text in texts.into_iter().flatten() {
            redact_text(text, credentials);
        }
        redact_schema(&mut self.input, credentials);
        if let Some(output) = &mut self.output {
            redact_schema(output, credentials);
        }
    }
}

fn redact_text(text: &mut String, credentials: &Redactor) {
    if let Cow::Owned(clean) = credentials.text(text) {
        *text = clean;
    }
}

fn redact_schema(schema: &mut Json, credentials: &Redactor) {
    let Json::Object(keywords) = schema else {
        return;
    };
    keywords.retain(|keyword, value| {
        let keyword = keyword.as_str();
        match value {
            Json::Object(named) if NAMED.contains(&keyword) => {
                let schemas = named.values_mut();
                schemas.for_each(|schema| redact_schema(schema, credentials));
            }
            Json::Array(list) if SCHEMAS.contains(&keyword) => {
                let schemas = list.iter_mut();
                schemas.for_each(|schema| redact_schema(schema, credentials));
            }
            _ if SCHEMAS.contains(&keyword) => redact_schema(value, credentials),
            _ if NAMING.contains(&keyword) => {}
            _ if RESTRICTING.contains(&keyword) => {
                let mut clean = value.clone();
                credentials.json(&mut clean);
                return clean == *value;
            }
            Json::String(_) | Json::Array(_) | Json::Object(_) => credentials.json(value),
            Json::Number(_) | Json::Bool(_) | Json::Null => {}
        }
        true
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_redacted_and_names_are_kept() {
        let mut credentials = Redactor::default();
        for secret in ["hunter2-token", "info", "8080"] {
            credentials.add(secret);
        }
        let mut tool = OfferedTool {
            title: Some("As hunter2-token".to_owned()),
            input: json!({
                "type": "object",
                "required": ["info"],
                "maximum": 8080,
                "x-source": ["hunter2-token"],
                "properties": {
                    "info": { "enum": ["info", "debug"], "type": "string" },
                    "address": { "type": "string", "default": "db://hunter2-token@x", "minLength": 1 },
                    "any": { "anyOf": [{ "description": "hunter2-token", "const": "a" }] },
                },
            }),
            ..OfferedTool::default()
        };
        let mut server = OfferedServer {
            version: "1 hunter2-token".to_owned(),
            ..OfferedServer::default()
        };
        assert!(!server.is_redacted());
        server.redact(&credentials);
        assert_eq!(server.version, format!("1 {MARK}"));
        assert!(server.is_redacted());
        tool.redact(&credentials);
        assert_eq!(tool.title, Some(format!("As {MARK}")));
        let expected = json!({
            "type": "object",
            "required": ["info"],
            "maximum": 8080,
            "x-source": [MARK],
            "properties": {
                "info": { "type": "string" },
                "address": { "type": "string", "minLength": 1 },
                "any": { "anyOf": [{ "description": MARK, "const": "a" }] },
            },
        });
        assert_eq!(tool.input, expected);
    }
}
