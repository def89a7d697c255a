//! Runs that this process drives: new ones, and those that another process has begun.

use std::sync::Arc;

use planrun_lang::diag::closest;
use planrun_lang::protocol::RunState;
use planrun_lang::secrets::Redactor;
use planrun_lang::sema::Plan;
use planrun_lang::types::{ErrorClass, Validation};
use planrun_tools::tools::{StandIn, kill_left_by};
use tokio_util::sync::CancellationToken;

use super::base::Base;
use super::job::Job;
use super::next_calls::Resumption;
use super::pinned::PinnedBase;
use super::recorded::RecordedRun;
use super::replay::replay;
use super::result_file::ResultFile;
use super::run_id::new_run_id;
use super::{CheckedPlan, Error, Inputs, Journal, Planrun};
use crate::driver::{Answering, Observer};
use crate::journal::store::{Created, Lease, RunRow};
use crate::journal::{MemoryCache, ResultCache};
use planrun_core::journal::{MAX_CRASHES, ReplayState, Summary};
use planrun_core::run::{Approval, Copies, Interruption, Outcome, Program, Until};

/// How a new run is started.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent options")]
pub struct RunOptions {
    /// Id of the run; generated if there is none. If a run with this id and the same plan and inputs exists, it is
    /// resumed.
    pub id: Option<String>,
    /// Whether the run ends with its process, and nothing is recorded.
    pub ephemeral: bool,
    /// Whether app tools answer from their `mock:` sections, over loopback.
    pub mock: bool,
    pub max_steps: Option<u64>,
    /// Disables `recover` arms that only replace a result by a placeholder.
    pub strict: bool,
    /// The approval that a person has to give before the run does anything; until then it is paused.
    pub approval: Option<Approval>,
    /// Another run, whose results are copied where possible.
    pub base: Option<Base>,
    /// A step that is executed again, with everything below it in the text, although the base has executed it.
    pub from: Option<String>,
    /// Whether effects of the base may be repeated.
    pub repeats_effects: bool,
    /// How this process drives the run.
    pub drive: ResumeOptions,
}

/// How a process drives a run.
#[derive(Clone)]
pub struct ResumeOptions {
    /// How the questions of the plan are answered.
    pub answering: Answering,
    /// Whether steps that are parked after a failure are retried.
    pub retries: bool,
    /// Whether a run is resumed even if it was paused because processes died while driving it.
    pub again: bool,
    /// The step of the plan up to which this process drives the run.
    pub until: Option<String>,
    /// Answers in place of the tools.
    pub stand_in: Option<Arc<dyn StandIn>>,
    /// Cancelled when the process has to suspend the run.
    pub cancel: CancellationToken,
}

impl Default for ResumeOptions {
    fn default() -> Self {
        let (answering, cancel) = (Answering::default(), CancellationToken::new());
        Self {
            answering,
            retries: true,
            again: false,
            until: None,
            stand_in: None,
            cancel,
        }
    }
}

/// A run that this process can drive and has not driven yet. It holds the lease of the run, unless the run has ended or
/// is not recorded.
pub struct Run {
    id: String,
    planrun: Planrun,
    work: Work,
    /// Where the result is expected if the run is a deferred call; `None` if it is not.
    result: Option<ResultFile>,
}

enum Work {
    /// With the journal of the run; `None` if the run ends with its process.
    Job(Box<Job>, Option<Journal>),
    Ended(Box<RecordedRun>),
}

/// The outcome of a run that this process has driven.
pub struct Driven {
    pub outcome: Outcome,
    /// Credentials of the tools and secrets of the run, for redaction.
    pub secrets: Redactor,
    /// Why the result file of a deferred call could not be updated, if it could not. The run is not affected.
    pub unwritten: Option<Error>,
}

