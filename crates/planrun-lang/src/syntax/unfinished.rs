//! The complete statements of a plan that is still being written.

use super::ast::{File, ItemKind, Plan};
use super::parse;
use crate::source::SourceFile;

/// Returns a text with the complete statements of a plan that may break off anywhere. The last statement is omitted,
/// since clauses may follow it, and so is the type of the reply, which may not have been written yet. Errors in the
/// statements are kept. Returns `None` if no statement is complete, or if the text does not end in a plan.
#[must_use]
pub fn complete_prefix(source: &SourceFile) -> Option<SourceFile> {
    // An incomplete line may still become anything.
    let lines = source.text().get(..=source.text().rfind('\n')?)?;
    let lines = SourceFile::new(source.name(), lines);
    let file = parse(&lines).file;
    let plan = last_plan(&file)?;
    let [_, .., last] = plan.body.statements.as_slice() else {
        return None;
    };
    let mut prefix = lines.text().get(..last.span.start as usize)?.to_owned();
    if !file.is_short {
        prefix.push('}');
    }
    if let Some(returns) = &plan.returns {
        let arrow = prefix.get(..returns.span.start as usize)?.rfind("->")?;
        prefix.replace_range(arrow..returns.span.end as usize, "");
    }
    Some(SourceFile::new(source.name(), prefix))
}

fn last_plan(file: &File) -> Option<&Plan> {
    match &file.items.last()?.kind {
        ItemKind::Plan(plan) => Some(plan),
        ItemKind::Use(_)
        | ItemKind::Type(_)
        | ItemKind::Tool(_)
        | ItemKind::Test(_)
        | ItemKind::Error => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix_of(text: &str) -> Option<String> {
        complete_prefix(&SourceFile::new("<plan>", text)).map(|plan| plan.text().to_owned())
    }

    #[test]
    fn a_statement_is_whole_when_the_next_one_has_begun() {
        let first = "step a = desk.get(id: 1)\n    timeout 3s\n";
        let begun = format!("{first}step b = desk.get(\n");
        assert_eq!(prefix_of(&begun).as_deref(), Some(first));
        for unfinished in ["step a = desk.get(id: 1)", first, "step a = desk.ge", ""] {
            assert_eq!(prefix_of(unfinished), None, "{unfinished}");
        }
        let in_line = format!("{first}reply a");
        assert_eq!(prefix_of(&in_line), None, "the line is not at its end");
    }

    #[test]
    fn a_plan_with_a_head_is_closed_and_promises_no_reply() {
        let text =
            "use desk\n\nplan p() -> { a: int } {\n    step a = desk.get(id: 1)\n    reply a\n";
        let prefix = prefix_of(text).unwrap();
        assert_eq!(
            prefix,
            "use desk\n\nplan p()  {\n    step a = desk.get(id: 1)\n    }"
        );
        assert!(
            parse(&SourceFile::new("<plan>", prefix))
                .diagnostics
                .is_empty()
        );
    }

    #[test]
    fn blocks_are_whole_or_left_out() {
        let text = "if true {\n    step a = desk.get(id: 1)\n    step b = desk.get(id: 2)\n";
        assert_eq!(prefix_of(text), None);
        let closed = format!("{text}}}\n");
        let next = format!("{closed}reply 1\n");
        assert_eq!(prefix_of(&next), Some(closed));
    }
}
