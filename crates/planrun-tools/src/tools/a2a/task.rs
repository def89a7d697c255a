//! The state of an agent's task, assembled from the agent's updates.

use planrun_lang::call::CallError;

use super::wire::{Artifact, ArtifactUpdate, Message, State, Status, Task, Update};
use crate::tools::http::MAX_BODY_BYTES;
use crate::tools::invalid_result;

/// The state of a call: its task, or the message that the agent answered with instead of a task.
#[derive(Default)]
pub(super) struct Known {
    /// Empty before there is a task.
    pub id: String,
    pub context: String,
    pub status: Status,
    pub artifacts: Vec<Artifact>,
    /// The size of the artifacts as they were received, in bytes.
    bytes: usize,
    pub answer: Option<Message>,
    /// The question that was answered last. Later updates may still contain it.
    answered: Option<String>,
}

impl Known {
    /// Creates the state of a task of which only the id and context are known.
    pub(super) fn of(id: &str, context: &str) -> Self {
        Self {
            id: id.to_owned(),
            context: context.to_owned(),
            ..Self::default()
        }
    }

    /// Returns true if the call can proceed: the task has ended, or the agent asks something new.
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

    /// Returns true if the task has not ended.
    pub(super) fn is_open(&self) -> bool {
        !self.id.is_empty()
            && !matches!(
                self.status.state,
                State::Completed | State::Failed | State::Cancelled | State::Rejected
            )
    }

    /// Returns a key that distinguishes this question from others of the same task.
    pub(super) fn question(&self) -> &str {
        let message = self.status.message.as_ref();
        let message = message.map(|message| message.message_id.as_str());
        let named = message.filter(|id| !id.is_empty());
        named
            .or(self.status.timestamp.as_deref())
            .unwrap_or_default()
    }

    /// Records that the question is answered, so that it is not asked again.
    pub(super) fn note_answer(&mut self) {
        self.answered = Some(self.question().to_owned());
    }

    /// Applies an update of this size. Returns an error if the update is invalid, belongs to another task, or makes the
    /// artifacts larger than is kept.
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
            _ => Err(invalid_update("it sent an update of an unknown kind")),
        }
    }

    /// Replaces the known state of the task.
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
            let message = format!("its artifacts have more than {MAX_BODY_BYTES} bytes");
            return Err(invalid_update(&message));
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

    /// Checks that an update belongs to this task. The first task that is named becomes this task.
    fn expect(&mut self, id: &str, context: &str) -> Result<(), CallError> {
        if id.is_empty() {
            return Err(invalid_update("it sent a task without an id"));
        }
        if self.id.is_empty() {
            id.clone_into(&mut self.id);
            context.clone_into(&mut self.context);
        }
        if self.id != id {
            return Err(invalid_update("it sent an update of another task"));
        }
        Ok(())
    }
}

fn invalid_update(what: &str) -> CallError {
    let message = format!("the agent sent an invalid answer: {what}");
    invalid_result(message)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn take_all(known: &mut Known, updates: &[Json]) -> Result<(), String> {
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
        take_all(&mut known, &[chunk("a", false), chunk("b", true)]).unwrap();
        assert_eq!(known.artifacts[0].parts.len(), 2);
        take_all(&mut known, &[chunk("c", false)]).unwrap();
        assert_eq!(known.artifacts[0].parts.len(), 1);
        let endless = vec![chunk(&"x".repeat(1 << 20), true); 9];
        let problem = take_all(&mut known, &endless).unwrap_err();
        assert!(problem.contains("have more than"), "{problem}");
    }

    #[test]
    fn a_question_that_was_answered_is_not_asked_again() {
        let mut known = Known::default();
        take_all(&mut known, &[asks("1")]).unwrap();
        assert!(known.is_settled() && known.is_open());
        known.note_answer();
        take_all(&mut known, &[asks("1")]).unwrap();
        assert!(!known.is_settled());
        take_all(&mut known, &[asks("2")]).unwrap();
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
            assert!(take_all(&mut known, &[update]).is_err());
        }
    }
}
