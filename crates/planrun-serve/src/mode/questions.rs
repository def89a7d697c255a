//! Questions of runs: they are put to the person at a client by one way after the other, and what was said is taken.

use std::sync::Arc;

use planrun_core::journal::Given;
use planrun_lang::diag::render::visible_line;
use planrun_runs::runs::{Addressee, Error};
use planrun_tools::host::runtime_now;
use serde_json::Value as Json;
use tokio::time::{Instant, sleep, sleep_until};

use super::run::{Attendance, POLL_INTERVAL, Told};
use super::{Call, PlanMode, Reply, definitions};
use crate::asking::{AskOutcome, Asks, Client, PutQuestion, Way};
use crate::tokens::cut;

/// Bytes of the name of a client.
const CLIENT_BYTES: usize = 40;

/// A question with which a client comes back that asks by making its call again.
pub struct Asked<'a> {
    pub run: &'a str,
    pub path: &'a str,
    /// Whether it was put as the address of a page, and not as a form.
    pub by_page: bool,
}

impl PlanMode {
    /// The first way in which a client puts a question: as a form of its own, or else as the address of a page.
    async fn first_way(&self, question: &PutQuestion, client: &dyn Client) -> Option<Way> {
        if client.has_form(question) {
            return Some(Way::Form);
        }
        self.page_way(question, client).await
    }

    /// The address of a page, where the client opens such.
    async fn page_way(&self, question: &PutQuestion, client: &dyn Client) -> Option<Way> {
        if client.opens_pages() {
            self.pages.of(question).await.map(Way::Page)
        } else {
            None
        }
    }

    /// What a client is answered that asks by making its call again.
    async fn asked(&self, question: PutQuestion, way: Option<Way>) -> Reply {
        match way {
            Some(way) => Reply::Asks(Box::new(question), way),
            None => self.unanswered(&question).await,
        }
    }

    /// Puts a question that this call has not put yet, or waits a moment for the answer; what the call is answered with
    /// where it does not wait any more.
    pub(super) async fn put(
        self: &Arc<Self>,
        question: PutQuestion,
        client: &Arc<dyn Client>,
        how: Attendance,
        put: &mut Vec<Arc<str>>,
    ) -> Option<Reply> {
        let (run, path) = (&question.run, &question.path);
        let is_read = self.pages.is_open(run, path);
        let is_new = !is_read && !put.contains(path);
        match client.asks() {
            Asks::Again if is_new => {
                let way = self.first_way(&question, &**client).await;
                Some(self.asked(question, way).await)
            }
            Asks::Now if is_new && self.pages.puts(run, path) => {
                put.push(path.clone());
                self.put_now(&question, client, how.until).await;
                None
            }
            _ if (how.is_patient || is_read) && runtime_now() < how.until => {
                sleep(POLL_INTERVAL).await;
                None
            }
            Asks::Now | Asks::Again | Asks::Never => Some(self.unanswered(&question).await),
        }
    }

    /// Puts a question to whoever sits at a client, until the time is over; an answer that comes later is taken, too.
    async fn put_now(
        self: &Arc<Self>,
        question: &PutQuestion,
        client: &Arc<dyn Client>,
        until: Instant,
    ) {
        let (mode, client, question) = (self.clone(), client.clone(), question.clone());
        let asking = tokio::spawn(async move {
            let is_open = mode.ask(&question, &*client).await;
            mode.pages.put_back(&question.run, &question.path);
            if is_open {
                tokio::spawn(async move {
                    mode.pages.gone(&question.run, &question.path).await;
                    client.page_is_done(&question).await;
                });
            }
        });
        tokio::select! {
            _ = asking => {}
            () = sleep_until(until) => {}
        }
    }

    /// Asks by one way after the other until a person has said something; whether that one has opened the page.
    async fn ask(&self, question: &PutQuestion, client: &dyn Client) -> bool {
        let mut way = self.first_way(question, client).await;
        while let Some(by) = way {
            let said = client.ask(question, &by).await;
            if said == AskOutcome::Opened {
                self.pages.opened(&question.run, &question.path);
                return true;
            }
            if said.is_of_a_person() {
                // One that is not taken leaves the question open.
                let _ = self.take(question, said, &channel(client));
                return false;
            }
            way = match by {
                Way::Form => self.page_way(question, client).await,
                Way::Page(_) => None,
            };
        }
        false
    }

