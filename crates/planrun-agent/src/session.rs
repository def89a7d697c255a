//! Sessions: conversations that are stored after every round, and can be continued later.

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_models::model::{Message, ToolCall};
use planrun_tools::host::Host;
use planrun_tools::project::{check_own_folder, make_own_folder, own_folder};
use serde::{Deserialize, Serialize};

use crate::markup::Macros;

/// The version of the document.
const VERSION: u32 = 1;
/// Maximum size of a session, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Maximum length of an id, in characters.
const MAX_ID: usize = 64;

/// A conversation. The system prompt is not part of it: it is created again from the current files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    version: u32,
    pub id: String,
    /// The type of the agent of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    pub messages: Vec<Message>,
    /// The last request, until it becomes a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,
    /// The macros defined by its requests.
    #[serde(default, skip_serializing_if = "Macros::is_empty")]
    pub macros: Macros,
    /// The runs of the calls of the last turn, by the ids of the calls.
    #[serde(default)]
    pub runs: BTreeMap<String, String>,
    /// The hash of its file when this process last read or wrote it; `None` if there was no file.
    #[serde(skip)]
    stored: Option<u64>,
}

/// A request that is not a message yet, because its calls have not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    pub request: String,
    /// Its calls, as the text between their brackets, and the run of each.
    pub calls: Vec<(String, String)>,
}

/// The result of a call, as the model reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    pub call: ToolCall,
    pub text: String,
    pub is_error: bool,
}

/// The stored sessions of a project: private files below the project's own folder.
#[derive(Clone)]
pub struct Sessions {
    host: Arc<dyn Host>,
    project: PathBuf,
}

/// A session that no other process can hold until this is dropped.
#[derive(Debug)]
pub struct HeldSession {
    _lock: Option<File>,
}

/// Why a session cannot be used. Nothing has been changed then.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(
        "`{0}` is not a valid session name: use letters, digits, `_` and `-`, at most {MAX_ID} characters"
    )]
    Name(String),
    #[error(
        "the session `{id}` cannot be read and was left as it is: {why}; move {file} away to start it anew"
    )]
    Unreadable {
        id: String,
        file: String,
        why: String,
    },
    #[error(
        "the session `{0}` was changed by another process in the meantime; nothing was overwritten"
    )]
    Changed(String),
    #[error(
        "another process is at work in the session `{0}`; continue it when that process has ended, or start a session of your own"
    )]
    InUse(String),
    #[error("cannot save the session `{id}`: {error}")]
    Files { id: String, error: io::Error },
}

impl Session {
    /// Creates an empty session.
    pub fn new(id: &str) -> Self {
        Self {
            version: VERSION,
            id: id.to_owned(),
            ..Self::default()
        }
    }

    /// Returns true if the session has no messages and no pending request.
    pub fn is_new(&self) -> bool {
        self.messages.is_empty() && self.pending.is_none()
    }

    /// Returns the last request of the user, which a conversation without a new one continues.
    pub fn last_request(&self) -> Option<&str> {
        let pending = self.pending.as_ref().map(|pending| &*pending.request);
        pending.or_else(|| {
            self.messages
                .iter()
                .rev()
                .find_map(|message| match message {
                    Message::User { text } => Some(&**text),
                    Message::System { .. } | Message::Assistant { .. } | Message::Tool { .. } => {
                        None
                    }
                })
        })
    }

    /// Returns the calls of the last turn without an answer, which exist if a process died during the turn, or if a
    /// call waits for an approval.
    pub fn unanswered(&self) -> Vec<ToolCall> {
        let (calls, answers) = self.last_turn();
        let is_open = |call: &&ToolCall| !answers.iter().any(|one| one.call.id == call.id);
        calls.iter().filter(is_open).cloned().collect()
    }

    /// Adds answers to calls of the last turn, and sorts all of its answers in the order of the calls.
    pub fn answer(&mut self, answers: Vec<Answered>) {
        let (calls, known) = self.last_turn();
        let mut all: Vec<Answered> = known.into_iter().chain(answers).collect();
        let place = |one: &Answered| calls.iter().position(|call| call.id == one.call.id);
        all.sort_by_key(place);
        let is_answer = |one: &Message| matches!(one, Message::Tool { .. });
        let kept = self.messages.iter().rposition(|one| !is_answer(one));
        self.messages.truncate(kept.map_or(0, |last| last + 1));
        self.messages
            .extend(all.into_iter().map(|one| Message::Tool {
                call: one.call.id,
                name: one.call.name,
                text: one.text,
                is_error: one.is_error,
            }));
    }

