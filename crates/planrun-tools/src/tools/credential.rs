//! Redacts the credentials that tools send in what they answer.

use std::borrow::Cow;
use std::sync::Arc;

use parking_lot::RwLock;
use planrun_lang::call::{Answer, CallError, CallOutcome};
use planrun_lang::secrets::Redactor;

use super::{BoxFuture, Conversation, Described, Identity, Request, Transport};

/// The credentials that the tools of a run send. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Credentials {
    known: Arc<RwLock<Redactor>>,
}

impl Credentials {
    /// Adds credentials from their texts.
    pub(super) fn add(&self, secrets: &[String]) {
        let mut known = Redactor::default();
        for secret in secrets {
            known.add(secret);
        }
        self.join(&known);
    }

    /// Adds credentials.
    pub(super) fn join(&self, others: &Redactor) {
        self.known.write().join(others);
    }

    /// Returns the credentials that are known so far.
    pub(super) fn known(&self) -> Redactor {
        self.known.read().clone()
    }

    /// Wraps a transport so that credentials in everything it returns are redacted.
    pub(super) fn guard(&self, transport: Arc<dyn Transport>) -> Arc<dyn Transport> {
        Arc::new(Guarded {
            transport,
            credentials: self.clone(),
        })
    }

    /// Returns a text without the credentials.
    pub(super) fn redacted(&self, text: &str) -> String {
        let known = self.known.read();
        known.text(text).into_owned()
    }

    /// Redacts a text that is reported during a call.
    fn clean_text(&self, text: &mut String) {
        let known = self.known.read();
        if let Cow::Owned(clean) = known.text(text) {
            *text = clean;
        }
    }

    /// Redacts the outcome of a call before it becomes a value, an event or a message.
    fn clean(&self, outcome: CallOutcome) -> CallOutcome {
        let known = self.known.read();
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
                details: error.details.map(|details| details.redacted(&known)),
                ..error
            }),
        }
    }
}

/// A transport that redacts credentials.
struct Guarded {
    transport: Arc<dyn Transport>,
    credentials: Credentials,
}

impl Transport for Guarded {
    fn call(&self, request: Request) -> Conversation {
        match self.transport.call(request) {
            Conversation::Now(outcome) => Conversation::Now(self.credentials.clean(outcome)),
            later @ Conversation::Later(_) => {
                let (texts, end) = (self.credentials.clone(), self.credentials.clone());
                later
                    .map_texts(move |text| texts.clean_text(text))
                    .map_outcome(move |outcome| end.clean(outcome))
            }
        }
    }

    fn identify(&self, identity: &mut Identity) {
        self.transport.identify(identity);
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        self.transport.describe()
    }
}

#[cfg(test)]
mod tests {
    use planrun_lang::types::Signature;
    use planrun_lang::value::Value;

    use serde_json::Value as Json;

    use super::*;
    use crate::tools::{CallEvent, Progress, Question};

    /// Puts a credential into everything that it returns.
    struct Leaking;

    impl Transport for Leaking {
        fn call(&self, _: Request) -> Conversation {
            Conversation::with_events(|mut events| async move {
                events.progress(Progress::message("with hunter2-token"));
                let question = Question::new("hunter2-token?".to_owned(), Json::Null).unwrap();
                events.ask(question).await;
                Ok(Answer::Json(Json::from("hunter2-token")))
            })
        }

        fn describe(&self) -> BoxFuture<'_, Described> {
            crate::tools::described([])
        }
    }

    #[tokio::test]
    async fn no_credential_comes_back_in_a_conversation() {
        let credentials = Credentials::default();
        let mut known = Redactor::default();
        known.add("hunter2-token");
        credentials.join(&known);
        let request = Request::new(
            "a",
            Arc::new(Signature::unknown("a".into(), "b".into())),
            Value::Null,
            "key",
        );
        let Conversation::Later(mut events) = credentials.guard(Arc::new(Leaking)).call(request)
        else {
            panic!("it tells something")
        };
        let mut texts = Vec::new();
        while let Some(event) = events.next().await {
            texts.push(match event {
                CallEvent::Progress(progress) => progress.text().unwrap().to_owned(),
                CallEvent::Ask(ask) => ask.question().message().to_owned(),
                CallEvent::Done(Ok(Answer::Json(json))) => json.to_string(),
                other => panic!("{other:?}"),
            });
        }
        assert_eq!(texts.len(), 3);
        assert!(
            texts.iter().all(|text| !text.contains("hunter2")),
            "{texts:?}"
        );
    }
}