    /// Takes what somebody has said to a question, and lets the run go on.
    pub(super) fn take(
        &self,
        question: &PutQuestion,
        said: AskOutcome,
        channel: &str,
    ) -> Result<(), Error> {
        let value = match said {
            AskOutcome::Answer(value) => value,
            AskOutcome::Declined(_) => match question.refusal() {
                Some(refusal) => refusal,
                // A form that nobody wants to fill in stays open.
                None => return Ok(()),
            },
            AskOutcome::Opened | AskOutcome::Nothing => return Ok(()),
        };
        let by = match &question.question.by {
            Some(role) => format!("{role}:{channel}"),
            None => channel.to_owned(),
        };
        let given = Given {
            path: question.path.clone(),
            value,
            by: Some(by.as_str().into()),
            note: None,
        };
        self.planrun
            .answer(Addressee::Run(&question.run), &[given])?;
        // Where another process drives it, that one hears of the answer.
        let _ = self.drives.resume(&question.run);
        Ok(())
    }

    /// Goes on with a call whose client has asked somebody; `said` reads what came of the question, which is put once more
    /// where nothing came.
    pub async fn answered(
        self: &Arc<Self>,
        call: Call<'_>,
        asked: Asked<'_>,
        said: &(dyn Fn(&PutQuestion) -> Option<AskOutcome> + Sync),
    ) -> Reply {
        let Asked { run, path, by_page } = asked;
        let client = call.client;
        let is_own = definitions().iter().any(|one| one.name == call.tool);
        let max_tokens = call.arguments.get("max_tokens").and_then(Json::as_u64);
        let told = if is_own {
            Told::Report(max_tokens.and_then(|max| usize::try_from(max).ok()))
        } else {
            Told::Reply
        };
        let open = match self.planrun.questions(run) {
            Ok(open) => open.questions().into_iter().find(|(own, _)| **own == *path),
            Err(error) => return error.into(),
        };
        if let Some((path, question)) = open {
            let question = PutQuestion::new(run, &path, Arc::new(question));
            match said(&question) {
                None if by_page => {
                    let way = self.page_way(&question, &*client).await;
                    return self.asked(question, way).await;
                }
                None => {
                    let way = self.first_way(&question, &*client).await;
                    return self.asked(question, way).await;
                }
                // What comes of it is waited for with the run.
                Some(AskOutcome::Opened) => self.pages.opened(run, &path),
                Some(said) if said.is_of_a_person() => {
                    if let Err(error) = self.take(&question, said, &channel(&*client)) {
                        return Reply::Failed(format!(
                            "The answer was not taken: {error}. `planrun runs cancel {run}` stops the run."
                        ));
                    }
                }
                Some(_) if by_page => return self.unanswered(&question).await,
                Some(_) => {
                    let way = self.page_way(&question, &*client).await;
                    return self.asked(question, way).await;
                }
            }
        }
        let reply = self.attend(run, client, Attendance::of_call(told)).await;
        reply.unwrap_or_else(|failed| failed)
    }

    /// What a model is told of a question that its client cannot put to anybody, or that somebody reads just now. The
    /// address of a page that a client has shown is the person's business.
    async fn unanswered(&self, question: &PutQuestion) -> Reply {
        let run = &question.run;
        let is_open = self.pages.is_open(run, &question.path);
        let page = if is_open {
            None
        } else {
            self.pages.of(question).await
        };
        let place = match &page {
            Some(address) => format!(" at {address} or"),
            None if is_open => " on the page that they have opened or".to_owned(),
            None => String::new(),
        };
        let text = format!(
            "run {run} waits for the person, and goes on by itself after the answer. Tell the person to answer{place} with `{}`. \
             Then runs(id: \"{run}\", wait_s: 45). The question:\n{}",
            question.command(),
            question.text
        );
        Reply::Waits {
            text,
            question: Box::new(question.clone()),
            page,
        }
    }
}

/// By which way an answer came.
fn channel(client: &dyn Client) -> String {
    let name = client.name();
    format!("elicitation:{}", cut(&visible_line(&name), CLIENT_BYTES))
}