impl Planrun {
    /// Starts a run, which is recorded before anything of it happens. If a run with the same id, plan and inputs
    /// exists, it is resumed.
    ///
    /// # Errors
    /// Returns an error if the plan could not complete, if effects would be repeated without consent, or if the journal
    /// cannot record the run.
    pub fn start(
        &self,
        plan: &CheckedPlan,
        inputs: Inputs,
        options: RunOptions,
    ) -> Result<Run, Error> {
        if options.drive.until.is_none() {
            plan.ready()?;
        }
        let existing = options.id.clone().filter(|id| is_recorded(self, id));
        let ephemeral = options.ephemeral;
        let run = options.id.clone();
        let run = run.unwrap_or_else(|| new_run_id(&**self.host()));
        let mut job = new_job(plan, inputs, &run, options)?;
        let missing = || job.missing().filter(|_| existing.is_none());
        if let Some(why) = job.obstacle().or_else(missing) {
            return Err(Error::Unusable(why));
        }
        if ephemeral {
            if let Some(id) = existing {
                // Its calls would have the idempotency keys of the recorded run, with arguments of their own.
                return Err(Error::Invalid(format!(
                    "the run `{id}` is recorded, so a run without a journal needs another id"
                )));
            }
            return Ok(Run {
                id: run,
                planrun: self.clone(),
                result: None,
                work: Work::Job(Box::new(job), None),
            });
        }
        let journal = self.shared.journal_for_new_runs()?;
        match job.create(&journal, plan)? {
            Created::New(lease) => job.log = Some(lease),
            Created::Exists(row) => {
                let run = self.resume_row(journal.clone(), *row, job.drive)?;
                return run.possible(&journal);
            }
        }
        Ok(Run {
            id: run,
            planrun: self.clone(),
            // A deferred call is handed over to another process, which resumes it.
            result: None,
            work: Work::Job(Box::new(job), Some(journal)),
        })
    }

    /// Resumes a run. If it has ended, [`Run::drive`] returns its outcome.
    ///
    /// # Errors
    /// Returns an error if there is no such run, if another process drives it, or if its record cannot be used;
    /// [`Error::Stuck`] if processes died repeatedly while driving it, unless `again` is set.
    pub fn resume(&self, run: &str, options: ResumeOptions) -> Result<Run, Error> {
        let journal = self.shared.journal_of(run)?;
        let row = journal.run(run)?;
        let run = self.resume_row(journal.clone(), row, options)?;
        run.possible(&journal)
    }

    /// Retries the failed steps of a run. Changes of theirs that were not undone are not made again. In a run that
    /// has ended, the verifications and the `undo`s that have failed are repeated.
    ///
    /// # Errors
    /// As for [`Self::resume`]; [`Error::Ended`] if the run has ended and nothing of it can be retried.
    pub fn retry(&self, run: &str, options: ResumeOptions) -> Result<Run, Error> {
        let journal = self.shared.journal_of(run)?;
        let row = journal.run(run)?;
        let unverified = ErrorClass::Validation(Validation::Verify).to_string();
        let verifies = row.error.as_ref() == Some(&unverified);
        if row.ended && !verifies && replay(&journal, &row.run)?.retryable.is_empty() {
            return Err(Error::Ended {
                state: row.state_name(),
                run: row.info.run,
            });
        }
        let run = self.drive_row(journal.clone(), row, options)?;
        run.possible(&journal)
    }

    pub(super) fn resume_row(
        &self,
        journal: Journal,
        row: RunRow,
        options: ResumeOptions,
    ) -> Result<Run, Error> {
        if row.ended {
            let replay = replay(&journal, &row.run)?;
            let recorded = self.recorded_as(journal, row, replay)?;
            return Ok(Run {
                id: recorded.row.run.clone(),
                planrun: self.clone(),
                result: Some(ResultFile::of(self, &recorded.row.run)),
                work: Work::Ended(Box::new(recorded)),
            });
        }
        self.drive_row(journal, row, options)
    }

