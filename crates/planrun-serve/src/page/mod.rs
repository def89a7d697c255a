//! Questions on web pages of the loopback interface, for people whose client cannot ask them.
//!
//! Each question has its own address with 128 random bits, which accepts one answer. The server starts with the first
//! question. It accepts only requests for its own host name, and no forms that were submitted by another origin.

mod form;
mod html;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, ORIGIN, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use parking_lot::Mutex;
use planrun_tools::host::{Host, random_hex};
use tokio::net::TcpListener;
use tokio::sync::{OnceCell, watch};

use crate::asking::{AskOutcome, PendingQuestion};
use crate::blocking::blocking;

/// Maximum number of questions with an address; after that, the oldest loses its address.
const MAX_QUESTIONS: usize = 200;
/// Maximum size of an answer, in bytes.
const MAX_ANSWER: usize = 64 * 1024;
/// The content security policy of a page: the browser may only submit its form.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Receives the answers that people give on a page.
pub trait Answers: Send + Sync {
    /// Accepts the answer to a question. Fails with the reason why it is refused.
    fn accept(
        &self,
        question: &PendingQuestion,
        outcome: AskOutcome,
        channel: &str,
    ) -> Result<(), String>;

    /// Returns the text of a run's plan, if the run is known.
    fn plan(&self, run: &str) -> Option<String>;
}

/// The questions that have an address.
pub struct Pages {
    answers: Weak<dyn Answers>,
    host: Arc<dyn Host>,
    /// `127.0.0.1:PORT` once the server listens; `None` inside if it cannot.
    authority: OnceCell<Option<String>>,
    open: Mutex<OpenQuestions>,
}

#[derive(Default)]
struct OpenQuestions {
    /// By number, in the order in which they were asked.
    questions: BTreeMap<u64, Entry>,
    last: u64,
    /// The questions that clients are asking now, by run and path.
    asking: BTreeSet<(String, Arc<str>)>,
}

/// A question that has an address.
struct Entry {
    token: String,
    question: PendingQuestion,
    /// Whether the person has opened the page through the client.
    is_open: bool,
    /// Dropped when the address is removed.
    closed: watch::Sender<()>,
}

impl Entry {
    fn is_of(&self, run: &str, path: &str) -> bool {
        self.question.run == run && *self.question.path == *path
    }
}

impl Pages {
    pub(crate) fn new(answers: Weak<dyn Answers>, host: Arc<dyn Host>) -> Arc<Self> {
        Arc::new(Self {
            answers,
            host,
            authority: OnceCell::new(),
            open: Mutex::default(),
        })
    }

    /// Records that a client asks a question. Returns false if a client does so already.
    pub(crate) fn begin_asking(&self, run: &str, path: &Arc<str>) -> bool {
        self.open
            .lock()
            .asking
            .insert((run.to_owned(), path.clone()))
    }

    /// Records that the client has finished asking.
    pub(crate) fn end_asking(&self, run: &str, path: &Arc<str>) {
        self.open
            .lock()
            .asking
            .remove(&(run.to_owned(), path.clone()));
    }

    /// Returns the address of a question; `None` if the server cannot listen.
    pub(crate) async fn address_of(self: &Arc<Self>, question: &PendingQuestion) -> Option<String> {
        let authority = self.authority.get_or_init(|| self.listen()).await;
        let authority = authority.as_ref()?;
        let mut open = self.open.lock();
        let mut known = open.questions.values();
        if let Some(known) = known.find(|known| known.is_of(&question.run, &question.path)) {
            return Some(address(authority, &known.token));
        }
        let token = random_hex(&*self.host, 2);
        let entry = Entry {
            token: token.clone(),
            question: question.clone(),
            is_open: false,
            closed: watch::Sender::new(()),
        };
        open.last += 1;
        let last = open.last;
        open.questions.insert(last, entry);
        if open.questions.len() > MAX_QUESTIONS {
            open.questions.pop_first();
        }
        Some(address(authority, &token))
    }

    /// Records that the person has opened the page of a question through the client.
    pub(crate) fn mark_opened(&self, run: &str, path: &str) {
        let mut open = self.open.lock();
        let mut entries = open.questions.values_mut();
        if let Some(entry) = entries.find(|entry| entry.is_of(run, path)) {
            entry.is_open = true;
        }
    }

