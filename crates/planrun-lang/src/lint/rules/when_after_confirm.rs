//! `when-after-confirm`: a `when` that reads as if it belonged to the `confirm` before it on the same line.

use super::Subject;
use crate::diag::{Diagnostic, Edit, codes};
use crate::source::Span;

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    if !subject.is_text() {
        return;
    }
    let line = |offset: u32| subject.source.position(offset).line;
    for site in subject.steps() {
        let clauses = site.step.places.windows(2);
        let pairs = clauses.filter_map(|pair| match pair {
            [("confirm", confirm), ("when", when)] => Some((*confirm, *when)),
            _ => None,
        });
        for (confirm, when) in pairs.filter(|(one, other)| line(one.end) == line(other.start)) {
            let message = "this condition skips the whole step, not only the question of `confirm`";
            let condition = subject.source.slice(when).to_owned();
            let between = Span::from(confirm.end..when.end);
            let edits = vec![
                Edit::new(confirm.before(), format!("{condition} ")),
                Edit::removal(between),
            ];
            let finding = codes::order::WHEN_AFTER_CONFIRM.at(when, message)
                .note("if it does not hold, nothing is called")
                .help("to ask only in some cases, write the call twice: with `confirm` in an `if`, and without it in its `else`; otherwise write `when` before `confirm`")
                .fix_all("write `when` before `confirm`", edits);
            found.push(finding);
        }
    }
}