    fn drive_row(&self, journal: Journal, row: RunRow, drive: ResumeOptions) -> Result<Run, Error> {
        let mut lease = journal.drive(&row.run)?;
        if journal.run(&row.run)?.ended != row.ended {
            // Another process has ended it since the row was read, and has released it.
            drop(lease);
            journal.wait_released(&row.run);
            return Err(Error::Changed { run: row.info.run });
        }
        if let Some(dead) = &row.holder {
            // A call that its process has left running must have ended before it is verified or sent again.
            kill_left_by(dead.process);
        }
        let replay = replay(&journal, &row.run)?;
        if replay.crashes() >= MAX_CRASHES && !drive.again {
            return Err(pause(lease, row, &replay)?);
        }
        let has_died = row.holder.is_some();
        let mut recorded = self.recorded_as(journal, row, replay)?;
        let mut job = Job::pinned(&recorded)?;
        if has_died && recorded.replay.last == 0 {
            recorded.begin(&mut *lease, drive.until.as_deref())?;
        }
        job.log = Some(lease);
        job.setup.until = drive
            .until
            .as_deref()
            .map(|step| until_step(&job.program, step).map(Box::new))
            .transpose()?;
        job.setup.replay = Some(recorded.replay).filter(|replay| replay.last > 0);
        (job.setup.retries, job.drive) = (drive.retries, drive);
        Ok(Run {
            id: job.setup.run_id.to_string(),
            planrun: self.clone(),
            result: Some(ResultFile::of(self, &job.setup.run_id)),
            work: Work::Job(Box::new(job), Some(recorded.journal)),
        })
    }
}

/// Returns the job of a new run.
fn new_job(
    plan: &CheckedPlan,
    inputs: Inputs,
    run: &str,
    options: RunOptions,
) -> Result<Job, Error> {
    let mut job = Job::new(plan, inputs, run);
    if let Some(step) = &options.drive.until {
        job.setup.until = Some(Box::new(until_step(&job.program, step)?));
    }
    if let Some(base) = &options.base {
        job.setup.copies = Some(copies(base, &job.program, &options)?);
        job.base = Some(PinnedBase {
            run: base.run().to_owned(),
            from: options.from.clone(),
            repeats_effects: options.repeats_effects,
        });
    }
    job.mock = options.mock;
    job.setup.defaults.max_steps = options.max_steps;
    job.setup.defaults.strict = options.strict;
    job.setup.approval = options.approval;
    job.drive = options.drive;
    Ok(job)
}

/// Pauses a run whose processes keep dying. Its events already record each death, so only its row in lists changes.
fn pause(mut lease: Box<dyn Lease>, row: RunRow, replay: &ReplayState) -> Result<Error, Error> {
    let (deaths, event) = (replay.crashes(), replay.last);
    let note = Some(format!("died {deaths} times at event {event}"));
    let (steps_done, steps_all) = (row.steps_done, row.steps_all.unwrap_or(0));
    let summary = Summary {
        state: RunState::Paused,
        wake: None,
        error: None,
        note,
        steps_done,
        steps_all,
    };
    lease.summarize(&summary);
    lease.close()?;
    Ok(Error::Stuck {
        run: row.info.run,
        deaths,
        event,
    })
}

/// Returns the results that a new run copies from its base. Effects are not repeated without consent.
fn copies(base: &Base, program: &Program, options: &RunOptions) -> Result<Copies, Error> {
    let (copies, repeated) = base.copies(program, options.from.as_deref())?;
    if repeated.is_empty() || options.repeats_effects {
        return Ok(Copies {
            repeats_effects: options.repeats_effects,
            ..copies
        });
    }
    Err(Error::RepeatsEffects {
        run: copies.run.to_string(),
        steps: repeated,
    })
}

