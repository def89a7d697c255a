//! Questions of runs: asks the person through the client by one channel after the other, and records the answer.

use std::sync::Arc;

use planrun_core::journal::SubmittedAnswer;
use planrun_lang::diag::render::{command, visible_line};
use planrun_runs::runs::{Addressee, Error};
use planrun_tools::host::runtime_now;
use serde_json::Value as Json;
use tokio::time::{Instant, sleep, sleep_until};

use super::run::{POLL_INTERVAL, ReplyFormat, WaitOptions};
use super::{Call, PlanMode, Reply, definitions};
use crate::asking::{AskChannel, AskMode, AskOutcome, Client, PendingQuestion};
use crate::blocking::blocking;
use crate::tokens::cut;

/// Maximum size of a client's name, in bytes.
const CLIENT_BYTES: usize = 40;

/// A question that a client answers by repeating its call.
pub struct AskedQuestion<'a> {
    pub run: &'a str,
    pub path: &'a str,
    /// Whether the client got the address of a page instead of a form.
    pub by_page: bool,
}

impl PlanMode {
    /// Returns the first channel for a question at a client: its own form, otherwise the address of a page.
    async fn first_channel(
        &self,
        question: &PendingQuestion,
        client: &dyn Client,
    ) -> Option<AskChannel> {
        if client.supports_form(question) {
            return Some(AskChannel::Form);
        }
        self.page_channel(question, client).await
    }

    /// Returns the address of a page, if the client can open pages.
    async fn page_channel(
        &self,
        question: &PendingQuestion,
        client: &dyn Client,
    ) -> Option<AskChannel> {
        if client.can_open_pages() {
            self.pages.address_of(question).await.map(AskChannel::Page)
        } else {
            None
        }
    }

    /// Returns the reply to a client that asks by repeating its call.
    async fn ask_again(&self, question: PendingQuestion, channel: Option<AskChannel>) -> Reply {
        match channel {
            Some(channel) => Reply::Asks(Box::new(question), channel),
            None => self.unanswered(&question).await,
        }
    }

    /// Asks a question that this call has not asked yet, or waits a moment for the answer. Returns the reply if the
    /// call does not wait any longer.
    pub(super) async fn ask_or_wait(
        self: &Arc<Self>,
        question: PendingQuestion,
        client: &Arc<dyn Client>,
        options: WaitOptions,
        asked: &mut Vec<Arc<str>>,
    ) -> Option<Reply> {
        let (run, path) = (&question.run, &question.path);
        let is_read = self.pages.is_open(run, path);
        let is_new = !is_read && !asked.contains(path);
        match client.ask_mode() {
            AskMode::Again if is_new => {
                let channel = self.first_channel(&question, &**client).await;
                Some(self.ask_again(question, channel).await)
            }
            AskMode::Now if is_new && self.pages.begin_asking(run, path) => {
                asked.push(path.clone());
                self.ask_now(&question, client, options.until).await;
                None
            }
            _ if (options.is_patient || is_read) && runtime_now() < options.until => {
                sleep(POLL_INTERVAL).await;
                None
            }
            AskMode::Now | AskMode::Again | AskMode::Never => {
                Some(self.unanswered(&question).await)
            }
        }
    }

    /// Asks the client's user until the time is over. A later answer is accepted too.
    async fn ask_now(
        self: &Arc<Self>,
        question: &PendingQuestion,
        client: &Arc<dyn Client>,
        until: Instant,
    ) {
        let (mode, client, question) = (self.clone(), client.clone(), question.clone());
        let asking = tokio::spawn(async move {
            let is_open = mode.ask(&question, &*client).await;
            mode.pages.end_asking(&question.run, &question.path);
            if is_open {
                tokio::spawn(async move {
                    mode.pages.closed(&question.run, &question.path).await;
                    client.page_done(&question).await;
                });
            }
        });
        tokio::select! {
            _ = asking => {}
            () = sleep_until(until) => {}
        }
    }

    /// Asks by one channel after the other until a person reacts. Returns true if the person has opened the page.
    async fn ask(self: &Arc<Self>, question: &PendingQuestion, client: &dyn Client) -> bool {
        let mut next = self.first_channel(question, client).await;
        while let Some(current) = next {
            let outcome = client.ask(question, &current).await;
            if outcome == AskOutcome::Opened {
                self.pages.mark_opened(&question.run, &question.path);
                return true;
            }
            if outcome.is_from_person() {
                // If the answer is refused, the question stays open.
                let (question, channel) = (question.clone(), channel(client));
                let accepted = move |mode: &Arc<Self>| mode.accept(&question, outcome, &channel);
                let _ = blocking(self, accepted).await;
                return false;
            }
            next = match current {
                AskChannel::Form => self.page_channel(question, client).await,
                AskChannel::Page(_) => None,
            };
        }
        false
    }

