//! The JSON of A2A, as far as it is read here. `ProtoJSON` leaves out empty values, and some agents write null for
//! them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;

/// The card of an agent: its description of itself.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct AgentCard {
    pub name: String,
    pub description: Option<String>,
    pub version: String,
    /// Only in cards of versions before 1.0.
    pub protocol_version: Option<String>,
    #[serde(deserialize_with = "or_empty")]
    pub supported_interfaces: Vec<Interface>,
    #[serde(deserialize_with = "or_empty")]
    pub capabilities: Capabilities,
    #[serde(deserialize_with = "or_empty")]
    pub skills: Vec<Skill>,
}

/// An address of an agent with its protocol binding.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Interface {
    pub url: String,
    pub protocol_binding: String,
    pub protocol_version: String,
    pub tenant: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Capabilities {
    #[serde(deserialize_with = "or_empty")]
    pub streaming: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Skill {
    pub id: String,
    pub name: Option<String>,
    pub description: Option<String>,
    #[serde(deserialize_with = "or_empty")]
    pub examples: Vec<String>,
}

/// The answer to a message, and each event of a stream: exactly one of the fields is present.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(
    clippy::struct_field_names,
    reason = "these are the names of the protocol"
)]
pub(super) struct Update {
    pub task: Option<Task>,
    pub message: Option<Message>,
    pub status_update: Option<StatusUpdate>,
    pub artifact_update: Option<ArtifactUpdate>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Task {
    pub id: String,
    pub context_id: String,
    #[serde(deserialize_with = "or_empty")]
    pub status: Status,
    #[serde(deserialize_with = "or_empty")]
    pub artifacts: Vec<Artifact>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Status {
    #[serde(deserialize_with = "or_empty")]
    pub state: State,
    pub message: Option<Message>,
    pub timestamp: Option<String>,
}

/// The state of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) enum State {
    #[serde(rename = "TASK_STATE_SUBMITTED")]
    Submitted,
    #[serde(rename = "TASK_STATE_WORKING")]
    Working,
    #[serde(rename = "TASK_STATE_COMPLETED")]
    Completed,
    #[serde(rename = "TASK_STATE_FAILED")]
    Failed,
    #[serde(rename = "TASK_STATE_CANCELED")]
    Cancelled,
    #[serde(rename = "TASK_STATE_REJECTED")]
    Rejected,
    #[serde(rename = "TASK_STATE_INPUT_REQUIRED")]
    InputRequired,
    #[serde(rename = "TASK_STATE_AUTH_REQUIRED")]
    AuthRequired,
    #[default]
    #[serde(other)]
    Unknown,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Message {
    pub message_id: String,
    #[serde(deserialize_with = "or_empty")]
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(
    clippy::struct_field_names,
    reason = "this is the name of the protocol"
)]
pub(super) struct Artifact {
    pub artifact_id: String,
    pub name: Option<String>,
    #[serde(deserialize_with = "or_empty")]
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct StatusUpdate {
    pub task_id: String,
    pub context_id: String,
    #[serde(deserialize_with = "or_empty")]
    pub status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ArtifactUpdate {
    pub task_id: String,
    pub context_id: String,
    #[serde(deserialize_with = "or_empty")]
    pub artifact: Artifact,
    #[serde(deserialize_with = "or_empty")]
    pub append: bool,
}

/// A part of a message or an artifact.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "RawPart")]
pub(super) struct Part {
    pub content: Content,
    pub filename: Option<String>,
    pub media_type: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    Text(String),
    Bytes(Vec<u8>),
    Url(String),
    Data(Json),
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawPart {
    text: Option<String>,
    raw: Option<String>,
    url: Option<String>,
    /// Null is a valid value here.
    #[serde(deserialize_with = "given")]
    data: Option<Json>,
    filename: Option<String>,
    media_type: Option<String>,
}

impl TryFrom<RawPart> for Part {
    type Error = serde_json::Error;

    fn try_from(part: RawPart) -> Result<Self, Self::Error> {
        let content = match (part.text, part.raw, part.url, part.data) {
            (Some(text), ..) => Content::Text(text),
            (_, Some(raw), ..) => {
                let bytes = STANDARD.decode(raw);
                Content::Bytes(bytes.map_err(|_| Self::Error::custom("`raw` is not valid base64"))?)
            }
            (_, _, Some(url), _) => Content::Url(url),
            (_, _, _, Some(data)) => Content::Data(data),
            (None, None, None, None) => {
                let message = "a part has none of `text`, `raw`, `url` and `data`";
                return Err(Self::Error::custom(message));
            }
        };
        let named = |text: Option<String>| text.filter(|text| !text.is_empty());
        Ok(Self {
            content,
            filename: named(part.filename),
            media_type: named(part.media_type),
        })
    }
}

/// Reads null as an empty value.
fn or_empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}