/// Returns the step up to which a run is driven.
///
/// # Errors
/// Returns an error if the plan itself has no such step.
pub fn until_step(program: &Program, step: &str) -> Result<Until, Error> {
    Until::new(program, step).ok_or_else(|| {
        let hint = match closest(step, Until::steps(program)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "its own steps are {}",
                Until::steps(program).collect::<Vec<_>>().join(", ")
            ),
        };
        let (plan, step) = (program.plan.name.to_string(), step.to_owned());
        Error::UnknownStep {
            plan,
            step,
            purpose: " to run up to",
            hint,
        }
    })
}

impl Run {
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Refuses a run whose plan makes a call that is impossible here, because the run would fail at that call.
    fn possible(mut self, journal: &Journal) -> Result<Self, Error> {
        let why = match &mut self.work {
            Work::Job(job, _) => match &job.setup.replay {
                Some(replay) if !replay.retryable.is_empty() => job.undo_obstacle(replay),
                replay => {
                    let answers = &job.drive.answering.answers;
                    let now = job.workspace.host.now();
                    job.resumption = replay.as_ref().map_or(Resumption::Waiting, |replay| {
                        // Without its messages, the run is checked as one that still waits.
                        let messages = journal.inbox(&self.id).unwrap_or_default();
                        Resumption::of(replay, &messages, answers, now)
                    });
                    let known = job.obstacle().or_else(|| job.unanswered());
                    known.or_else(|| job.missing())
                }
            },
            Work::Ended(_) => None,
        };
        let Some(why) = why else {
            return Ok(self);
        };
        let id = self.id;
        drop(self.work);
        // After this error, other processes can drive the run at once.
        journal.wait_released(&id);
        Err(cannot_continue(&id, &why))
    }

    /// Releases the run without driving it, and returns its id. Then another process can resume it.
    #[must_use]
    pub fn release(self) -> String {
        let Self { id, work, .. } = self;
        if let Work::Job(job, Some(journal)) = work {
            drop(job);
            journal.wait_released(&id);
        }
        id
    }