    /// Returns the calls of the last turn and their answers, if only answers follow the turn; otherwise nothing.
    fn last_turn(&self) -> (Vec<ToolCall>, Vec<Answered>) {
        let mut answers = Vec::new();
        for message in self.messages.iter().rev() {
            match message {
                Message::Tool {
                    call,
                    name,
                    text,
                    is_error,
                } => answers.push(Answered {
                    call: ToolCall {
                        id: call.clone(),
                        name: name.clone(),
                        arguments: String::new(),
                    },
                    text: text.clone(),
                    is_error: *is_error,
                }),
                Message::Assistant { calls, .. } => {
                    answers.reverse();
                    return (calls.clone(), answers);
                }
                Message::System { .. } | Message::User { .. } => break,
            }
        }
        (Vec::new(), Vec::new())
    }
}

impl Sessions {
    /// Returns the sessions of the project in this folder.
    pub fn of(host: Arc<dyn Host>, project: PathBuf) -> Self {
        Self { host, project }
    }

    /// Opens the session with this id, or creates it if there is none. Returns an error if the id is invalid, or the
    /// stored session cannot be read.
    pub fn open(&self, id: &str) -> Result<Session, SessionError> {
        let path = self.path(id)?;
        let unreadable = |why: String| SessionError::Unreadable {
            id: id.to_owned(),
            file: path.display().to_string(),
            why,
        };
        check_own_folder(&*self.host, &self.project)
            .map_err(|error| unreadable(error.to_string()))?;
        let text = match self.text(&path) {
            Ok(Some(text)) => text,
            Ok(None) => return Ok(Session::new(id)),
            Err(error) => return Err(unreadable(error.to_string())),
        };
        let session: Session =
            serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
        if session.version != VERSION || session.id != id {
            let Session { version, id, .. } = session;
            return Err(unreadable(format!(
                "it is version {version} of the session `{id}`, but version {VERSION} of this session was expected"
            )));
        }
        Ok(Session {
            stored: Some(hash(text.as_bytes())),
            ..session
        })
    }

    /// Holds a session for this process: what is being called in it must not be taken for interrupted and be called
    /// again. Returns an error if another process holds it.
    pub fn hold(&self, id: &str) -> Result<HeldSession, SessionError> {
        let path = self.path(id)?.with_extension("process.lock");
        let locked = self
            .make_folder()
            .and_then(|()| self.host.try_lock(&path))
            .map_err(|error| match error.kind() {
                io::ErrorKind::WouldBlock => SessionError::InUse(id.to_owned()),
                _ => SessionError::Files {
                    id: id.to_owned(),
                    error,
                },
            });
        locked.map(|lock| HeldSession { _lock: lock })
    }

    /// Stores a session. Returns an error if another process has changed it, or the file cannot be written.
    pub fn save(&self, session: &mut Session) -> Result<(), SessionError> {
        let path = self.path(&session.id)?;
        let write = || {
            self.make_folder()?;
            // Until the file is written, no other process can write it.
            let _lock = self.host.lock(&path.with_extension("lock"))?;
            let known = self.text(&path)?;
            if known.map(|known| hash(known.as_bytes())) != session.stored {
                return Ok(None);
            }
            let text = serde_json::to_vec(session)?;
            if text.len() as u64 > MAX_BYTES {
                let message = format!("it has more than {MAX_BYTES} bytes; start a new session");
                return Err(io::Error::other(message));
            }
            self.host.write_private_file(&path, &text)?;
            Ok(Some(hash(&text)))
        };
        let id = || session.id.clone();
        let written = write().map_err(|error| SessionError::Files { id: id(), error })?;
        let stored = written.ok_or_else(|| SessionError::Changed(id()))?;
        session.stored = Some(stored);
        Ok(())
    }

    /// Returns the text of a stored session; `None` if there is none.
    fn text(&self, path: &Path) -> io::Result<Option<String>> {
        match self.host.read_bounded(path, MAX_BYTES) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn make_folder(&self) -> io::Result<()> {
        check_own_folder(&*self.host, &self.project)?;
        make_own_folder(&*self.host, &self.project)?;
        self.host.make_private_folder(&self.folder())
    }

    fn folder(&self) -> PathBuf {
        own_folder(&self.project).join("sessions")
    }

    fn path(&self, id: &str) -> Result<PathBuf, SessionError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if id.is_empty() || id.len() > MAX_ID || !id.bytes().all(is_plain) {
            return Err(SessionError::Name(id.to_owned()));
        }
        Ok(self.folder().join(format!("{id}.json")))
    }
}

