//! Redacts secrets in the parts of an answer, however the server splits them.

use std::borrow::Cow;

use planrun_lang::secrets::Redactor;

use crate::model::{Part, PartSender};

/// Passes the parts of an answer on without secrets. The last word of a text is held back until it is complete, since
/// only a whole secret is recognized.
pub(super) struct CleanParts<'a> {
    secrets: &'a Redactor,
    sender: &'a mut PartSender,
    /// The part whose text may continue in the next one.
    held: Option<Part>,
}

impl<'a> CleanParts<'a> {
    pub(super) fn new(secrets: &'a Redactor, sender: &'a mut PartSender) -> Self {
        Self {
            secrets,
            sender,
            held: None,
        }
    }

    /// Sends a part, except for its last word.
    pub(super) async fn send(&mut self, mut part: Part) {
        if self.secrets.is_empty() {
            return self.sender.send(part).await;
        }
        if !self
            .held
            .as_ref()
            .is_some_and(|held| continues(held, &part))
        {
            self.flush().await;
        }
        let Some(text) = text_of(&mut part) else {
            if let Part::Opaque(opaque) = &mut part {
                self.secrets.json(opaque);
            }
            return self.sender.send(part).await;
        };
        // Keys consist of visible ASCII characters, as headers do.
        let end = text.rfind(|letter: char| !letter.is_ascii_graphic());
        let last_word = end.map(|end| text.split_off(text.ceil_char_boundary(end + 1)));
        let held = match self.held.take() {
            Some(held) => joined(held, part),
            None => part,
        };
        let Some(last_word) = last_word else {
            self.held = Some(held);
            return;
        };
        self.held = Some(with_text(&held, last_word));
        self.pass(held).await;
    }

    /// Sends what was held back.
    pub(super) async fn flush(&mut self) {
        if let Some(held) = self.held.take() {
            self.pass(held).await;
        }
    }

    async fn pass(&mut self, mut part: Part) {
        if let Some(text) = text_of(&mut part)
            && let Cow::Owned(clean) = self.secrets.text(text)
        {
            *text = clean;
        }
        self.sender.send(part).await;
    }
}

/// Returns the text of a part that may be split.
fn text_of(part: &mut Part) -> Option<&mut String> {
    match part {
        Part::Reasoning(text) | Part::Text(text) => Some(text),
        Part::Call { arguments, .. } => Some(arguments),
        Part::Opaque(_) | Part::Usage(_) | Part::Stop(_) | Part::Retry { .. } => None,
    }
}

/// Returns true if the text of a part is appended to that of the one before it.
fn continues(before: &Part, part: &Part) -> bool {
    match (before, part) {
        (Part::Call { index: before, .. }, Part::Call { index, .. }) => before == index,
        (before, part) => {
            let is_text = matches!(part, Part::Reasoning(_) | Part::Text(_));
            is_text && std::mem::discriminant(before) == std::mem::discriminant(part)
        }
    }
}

/// Returns both parts as one.
fn joined(mut before: Part, mut part: Part) -> Part {
    if let (
        Part::Call { id, name, .. },
        Part::Call {
            id: new_id,
            name: new_name,
            ..
        },
    ) = (&mut before, &mut part)
    {
        *id = new_id.take().or(id.take());
        *name = new_name.take().or(name.take());
    }
    if let (Some(text), Some(more)) = (text_of(&mut before), text_of(&mut part)) {
        text.push_str(more);
    }
    before
}

/// Returns a part that continues another one with this text.
fn with_text(part: &Part, text: String) -> Part {
    match part {
        Part::Reasoning(_) => Part::Reasoning(text),
        Part::Call { index, .. } => Part::Call {
            index: *index,
            id: None,
            name: None,
            arguments: text,
        },
        Part::Text(_) | Part::Opaque(_) | Part::Usage(_) | Part::Stop(_) | Part::Retry { .. } => {
            Part::Text(text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Turn, produce};

    async fn received(parts: Vec<Part>) -> Turn {
        let sent = produce(|mut sender| async move {
            let mut secrets = Redactor::default();
            secrets.add("sk-hunter2");
            let mut clean = CleanParts::new(&secrets, &mut sender);
            for part in parts {
                clean.send(part).await;
            }
            clean.flush().await;
            Ok(())
        });
        Turn::collect(sent).await.unwrap()
    }

    #[tokio::test]
    async fn a_secret_is_recognized_wherever_it_is_split() {
        let text = "It is:sk-hunter2, 是sk-hunter2吗";
        let clean = "It is:[redacted], 是[redacted]吗";
        let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
        for place in &places {
            for size in [1, 3, text.len()] {
                let (first, rest) = text.split_at(*place);
                let rest: Vec<char> = rest.chars().collect();
                let rest = rest.chunks(size).map(|piece| piece.iter().collect());
                let pieces: Vec<String> = std::iter::once(first.to_owned()).chain(rest).collect();
                let call = |arguments: String| Part::Call {
                    index: 0,
                    id: Some("c".to_owned()),
                    name: None,
                    arguments,
                };
                let turn = received(pieces.iter().cloned().map(Part::Text).collect()).await;
                assert_eq!(turn.text, clean, "{pieces:?}");
                let turn = received(pieces.iter().cloned().map(Part::Reasoning).collect()).await;
                assert_eq!(turn.reasoning, clean, "{pieces:?}");
                let turn = received(pieces.iter().cloned().map(call).collect()).await;
                assert_eq!(turn.calls[0].arguments, clean, "{pieces:?}");
                assert_eq!(turn.calls[0].id, "c");
            }
        }
    }
}
