//! Extracts the parts of a reply that are displayed instead of read as text: images, audio and resources of servers.
//!
//! Plans contain them as parts (`{ kind, mime, bytes }`) at any position of the reply.

use planrun_lang::value::{Map as Entries, Value};
use serde_json::{Map, Value as Json};

/// Maximum number of blocks of one reply.
const MAX_BLOCKS: usize = 32;
/// Maximum size of all blocks of a reply as they are sent, in bytes. A part that does not fit stays in the reply.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// A displayed part of a reply. `data` is base64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    Image {
        mime: String,
        data: String,
    },
    Audio {
        mime: String,
        data: String,
    },
    Link {
        uri: String,
        name: String,
    },
    /// A text resource. It also stays in the reply, for clients that do not display resources.
    Text {
        uri: String,
        mime: Option<String>,
        text: String,
    },
    /// A binary resource.
    Blob {
        uri: String,
        mime: Option<String>,
        data: String,
    },
}

/// Returns the reply as JSON and its blocks in order. The bytes of block N are replaced by `block: N`, counted from 1.
pub fn separated(reply: &Value) -> (Json, Vec<Block>) {
    let mut taken = Taken {
        blocks: Vec::new(),
        left: MAX_BYTES,
    };
    (taken.json(reply), taken.blocks)
}

struct Taken {
    blocks: Vec<Block>,
    /// Number of bytes that still fit.
    left: usize,
}

impl Taken {
    fn json(&mut self, value: &Value) -> Json {
        if let Value::List(elements) = value {
            return elements.iter().map(|element| self.json(element)).collect();
        }
        let Value::Map(entries) = value else {
            return value.to_json();
        };
        let block = block(value).filter(|block| self.has_room_for(block));
        let has_bytes = block.as_ref().is_some_and(Block::is_binary);
        let mut fields = Map::new();
        for (key, value) in Entries::iter(entries) {
            let name = key.to_string();
            if !(has_bytes && name == "bytes") {
                fields.insert(name, self.json(value));
            }
        }
        self.blocks.extend(block);
        if has_bytes {
            fields.insert("block".to_owned(), self.blocks.len().into());
        }
        Json::Object(fields)
    }

    fn has_room_for(&mut self, block: &Block) -> bool {
        let left = self.left.checked_sub(block.len());
        let has_room = left.is_some() && self.blocks.len() < MAX_BLOCKS;
        if let (true, Some(left)) = (has_room, left) {
            self.left = left;
        }
        has_room
    }
}

/// Converts a part to a block; `None` if the value is not a part or is a text part.
fn block(part: &Value) -> Option<Block> {
    let text = |name: &str| Some(part.get(name)?.as_str()?.to_owned());
    let data = || match part.get("bytes")? {
        bytes @ Value::Bytes(_) => Some(bytes.to_json().as_str()?.to_owned()),
        _ => None,
    };
    Some(match part.get("kind")?.as_str()? {
        "image" => Block::Image {
            mime: text("mime")?,
            data: data()?,
        },
        "audio" => Block::Audio {
            mime: text("mime")?,
            data: data()?,
        },
        "link" => Block::Link {
            uri: text("uri")?,
            name: text("name")?,
        },
        "resource" => {
            let (uri, mime) = (text("uri")?, text("mime"));
            match data() {
                Some(data) => Block::Blob { uri, mime, data },
                None => Block::Text {
                    uri,
                    mime,
                    text: text("text")?,
                },
            }
        }
        _ => return None,
    })
}

impl Block {
    fn is_binary(&self) -> bool {
        match self {
            Self::Image { .. } | Self::Audio { .. } | Self::Blob { .. } => true,
            Self::Link { .. } | Self::Text { .. } => false,
        }
    }

    /// Returns the size of the content, in bytes.
    fn len(&self) -> usize {
        match self {
            Self::Image { data, .. } | Self::Audio { data, .. } | Self::Blob { data, .. } => {
                data.len()
            }
            Self::Link { uri, name } => uri.len() + name.len(),
            Self::Text { text, .. } => text.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use planrun_lang::value::Key;
    use serde_json::json;

    use super::*;

    fn part<const N: usize>(fields: [(&str, Value); N]) -> Value {
        let fields = fields.map(|(name, value)| (Key::String(name.into()), value));
        Value::Map(Arc::new(fields.into_iter().collect()))
    }

    fn image(bytes: Vec<u8>) -> Value {
        part([
            ("kind", "image".into()),
            ("mime", "image/png".into()),
            ("bytes", Value::Bytes(bytes.into())),
        ])
    }

    #[test]
    fn bytes_of_parts_leave_the_reply_wherever_they_are() {
        let note = part([
            ("kind", "resource".into()),
            ("uri", "note://one".into()),
            ("text", "first".into()),
        ]);
        let reply = part([
            ("seen", Value::List(Arc::new(vec![note, image(vec![1, 2])]))),
            ("other", Value::Bytes(vec![1].into())),
        ]);
        let (json, blocks) = separated(&reply);
        let seen = json!([
            { "kind": "resource", "uri": "note://one", "text": "first" },
            { "kind": "image", "mime": "image/png", "block": 2 },
        ]);
        assert_eq!(json, json!({ "seen": seen, "other": "AQ==" }));
        let text = Block::Text {
            uri: "note://one".to_owned(),
            mime: None,
            text: "first".to_owned(),
        };
        let image = Block::Image {
            mime: "image/png".to_owned(),
            data: "AQI=".to_owned(),
        };
        assert_eq!(blocks, [text, image]);
    }

    #[test]
    fn a_part_for_which_there_is_no_room_stays() {
        let large = image(vec![0; MAX_BYTES]);
        let reply = Value::List(Arc::new(vec![large, image(vec![1])]));
        let (json, blocks) = separated(&reply);
        assert!(json.pointer("/0/bytes").is_some());
        assert_eq!(json.pointer("/1/block"), Some(&json!(1)));
        assert_eq!(blocks.len(), 1);
    }
}
