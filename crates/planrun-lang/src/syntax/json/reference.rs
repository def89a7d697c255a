//! Generates the tables of keys for the documentation of the JSON form.

use std::fmt::Write as _;

use super::shapes::{CLAUSES, Choice, FILE, Key, Shape, Slot, Word};

/// Returns every object of the form with its keys, as Markdown tables.
#[must_use]
pub fn reference() -> String {
    let mut text = String::new();
    let mut alone: Vec<&'static Shape> = vec![&FILE];
    let choices = [
        (Choice::Item, "Items"),
        (Choice::Statement, "Statements"),
        (Choice::Action, "Actions"),
        (Choice::Undo, "Undo"),
        (Choice::TestStatement, "Lines of a test"),
        (Choice::Outcome, "Outcomes of a mock"),
    ];
    for (choice, title) in choices {
        let _ = write!(
            text,
            "### {title}\n\n| `kind` | | keys |\n| --- | --- | --- |\n"
        );
        for shape in choice.shapes() {
            row(&mut text, shape, &mut alone);
        }
        text.push('\n');
    }
    let _ = write!(text, "### Clauses of a step\n\n| key | |\n| --- | --- |\n");
    for key in CLAUSES {
        let _ = writeln!(
            text,
            "| {} | {} |",
            keys(std::slice::from_ref(key), &mut alone),
            key.about()
        );
    }
    text.push_str("\n### Objects without a kind\n\n| | | keys |\n| --- | --- | --- |\n");
    let mut next = 0;
    while let Some(shape) = alone.get(next).copied() {
        next += 1;
        row(&mut text, shape, &mut alone);
    }
    text
}

/// Writes one row and adds the shapes that its keys refer to to `alone`, each once.
fn row(text: &mut String, shape: &'static Shape, alone: &mut Vec<&'static Shape>) {
    let groups = shape.keys.iter().map(|group| {
        if are_clauses(group) {
            "clauses".to_owned()
        } else {
            keys(group, alone)
        }
    });
    let keys = groups
        .filter(|keys| !keys.is_empty())
        .collect::<Vec<_>>()
        .join(", ");
    let _ = writeln!(
        text,
        "| `{}` | {} | {keys} |",
        shape.kind,
        shape.about.replace('|', "\\|")
    );
}

/// Returns true if the keys are those of the clauses. Addresses cannot be compared, since the list may be duplicated.
fn are_clauses(keys: &[Key]) -> bool {
    keys.len() == CLAUSES.len()
        && keys
            .iter()
            .zip(CLAUSES)
            .all(|(one, other)| one.name == other.name)
}

fn keys(keys: &'static [Key], alone: &mut Vec<&'static Shape>) -> String {
    let written = keys.iter().map(|key| {
        let referred = key.slot.shape();
        alone.extend(
            referred.filter(|shape| !alone.iter().any(|other| std::ptr::eq(*other, *shape))),
        );
        format!(
            "`{}`{} {}",
            key.name,
            if key.required { "" } else { "?" },
            type_of(key)
        )
    });
    written.collect::<Vec<_>>().join(", ").replace('|', "\\|")
}

/// Returns the type of a key's value, in a word or two.
fn type_of(key: &Key) -> String {
    match key.slot {
        Slot::Name => "name".to_owned(),
        Slot::Names(Word::Name) => "[name]".to_owned(),
        Slot::Names(Word::Class) => "[class]".to_owned(),
        Slot::Names(Word::Code | Word::Effect | Word::Moment) => "[code]".to_owned(),
        Slot::Text => "plain".to_owned(),
        Slot::Flag => "bool".to_owned(),
        Slot::Word(Word::Class) => "class".to_owned(),
        Slot::Word(word) => word.known().join(" | "),
        Slot::Type | Slot::ObjectType => "type".to_owned(),
        Slot::Pattern => "pattern".to_owned(),
        Slot::Value | Slot::Members => "value".to_owned(),
        Slot::Message => "text".to_owned(),
        Slot::Settings(_) => "settings".to_owned(),
        Slot::Tool | Slot::Callee => "tool".to_owned(),
        Slot::Arguments => "{ name: value }".to_owned(),
        Slot::Call => "call".to_owned(),
        Slot::Probe => "call | asked".to_owned(),
        Slot::Object(shape) => shape.kind.to_owned(),
        Slot::Objects(shape) => format!("[{}]", shape.kind),
        Slot::Choice(choice) => super::schema::choice_name(choice).to_owned(),
        Slot::Choices(choice) => format!("[{}]", super::schema::choice_name(choice)),
    }
}