    /// Waits until the page of a question is removed.
    pub(crate) async fn closed(&self, run: &str, path: &str) {
        let closed = {
            let open = self.open.lock();
            let mut entries = open.questions.values();
            let entry = entries.find(|entry| entry.is_of(run, path));
            entry.map(|entry| entry.closed.subscribe())
        };
        if let Some(mut closed) = closed {
            // Nothing is ever sent: this fails when the sender is dropped.
            let _ = closed.changed().await;
        }
    }

    /// Returns true if the person has opened the page of a question through the client.
    pub(crate) fn is_open(&self, run: &str, path: &str) -> bool {
        let open = self.open.lock();
        let mut entries = open.questions.values();
        entries.any(|entry| entry.is_open && entry.is_of(run, path))
    }

    /// Removes the addresses of a run's questions that are not asked any more.
    pub(crate) fn keep(&self, run: &str, is_asked: impl Fn(&str) -> bool) {
        let mut open = self.open.lock();
        let is_kept = |entry: &Entry| entry.question.run != run || is_asked(&entry.question.path);
        open.questions.retain(|_, entry| is_kept(entry));
    }

    fn question(&self, token: &str) -> Option<PendingQuestion> {
        let open = self.open.lock();
        let mut questions = open.questions.values();
        let found = questions.find(|entry| entry.token == token);
        found.map(|entry| entry.question.clone())
    }

    async fn listen(self: &Arc<Self>) -> Option<String> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.ok()?;
        let authority = listener.local_addr().ok()?.to_string();
        let pages = Router::new()
            .route("/question/{token}", get(show).post(answer))
            .layer(DefaultBodyLimit::max(MAX_ANSWER))
            .with_state(self.clone());
        tokio::spawn(async move {
            // The server ends with the process.
            let _ = axum::serve(listener, pages).await;
        });
        Some(authority)
    }

    /// Returns true if a request is for this server and was not sent by another origin.
    fn is_own(&self, headers: &HeaderMap) -> bool {
        let Some(Some(authority)) = self.authority.get() else {
            return false;
        };
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let origin = format!("http://{authority}");
        text(HOST) == Some(authority) && text(ORIGIN).is_none_or(|from| from == origin)
    }
}

fn address(authority: &str, token: &str) -> String {
    format!("http://{authority}/question/{token}")
}

async fn show(
    State(pages): State<Arc<Pages>>,
    Path(token): Path<String>,
    headers: HeaderMap,
) -> Response {
    if !pages.is_own(&headers) {
        return page(
            StatusCode::FORBIDDEN,
            &html::notice("This is another server's request."),
        );
    }
    let Some((question, answers)) = pages.question(&token).zip(pages.answers.upgrade()) else {
        return page(StatusCode::NOT_FOUND, &html::notice(&html::gone()));
    };
    let run = question.run.clone();
    let plan = blocking(&answers, move |answers| answers.plan(&run)).await;
    let plan = plan.unwrap_or_default();
    page(StatusCode::OK, &html::question(&question, &plan))
}

async fn answer(
    State(pages): State<Arc<Pages>>,
    Path(token): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    // A browser always sends an origin with a form, so a request without one is not from a page.
    if !pages.is_own(&headers) {
        return page(
            StatusCode::FORBIDDEN,
            &html::notice("This is another server's request."),
        );
    }
    let Some((question, answers)) = pages.question(&token).zip(pages.answers.upgrade()) else {
        return page(StatusCode::NOT_FOUND, &html::notice(&html::gone()));
    };
    let answered = match form::read(&question, &body) {
        Ok(value) => {
            let (question, answer) = (question.clone(), AskOutcome::Answer(value));
            let accepted =
                move |answers: &Arc<dyn Answers>| answers.accept(&question, answer, "page");
            blocking(&answers, accepted).await
        }
        Err(why) => Err(why),
    };
    match answered {
        Ok(()) => {
            pages.keep(&question.run, |path| *path != *question.path);
            page(StatusCode::OK, &html::notice(html::TAKEN))
        }
        Err(why) => page(
            StatusCode::UNPROCESSABLE_ENTITY,
            &html::refusal(&question, &why),
        ),
    }
}

fn page(status: StatusCode, html: &str) -> Response {
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_FRAME_OPTIONS, "DENY"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    (status, headers, html.to_owned()).into_response()
}
