//! A task of an agent, put together from what the agent tells of it.

use planrun_lang::call::CallError;
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ErrorClass, Validation};

use super::wire::{Artifact, ArtifactUpdate, Message, State, Status, Task, Update};
use crate::tools::http::MAX_BODY_BYTES;

/// What is known of the call: the task, or the message that the agent has answered with in its place.
#[derive(Default)]
pub(super) struct Known {
    /// Empty before there is a task.
    pub id: String,
    pub context: String,
    pub status: Status,
    pub artifacts: Vec<Artifact>,
    /// How much the artifacts took on their way.
    bytes: usize,
    pub answer: Option<Message>,
    /// The question that was answered, which may still stand in what the agent tells.
    answered: Option<String>,
}

impl Known {
    /// The task with this id, of which nothing else is known.
    pub(super) fn of(id: &str, context: &str) -> Self {
        Self {
            id: id.to_owned(),
            context: context.to_owned(),
            ..Self::default()
        }
    }

    /// Whether there is something to do: it has ended, or wants something.
    pub(super) fn is_settled(&self) -> bool {
        if self.answer.is_some() {
            return true;
        }
        match self.status.state {
            State::Completed | State::Failed | State::Cancelled | State::Rejected => true,
            State::InputRequired | State::AuthRequired => {
                self.answered.as_deref() != Some(self.question())
            }
            State::Submitted | State::Working | State::Unknown => false,
        }
    }

    /// Whether the agent works on it, or waits for something.
    pub(super) fn is_open(&self) -> bool {
        !self.id.is_empty()
            && !matches!(
                self.status.state,
                State::Completed | State::Failed | State::Cancelled | State::Rejected
            )
    }

    /// What tells the agent's question from others of the same task.
    pub(super) fn question(&self) -> &str {
        let message = self.status.message.as_ref();
        let message = message.map(|message| message.message_id.as_str());
        let named = message.filter(|id| !id.is_empty());
        named
            .or(self.status.timestamp.as_deref())
            .unwrap_or_default()
    }

    /// The question is answered: the same one is not asked again.
    pub(super) fn note_answer(&mut self) {
        self.answered = Some(self.question().to_owned());
    }

    /// Takes what the agent tells in so many bytes.
    ///
    /// # Errors
    /// Where it is nothing that an agent tells, speaks of another task, or comes to more than is kept.
    pub(super) fn take(&mut self, update: Update, bytes: usize) -> Result<(), CallError> {
        match update {
            Update {
                task: Some(task), ..
            } => self.replace(task, bytes),
            Update {
                message: Some(message),
                ..
            } => {
                self.answer = Some(message);
                Ok(())
            }
            Update {
                status_update: Some(update),
                ..
            } => {
                self.expect(&update.task_id, &update.context_id)?;
                self.status = update.status;
                Ok(())
            }
            Update {
                artifact_update: Some(update),
                ..
            } => self.add(update, bytes),
            _ => Err(wrong("it tells nothing that an agent tells")),
        }
    }

    /// The task as it is now, in place of what was known.
    pub(super) fn replace(&mut self, task: Task, bytes: usize) -> Result<(), CallError> {
        self.expect(&task.id, &task.context_id)?;
        self.status = task.status;
        self.artifacts = task.artifacts;
        self.bytes = bytes;
        Ok(())
    }

    fn add(&mut self, update: ArtifactUpdate, bytes: usize) -> Result<(), CallError> {
        self.expect(&update.task_id, &update.context_id)?;
        self.bytes += bytes;
        if self.bytes > MAX_BODY_BYTES {
            let message = format!("its artifacts come to more than {MAX_BODY_BYTES} bytes");
            return Err(wrong(&message));
        }
        let new = update.artifact;
        let known = self.artifacts.iter_mut();
        match known
            .rev()
            .find(|known| known.artifact_id == new.artifact_id)
        {
            Some(known) if update.append => known.parts.extend(new.parts),
            Some(known) => *known = new,
            None => self.artifacts.push(new),
        }
        Ok(())
    }

    /// What is told belongs to this task; the first one that is named is it.
    fn expect(&mut self, id: &str, context: &str) -> Result<(), CallError> {
        if id.is_empty() {
            return Err(wrong("it tells of a task without an id"));
        }
        if self.id.is_empty() {
            id.clone_into(&mut self.id);
            context.clone_into(&mut self.context);
        }
        if self.id != id {
            return Err(wrong("it tells of a task that nobody asked for"));
        }
        Ok(())
    }
}

fn wrong(what: &str) -> CallError {
    let message = format!("the agent cannot be understood: {what}");
    let class = ErrorClass::Validation(Validation::Result);
    CallError::new(class, message, Sent::Answered)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn told(known: &mut Known, updates: &[Json]) -> Result<(), String> {
        for update in updates {
            let bytes = update.to_string().len();
            let update = serde_json::from_value(update.clone()).unwrap();
            known.take(update, bytes).map_err(|error| error.message)?;
        }
        Ok(())
    }

    fn chunk(text: &str, append: bool) -> Json {
        json!({ "artifactUpdate": { "taskId": "t", "append": append,
            "artifact": { "artifactId": "a", "parts": [{ "text": text }] } } })
    }

    fn asks(message: &str) -> Json {
        json!({ "statusUpdate": { "taskId": "t", "status": {
            "state": "TASK_STATE_INPUT_REQUIRED", "message": { "messageId": message } } } })
    }

    #[test]
    fn pieces_of_an_artifact_are_put_together_and_have_an_end() {
        let mut known = Known::default();
        told(&mut known, &[chunk("a", false), chunk("b", true)]).unwrap();
        assert_eq!(known.artifacts[0].parts.len(), 2);
        told(&mut known, &[chunk("c", false)]).unwrap();
        assert_eq!(known.artifacts[0].parts.len(), 1);
        let endless = vec![chunk(&"x".repeat(1 << 20), true); 9];
        let problem = told(&mut known, &endless).unwrap_err();
        assert!(problem.contains("come to more than"), "{problem}");
    }

    #[test]
    fn a_question_that_was_answered_is_not_asked_again() {
        let mut known = Known::default();
        told(&mut known, &[asks("1")]).unwrap();
        assert!(known.is_settled() && known.is_open());
        known.note_answer();
        told(&mut known, &[asks("1")]).unwrap();
        assert!(!known.is_settled());
        told(&mut known, &[asks("2")]).unwrap();
        assert!(known.is_settled());
    }

    #[test]
    fn what_an_agent_tells_of_other_tasks_is_refused() {
        let mut known = Known::of("u", "");
        for update in [
            asks("1"),
            chunk("x", true),
            json!({}),
            json!({ "task": {} }),
        ] {
            assert!(told(&mut known, &[update]).is_err());
        }
    }
}
