//! Credentials: which texts are ones, and keeping them out of what comes back.

use std::sync::{Arc, PoisonError, RwLock};

use planrun_lang::secrets::Redactor;
use planrun_lang::types::sounds_secret;
use reqwest::Url;

use super::{Answer, CallError, Outcome, Reply, Request, Transport};

/// The credentials that the tools of a run send. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Credentials {
    known: Arc<RwLock<Redactor>>,
}

impl Credentials {
    /// These are sent, too.
    pub(super) fn join(&self, others: &Redactor) {
        self.known
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .join(others);
    }

    /// Those that are known so far.
    pub(super) fn known(&self) -> Redactor {
        self.known
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The tool, with marks for credentials in everything that it gives back.
    pub(super) fn guard(&self, transport: Arc<dyn Transport>) -> Arc<dyn Transport> {
        Arc::new(Guarded {
            transport,
            credentials: self.clone(),
        })
    }

    /// What came back, before it becomes a value, an event or a message.
    fn clean(&self, outcome: Outcome) -> Outcome {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if known.is_empty() {
            return outcome;
        }
        match outcome {
            Ok(Answer::Value(value)) => Ok(Answer::Value(known.value(&value).unwrap_or(value))),
            Ok(Answer::Json(mut json)) => {
                known.json(&mut json);
                Ok(Answer::Json(json))
            }
            Err(error) => Err(CallError {
                message: known.text(&error.message).into_owned(),
                ..error
            }),
        }
    }
}

/// A tool from which no credentials come back.
struct Guarded {
    transport: Arc<dyn Transport>,
    credentials: Credentials,
}

impl Transport for Guarded {
    fn call(&self, request: Request) -> Reply {
        match self.transport.call(request) {
            Reply::Now(outcome) => Reply::Now(self.credentials.clean(outcome)),
            Reply::Later(answer) => {
                let credentials = self.credentials.clone();
                Reply::Later(Box::pin(async move { credentials.clean(answer.await) }))
            }
        }
    }
}

/// The credentials in the value of a variable that programs get: all of it, or what an address has of them.
pub(super) fn in_variable(name: &str, value: &str) -> Vec<String> {
    if sounds_secret(name) {
        return vec![value.to_owned()];
    }
    Url::parse(value)
        .map(|url| in_address(&url))
        .unwrap_or_default()
}

/// The credentials before the host of an address: its password, or the name where that stands alone.
pub(super) fn in_address(url: &Url) -> Vec<String> {
    // Without a password, the name of a web address is a token.
    let alone = if matches!(url.scheme(), "http" | "https") {
        url.username()
    } else {
        ""
    };
    let written = url.password().unwrap_or(alone);
    let bytes = written.as_bytes();
    // As it is sent in `Authorization`: read back.
    let mut read = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let escape = (*byte == b'%')
            .then(|| written.get(at + 1..at + 3))
            .flatten();
        let escape = escape.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        read.push(escape.unwrap_or(*byte));
        at += if escape.is_some() { 3 } else { 1 };
    }
    let read = String::from_utf8_lossy(&read).into_owned();
    if read.is_empty() {
        Vec::new()
    } else {
        vec![read]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_tell_credentials() {
        assert_eq!(
            in_variable("DATABASE_URL", "postgres://app:p%40ss%2Fw@db/x"),
            ["p@ss/w"]
        );
        assert_eq!(
            in_variable("HOOK", "https://only-token@example.com/"),
            ["only-token"]
        );
        assert_eq!(in_variable("STAGE", "production"), [""; 0]);
        assert_eq!(in_variable("SITE", "https://example.com/a%20b"), [""; 0]);
    }
}