    /// Returns true if the run has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(self.work, Work::Ended(_))
    }

    /// Returns its plan; `None` if it has ended.
    #[must_use]
    pub fn plan(&self) -> Option<&Plan> {
        match &self.work {
            Work::Job(job, _) => Some(&job.program.plan),
            Work::Ended(_) => None,
        }
    }

    /// Returns true if it resumes a run that another process has begun.
    #[must_use]
    pub fn continues(&self) -> bool {
        matches!(&self.work, Work::Job(job, _) if job.setup.replay.is_some())
    }

    /// Returns true if this process can ask people.
    #[must_use]
    pub fn asks_people(&self) -> bool {
        matches!(&self.work, Work::Job(job, _) if job.drive.answering.asker.is_some())
    }

    /// Returns true if another process can resume it after this one.
    #[must_use]
    pub fn is_durable(&self) -> bool {
        matches!(&self.work, Work::Job(_, Some(_)))
    }

    /// Drives the run until it ends or is suspended, and releases it. If the run had already ended, returns its
    /// recorded outcome. If the run is a deferred call, its result file is updated.
    ///
    /// To suspend a run, cancel [`ResumeOptions::cancel`] and wait for the outcome. Dropping the future instead also
    /// tells every call in flight to stop, and leaves the run as if its process had died. In the background, the lease
    /// of the run is kept for the few seconds until its effects in flight have ended, so that none of them is repeated
    /// while it is still happening; until then [`Planrun::resume`] returns an error of the kind
    /// [`ErrorKind::Busy`](super::ErrorKind::Busy).
    ///
    /// # Errors
    /// Returns an error if the mock server cannot be started, if a resumed run needs a server next that cannot be used,
    /// or if the record of the run cannot be used.
    pub async fn drive(mut self, observer: &mut dyn Observer) -> Result<Driven, Error> {
        let (result, planrun, id) = (self.result.take(), self.planrun.clone(), self.id.clone());
        let drive = match &self.work {
            Work::Job(job, _) => job.drive.clone(),
            Work::Ended(_) => ResumeOptions::default(),
        };
        let mut driven = self.drive_once(observer).await?;
        while driven.is_behind() {
            let Ok(run) = planrun.resume(&id, drive.after(&driven.outcome)) else {
                // Another process was faster, or the run cannot continue here.
                break;
            };
            let Ok(next) = run.drive_once(observer).await else {
                break;
            };
            let secrets = std::mem::replace(&mut driven, next).secrets;
            driven.secrets.join(&secrets);
        }
        // Only now: a reader of the file may answer and resume the run at once.
        Ok(driven.reported(result).await)
    }

    /// As [`Self::drive`], without taking up messages that come too late, and without a result file.
    async fn drive_once(self, observer: &mut dyn Observer) -> Result<Driven, Error> {
        match self.work {
            Work::Job(mut job, journal) => {
                if let (None, Some(base)) = (&job.setup.copies, &job.base) {
                    // A replay of the base is a large future.
                    let copies = Base::pinned_copies(&self.planrun, base, &job.program);
                    job.setup.copies = Some(Box::pin(copies).await?);
                }
                let cache: Arc<dyn ResultCache> = match &journal {
                    Some(journal) if !job.is_simulated() => journal.cache(),
                    Some(_) | None => Arc::new(MemoryCache::default()),
                };
                let unusable = match job.resumption {
                    Resumption::None => None,
                    Resumption::Waiting | Resumption::Woken => job.connect().await,
                };
                let driven = if let Some(why) = unusable {
                    drop(job);
                    Err(cannot_continue(&self.id, &why))
                } else {
                    // Its future is large, and callers hold it within their own futures.
                    Box::pin(job.execute(observer, cache)).await
                };
                if let (Err(_), Some(journal)) = (&driven, journal) {
                    // The run was not driven, and its dropped lease is being released. A failure to wait for that does
                    // not affect what was written.
                    let wait = move || journal.wait_released(&self.id);
                    let _ = tokio::task::spawn_blocking(wait).await;
                }
                driven
            }
            Work::Ended(recorded) => Ok(Driven {
                outcome: recorded.outcome().await?,
                secrets: Redactor::default(),
                unwritten: None,
            }),
        }
    }
}

fn is_recorded(planrun: &Planrun, run: &str) -> bool {
    let journal = planrun.shared.journal();
    journal.is_ok_and(|journal| journal.run(run).is_ok())
}

fn cannot_continue(run: &str, why: &str) -> Error {
    Error::Unusable(format!("the run `{run}` cannot continue here: {why}"))
}

impl ResumeOptions {
    /// Returns how a process takes up a run again that it has just suspended with this outcome, for messages that have
    /// arrived meanwhile. What has failed is not retried.
    fn after(&self, outcome: &Outcome) -> Self {
        let mut next = Self {
            retries: false,
            again: false,
            ..self.clone()
        };
        let answers = &mut next.answering.answers;
        answers.retain(|given| outcome.unused_answers.contains(&given.path));
        next
    }
}

impl Driven {
    /// Returns true if the run was suspended while messages arrived that it can take, and nobody wants it to stop.
    fn is_behind(&self) -> bool {
        let waits = match &self.outcome.interruption {
            Some(Interruption::Waiting { .. } | Interruption::Failed(_)) => true,
            Some(Interruption::Asked | Interruption::Reached | Interruption::Journal(_)) | None => {
                false
            }
        };
        waits && self.outcome.is_behind
    }

    /// Updates the result file if there is one, which waits for the disk.
    async fn reported(self, file: Option<ResultFile>) -> Self {
        let Some(file) = file else { return self };
        let written = tokio::task::spawn_blocking(move || {
            let unwritten = file.update(&self.outcome).err();
            Self { unwritten, ..self }
        });
        match written.await {
            Ok(driven) => driven,
            // The closure does not panic, and nothing aborts it; there would be no outcome to return.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}