    /// Accepts the outcome of a question and resumes the run.
    pub(super) fn accept(
        &self,
        question: &PendingQuestion,
        outcome: AskOutcome,
        channel: &str,
    ) -> Result<(), Error> {
        let value = match outcome {
            AskOutcome::Answer(value) => value,
            AskOutcome::Declined(_) => match question.refusal() {
                Some(refusal) => refusal,
                // A declined form stays open.
                None => return Ok(()),
            },
            AskOutcome::Opened | AskOutcome::Nothing => return Ok(()),
        };
        let by = match &question.question.by {
            Some(role) => format!("{role}:{channel}"),
            None => channel.to_owned(),
        };
        let given = SubmittedAnswer {
            path: question.path.clone(),
            value,
            by: Some(by.as_str().into()),
            note: None,
        };
        self.planrun
            .answer(Addressee::Run(&question.run), &[given])?;
        // If another process drives the run, that process receives the answer.
        let _ = self.driven.resume(&question.run);
        Ok(())
    }

    /// Continues a call whose client has asked a person. `outcome_of` returns the outcome of the question; if there is
    /// none, the question is asked again.
    pub async fn resume_call(
        self: &Arc<Self>,
        call: Call<'_>,
        asked: AskedQuestion<'_>,
        outcome_of: &(dyn Fn(&PendingQuestion) -> Option<AskOutcome> + Sync),
    ) -> Reply {
        let AskedQuestion { run, path, by_page } = asked;
        let client = call.client;
        let is_own = definitions().iter().any(|one| one.name == call.tool);
        let max_tokens = call.arguments.get("max_tokens").and_then(Json::as_u64);
        let format = if is_own {
            ReplyFormat::Report(max_tokens.and_then(|max| usize::try_from(max).ok()))
        } else {
            ReplyFormat::Reply
        };
        let id = run.to_owned();
        let open = match blocking(self, move |mode| mode.planrun.questions(&id)).await {
            Ok(open) => open.questions().into_iter().find(|(own, _)| **own == *path),
            Err(error) => return error.into(),
        };
        if let Some((path, question)) = open {
            let question = PendingQuestion::new(run, &path, Arc::new(question));
            match outcome_of(&question) {
                None if by_page => {
                    let channel = self.page_channel(&question, &*client).await;
                    return self.ask_again(question, channel).await;
                }
                None => {
                    let channel = self.first_channel(&question, &*client).await;
                    return self.ask_again(question, channel).await;
                }
                // The answer on the page is waited for together with the run.
                Some(AskOutcome::Opened) => self.pages.mark_opened(run, &path),
                Some(outcome) if outcome.is_from_person() => {
                    let channel = channel(&*client);
                    let accepted =
                        blocking(self, move |mode| mode.accept(&question, outcome, &channel));
                    if let Err(error) = accepted.await {
                        return Reply::Failed(format!(
                            "The answer was rejected: {error}. `{}` cancels the run.",
                            command(&format!("runs cancel {run}"))
                        ));
                    }
                }
                Some(_) if by_page => return self.unanswered(&question).await,
                Some(_) => {
                    let channel = self.page_channel(&question, &*client).await;
                    return self.ask_again(question, channel).await;
                }
            }
        }
        let reply = self
            .wait_for_run(run, client, WaitOptions::of_call(format))
            .await;
        reply.unwrap_or_else(|failed| failed)
    }

    /// Returns the reply for a question that the client cannot ask, or that the person is reading now. In the latter
    /// case the address of the page is left out, because the person already has it.
    pub(super) async fn unanswered(&self, question: &PendingQuestion) -> Reply {
        let run = &question.run;
        let is_open = self.pages.is_open(run, &question.path);
        let page = if is_open {
            None
        } else {
            self.pages.address_of(question).await
        };
        let place = match &page {
            Some(address) => format!(" at {address} or"),
            None if is_open => " on the page that they have opened or".to_owned(),
            None => String::new(),
        };
        let text = format!(
            "run {run} waits for the person, and resumes by itself after the answer. Tell the person to answer{place} with \
             `{}`. Then runs(id: \"{run}\", wait_s: 45). The question:\n{}",
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

/// Returns the channel of an answer for the journal.
fn channel(client: &dyn Client) -> String {
    let name = client.name();
    format!("elicitation:{}", cut(&visible_line(&name), CLIENT_BYTES))
}
