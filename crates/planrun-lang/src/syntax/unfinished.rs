//! A plan that is still being written, as far as its statements are whole.

use super::ast::{File, ItemKind, Plan};
use super::parse;
use crate::source::SourceFile;

/// The plan of a text that breaks off anywhere, up to its last whole statement, as a text of its own. The statement before
/// the end is left out, since clauses may follow it, and so is the type of the reply, which is still to come. What is
/// wrong in it stays wrong. `None` where the text has no whole statement, or ends in something else than a plan.
#[must_use]
pub fn so_far(source: &SourceFile) -> Option<SourceFile> {
    // A line that is not at its end may be anything.
    let lines = source.text().get(..=source.text().rfind('\n')?)?;
    let lines = SourceFile::new(source.name(), lines);
    let file = parse(&lines).file;
    let plan = last_plan(&file)?;
    let [_, .., last] = plan.body.statements.as_slice() else {
        return None;
    };
    let mut so_far = lines.text().get(..last.span.start as usize)?.to_owned();
    if !file.is_short {
        so_far.push('}');
    }
    if let Some(returns) = &plan.returns {
        let arrow = so_far.get(..returns.span.start as usize)?.rfind("->")?;
        so_far.replace_range(arrow..returns.span.end as usize, "");
    }
    Some(SourceFile::new(source.name(), so_far))
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

    fn handed_in(text: &str) -> Option<String> {
        so_far(&SourceFile::new("<plan>", text)).map(|plan| plan.text().to_owned())
    }

    #[test]
    fn a_statement_is_whole_when_the_next_one_has_begun() {
        let first = "step a = desk.get(id: 1)\n    timeout 3s\n";
        let begun = format!("{first}step b = desk.get(\n");
        assert_eq!(handed_in(&begun).as_deref(), Some(first));
        for unfinished in ["step a = desk.get(id: 1)", first, "step a = desk.ge", ""] {
            assert_eq!(handed_in(unfinished), None, "{unfinished}");
        }
        let in_line = format!("{first}reply a");
        assert_eq!(handed_in(&in_line), None, "the line is not at its end");
    }

    #[test]
    fn a_plan_with_a_head_is_closed_and_promises_no_reply() {
        let text =
            "use desk\n\nplan p() -> { a: int } {\n    step a = desk.get(id: 1)\n    reply a\n";
        let so_far = handed_in(text).unwrap();
        assert_eq!(
            so_far,
            "use desk\n\nplan p()  {\n    step a = desk.get(id: 1)\n    }"
        );
        assert!(
            parse(&SourceFile::new("<plan>", so_far))
                .diagnostics
                .is_empty()
        );
    }

    #[test]
    fn blocks_are_whole_or_left_out() {
        let text = "if true {\n    step a = desk.get(id: 1)\n    step b = desk.get(id: 2)\n";
        assert_eq!(handed_in(text), None);
        let closed = format!("{text}}}\n");
        let next = format!("{closed}reply 1\n");
        assert_eq!(handed_in(&next), Some(closed));
    }
}