fn hash(text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use planrun_tools::host::{MemoryHost, RealHost};
    use serde_json::json;

    use super::*;

    fn call(id: &str) -> ToolCall {
        ToolCall {
            id: id.to_owned(),
            name: "t".to_owned(),
            arguments: "{}".to_owned(),
        }
    }

    fn answered(id: &str) -> Answered {
        Answered {
            call: call(id),
            text: format!("of {id}"),
            is_error: false,
        }
    }

    fn assistant(calls: &[&str]) -> Message {
        Message::Assistant {
            text: "looking".to_owned(),
            reasoning: "need it".to_owned(),
            calls: calls.iter().map(|id| call(id)).collect(),
            opaque: vec![json!({ "signature": "x" })],
        }
    }

    fn sessions() -> (Sessions, Arc<MemoryHost>) {
        let host = Arc::new(MemoryHost::default().with_file("/p/planrun.yaml", ""));
        (Sessions::of(host.clone(), "/p".into()), host)
    }

    #[test]
    fn s4_23_what_is_kept_comes_back_as_it_was() {
        let (sessions, _) = sessions();
        let mut session = sessions.open("one").unwrap();
        session.messages = vec![
            Message::System {
                text: "**System**: x".to_owned(),
            },
            Message::User {
                text: "读 \u{0}".to_owned(),
            },
            assistant(&["a", "b"]),
        ];
        session.answer(vec![answered("a"), answered("b")]);
        session.messages.push(assistant(&[]));
        session.runs.insert("a".to_owned(), "run".to_owned());
        session.macros.define("DIR", "notes").unwrap();
        session.pending = Some(Pending {
            request: "@[desk.find{}]".to_owned(),
            calls: vec![("desk.find{}".to_owned(), "run".to_owned())],
        });
        sessions.save(&mut session).unwrap();
        assert_eq!(sessions.open("one").unwrap(), session);
        sessions.save(&mut session).unwrap();
    }

    #[test]
    fn s4_23_what_cannot_be_read_is_told_and_left_as_it_is() {
        let (sessions, host) = sessions();
        let file = Path::new("/p/.planrun/sessions/one.json");
        host.make_folder(Path::new("/p/.planrun/sessions")).unwrap();
        for text in ["{", "[]", r#"{"version":2,"id":"one","messages":[]}"#] {
            host.write_file(file, text.as_bytes()).unwrap();
            let message = sessions.open("one").unwrap_err().to_string();
            assert!(
                message.contains("one.json") && message.contains("left as it is"),
                "{message}"
            );
            let mut new = Session::new("one");
            let message = sessions.save(&mut new).unwrap_err().to_string();
            assert!(message.contains("nothing was overwritten"), "{message}");
            assert_eq!(host.read_file(file).unwrap(), text);
        }
        for name in ["", "../x", "a/b", "é"] {
            assert!(
                matches!(sessions.open(name), Err(SessionError::Name(_))),
                "{name}"
            );
        }
    }

    #[test]
    fn two_processes_do_not_overwrite_each_other() {
        let (sessions, _) = sessions();
        let mut one = sessions.open("one").unwrap();
        let mut other = sessions.open("one").unwrap();
        one.messages.push(assistant(&[]));
        sessions.save(&mut one).unwrap();
        assert!(matches!(
            sessions.save(&mut other),
            Err(SessionError::Changed(_))
        ));
        assert_eq!(sessions.open("one").unwrap().messages.len(), 1);
    }

    #[test]
    fn no_round_of_several_processes_at_once_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = Sessions::of(Arc::new(RealHost), folder.path().to_owned());
        let conversation = || {
            let mut saved = 0;
            for _ in 0..40 {
                let mut session = sessions.open("one").unwrap();
                session.messages.push(assistant(&[]));
                match sessions.save(&mut session) {
                    Ok(()) => saved += 1,
                    Err(SessionError::Changed(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            saved
        };
        let rounds: usize = thread::scope(|scope| {
            let savers = [(); 4].map(|()| scope.spawn(conversation));
            savers.map(|saver| saver.join().unwrap()).iter().sum()
        });
        assert_eq!(sessions.open("one").unwrap().messages.len(), rounds);
    }

    #[test]
    fn answers_stand_in_the_order_of_their_calls() {
        let mut session = Session::new("one");
        session.messages = vec![assistant(&["z"]), assistant(&["a", "b", "c"])];
        session.answer(vec![answered("c")]);
        let open = |session: &Session| -> Vec<String> {
            session
                .unanswered()
                .into_iter()
                .map(|call| call.id)
                .collect()
        };
        assert_eq!(open(&session), ["a", "b"]);
        session.answer(vec![answered("b"), answered("a")]);
        assert_eq!(open(&session), [""; 0]);
        let ids = session.messages.iter().filter_map(|message| match message {
            Message::Tool { call, .. } => Some(&**call),
            _ => None,
        });
        assert_eq!(ids.collect::<Vec<_>>(), ["a", "b", "c"]);
        session.messages.push(Message::User {
            text: String::new(),
        });
        assert_eq!(open(&session), [""; 0]);
    }
}
