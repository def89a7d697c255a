//! The pages: plain HTML without scripts, in which everything external is escaped text.

use std::fmt::Write as _;

use planrun_core::journal::{FormField, Waiting};
use planrun_lang::diag::render::{command, visible_text};

use super::form::{DECISION, FIELD, NO, YES, YES_FOR_THE_PLAN, field_text};
use crate::asking::PendingQuestion;

pub(super) const TAKEN: &str =
    "The answer was recorded, and the run continues. You can close this page.";

/// Returns the text of a page whose question is gone.
pub(super) fn gone() -> String {
    format!(
        "This question has been answered, or is no longer open. `{}` lists the open questions.",
        command("runs inbox")
    )
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:3rem auto;padding:0 1rem;color:#1c2530;\
    background:#fff}pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f3f5f8;border-radius:6px;padding:1rem;font:14px/1.5 \
    ui-monospace,monospace}button{font:inherit;padding:.55rem 1.1rem;margin:.4rem .6rem .4rem 0;border-radius:6px;border:1px solid \
    #8a94a3;background:#fff;color:inherit}button.yes{background:#17613a;border-color:#17613a;color:#fff}button.no{border-color:#a3201c;\
    color:#a3201c}label{display:block;margin:.8rem 0}input,select{font:inherit;width:100%;box-sizing:border-box;padding:.4rem}.fault{\
    color:#a3201c}@media(prefers-color-scheme:dark){body{background:#14181d;color:#e3e8ee}pre{background:#1e242b}button{background:\
    #1e242b}button.no{color:#ff8a80;border-color:#ff8a80}.fault{color:#ff8a80}}";

/// Returns a page with one sentence.
pub(super) fn notice(text: &str) -> String {
    page(&format!("<p>{}</p>", escaped(text)))
}

/// Returns the page of a question with its form; `plan` is the text of the run's plan.
pub(super) fn question(question: &PendingQuestion, plan: &str) -> String {
    page(&(body(question) + &plan_details(plan)))
}

/// Returns the page of the question again, with the reason why an answer was refused.
pub(super) fn refusal(question: &PendingQuestion, why: &str) -> String {
    page(&format!(
        "<p class=\"fault\">The answer was rejected: {}</p>{}",
        escaped(why),
        body(question)
    ))
}

fn body(question: &PendingQuestion) -> String {
    let mut html = format!(
        "<pre>{}</pre><form method=\"post\">",
        escaped(&question.text)
    );
    let kind = question.question.kind;
    if kind != Waiting::Approval {
        for field in &question.question.form {
            html.push_str(&entry(question, field));
        }
    }
    let buttons: &[(&str, &str, &str)] = match kind {
        Waiting::Approval => &[
            ("yes", YES, "Yes, this run"),
            (
                "yes",
                YES_FOR_THE_PLAN,
                "Yes, and this plan with any inputs for 24 hours",
            ),
            ("no", NO, "No"),
        ],
        Waiting::Confirm => &[("yes", YES, "Yes"), ("no", NO, "No")],
        Waiting::Answer => &[("yes", YES, "It happened"), ("no", NO, "It did not happen")],
        Waiting::Peer => &[("yes", YES, "Send"), ("no", NO, "Decline")],
        Waiting::Input
        | Waiting::Retry
        | Waiting::Poll
        | Waiting::Outcome
        | Waiting::Effects
        | Waiting::Time => &[("yes", YES, "Send")],
    };
    for (class, value, label) in buttons {
        let _ = write!(
            html,
            "<button class=\"{class}\" name=\"{DECISION}\" value=\"{value}\">{label}</button>"
        );
    }
    html + "</form>"
}

fn entry(question: &PendingQuestion, field: &FormField) -> String {
    let name = escaped(&format!("{FIELD}{}", field.name));
    let label = field.label.as_deref().unwrap_or(&field.name);
    let current = question
        .question
        .prefill(field)
        .map(|value| field_text(&field.written(value)));
    let current = current.unwrap_or_default();
    let control = if let Some(options) = &field.options {
        let options = options.iter().map(|option| {
            let text = field_text(option);
            let selected = if text == current { " selected" } else { "" };
            let text = escaped(&text);
            format!("<option value=\"{text}\"{selected}>{text}</option>")
        });
        let options: Vec<String> = options.collect();
        format!("<select name=\"{name}\">{}</select>", options.join(""))
    } else {
        let kind = if field.secret { "password" } else { "text" };
        let current = escaped(&current);
        format!("<input type=\"{kind}\" name=\"{name}\" value=\"{current}\" autocomplete=\"off\">")
    };
    format!(
        "<label>{} <small>{}</small>{control}</label>",
        escaped(label),
        escaped(&field.ty)
    )
}

/// Returns the whole plan, collapsed.
fn plan_details(plan: &str) -> String {
    if plan.is_empty() {
        return String::new();
    }
    format!(
        "<details><summary>The whole plan</summary><pre>{}</pre></details>",
        escaped(plan)
    )
}

fn page(body: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>planrun asks</title><style>{STYLE}</style><h1>planrun asks</h1>{body}</html>"
    )
}

/// Escapes text for HTML, and makes invisible characters visible.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for character in visible_text(text).chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
    html
}
