//! Checks canonical texts: formatting them changes nothing, the tree is the same, every comment occurs once, and no
//! line is too long.

use planrun_lang::diag::Diagnostic;
use planrun_lang::format::format;
use planrun_lang::source::SourceFile;
use planrun_lang::syntax::ast::{
    ArmBody, Block, Clause, ClauseKind, File, ItemKind, Statement, StatementKind, StepBody,
};
use planrun_lang::syntax::parse;

/// Maximum width of a line, in columns.
const WIDTH: usize = 100;

/// Returns true if the text can be formatted.
pub fn reads(text: &str) -> bool {
    format(&SourceFile::new("a.plan", text)).is_ok()
}

/// Returns the fault in the canonical text of a valid text, if there is one.
pub fn judge(text: &str) -> Option<String> {
    let once = formed(text)?;
    let twice = match format(&SourceFile::new("a.plan", once.as_str())) {
        Ok(twice) => twice,
        Err(found) => {
            return Some(format!(
                "cannot be read again: {}\n{text}\n--- became\n{once}",
                messages(&found)
            ));
        }
    };
    if once != twice {
        return Some(format!(
            "is not its own canonical text\n{text}\n--- became\n{once}\n--- became\n{twice}"
        ));
    }
    let (before, after) = (tree(text), tree(&once));
    if before != after {
        let at = before
            .bytes()
            .zip(after.bytes())
            .position(|(one, other)| one != other)
            .unwrap_or(0);
        let part = |text: &str| {
            text.chars()
                .skip(at.saturating_sub(200))
                .take(400)
                .collect::<String>()
        };
        return Some(format!(
            "changed its tree\n{text}\n--- became\n{once}\n{}\n---\n{}",
            part(&before),
            part(&after)
        ));
    }
    let (before, after) = (comments(text), comments(&once));
    if before != after {
        return Some(format!(
            "changed its comments: {before:?} {after:?}\n{text}\n--- became\n{once}"
        ));
    }
    // The even parts between triple quotes are outside of text blocks.
    let parts = once.split("\"\"\"").step_by(2);
    let wide = parts.flat_map(str::lines).find(|line| too_wide(line))?;
    Some(format!(
        "has a line of {} columns: {wide}",
        unicode_width::UnicodeWidthStr::width(wide)
    ))
}

fn formed(text: &str) -> Option<String> {
    format(&SourceFile::new("a.plan", text)).ok()
}

fn messages(found: &[Diagnostic]) -> String {
    found
        .iter()
        .map(|found| found.message.clone())
        .collect::<Vec<_>>()
        .join("; ")
}

/// Returns true if a line is too wide. A line with a string or a comment, or with a single word, cannot be broken.
fn too_wide(line: &str) -> bool {
    let wide = unicode_width::UnicodeWidthStr::width(line) > WIDTH;
    wide && !line.contains(['"', '\'', '`']) && !line.contains("//") && line.trim().contains(' ')
}

fn comments(text: &str) -> Vec<String> {
    let source = SourceFile::new("a.plan", text);
    let mut comments: Vec<String> = parse(&source)
        .file
        .comments
        .iter()
        .map(|comment| source.slice(comment.span).trim_end().to_owned())
        .collect();
    comments.sort();
    comments
}

/// Formats the tree without spans, with clauses in one order.
pub fn tree(text: &str) -> String {
    let mut file = parse(&SourceFile::new("a.plan", text)).file;
    order(&mut file);
    without_places(&format!("{:?} {:?}", file.doc, file.items))
}

/// Removes everything like `12..34`, which is the debug format of spans.
fn without_places(debug: &str) -> String {
    let mut out = String::with_capacity(debug.len());
    let mut rest = debug;
    while let Some(dots) = rest.find("..") {
        let (before, behind) = (&rest[..dots], &rest[dots + 2..]);
        let kept = before.trim_end_matches(|c: char| c.is_ascii_digit());
        let skipped = behind.len()
            - behind
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .len();
        let place = kept.len() < before.len() && skipped > 0;
        out.push_str(if place { kept } else { before });
        out.push_str("..");
        rest = if place { &behind[skipped..] } else { behind };
    }
    out + rest
}

fn order(file: &mut File) {
    for item in &mut file.items {
        if let ItemKind::Plan(plan) = &mut item.kind {
            block(&mut plan.body);
        }
    }
}

fn block(block: &mut Block) {
    block.statements.iter_mut().for_each(statement);
}

fn statement(statement: &mut Statement) {
    match &mut statement.kind {
        StatementKind::Step(step) => {
            body(&mut step.body);
            step.clauses.iter_mut().for_each(clause);
            if matches!(step.body, StepBody::Input { .. }) {
                step.clauses.iter_mut().for_each(bound_of_a_form);
            }
            step.clauses.sort_by_key(|clause| rank(&clause.kind));
        }
        StatementKind::If { arms, otherwise } => {
            arms.iter_mut()
                .map(|(_, body)| body)
                .chain(otherwise)
                .for_each(block);
        }
        StatementKind::Listener { body, .. } | StatementKind::Parallel(body) => block(body),
        _ => {}
    }
}

fn body(body: &mut StepBody) {
    match body {
        StepBody::Do(body) | StepBody::Each { body, .. } | StepBody::Repeat { body, .. } => {
            block(body);
        }
        StepBody::Race(arms) => arms.iter_mut().for_each(|(_, body)| arm(body)),
        StepBody::Match { arms, .. } => arms.iter_mut().for_each(|one| arm(&mut one.body)),
        _ => {}
    }
}

fn clause(clause: &mut Clause) {
    if let ClauseKind::Recover { body, .. } = &mut clause.kind {
        arm(body);
    }
}

/// The time limit of a form is `within` under both of its names.
fn bound_of_a_form(clause: &mut Clause) {
    clause.kind = match std::mem::replace(&mut clause.kind, ClauseKind::Error) {
        ClauseKind::Expires(bound) => ClauseKind::Within(bound),
        other => other,
    };
}

fn arm(body: &mut ArmBody) {
    if let ArmBody::Do(body) = body {
        block(body);
    }
}

/// Returns the position of a clause in the order of the language's manual.
fn rank(kind: &ClauseKind) -> usize {
    let debug = format!("{kind:?}");
    let names = [
        "When", "After", "By", "Confirm", "Timeout", "Within", "Expires", "Retry", "Until",
        "Cache", "Verify", "Recover", "Undo", "Error",
    ];
    names
        .iter()
        .position(|name| debug.starts_with(name))
        .unwrap()
}
