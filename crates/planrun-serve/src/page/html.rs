//! The pages: plain HTML without scripts, in which everything from outside is text.

use std::fmt::Write as _;

use planrun_core::journal::{FormField, Waiting};
use planrun_lang::diag::render::visible_text;

use super::form::{DECISION, FIELD, NO, YES, YES_FOR_THE_PLAN, shown};
use crate::asking::PutQuestion;

pub(super) const GONE: &str = "This question has been answered, or is not asked any more. `planrun runs inbox` lists what is.";
pub(super) const TAKEN: &str =
    "The answer was taken, and the run goes on. You can close this page.";

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:3rem auto;padding:0 1rem;color:#1c2530;\
    background:#fff}pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f3f5f8;border-radius:6px;padding:1rem;font:14px/1.5 \
    ui-monospace,monospace}button{font:inherit;padding:.55rem 1.1rem;margin:.4rem .6rem .4rem 0;border-radius:6px;border:1px solid \
    #8a94a3;background:#fff;color:inherit}button.yes{background:#17613a;border-color:#17613a;color:#fff}button.no{border-color:#a3201c;\
    color:#a3201c}label{display:block;margin:.8rem 0}input,select{font:inherit;width:100%;box-sizing:border-box;padding:.4rem}.fault{\
    color:#a3201c}@media(prefers-color-scheme:dark){body{background:#14181d;color:#e3e8ee}pre{background:#1e242b}button{background:\
    #1e242b}button.no{color:#ff8a80;border-color:#ff8a80}.fault{color:#ff8a80}}";

/// A page with one sentence.
pub(super) fn notice(text: &str) -> String {
    page(&format!("<p>{}</p>", escaped(text)))
}

/// A question with its form; `plan` is the text of the run's plan.
pub(super) fn question(question: &PutQuestion, plan: &str) -> String {
    page(&(body(question) + &whole(plan)))
}

/// The same once more, with why an answer was not taken.
pub(super) fn refusal(question: &PutQuestion, why: &str) -> String {
    page(&format!(
        "<p class=\"fault\">The answer was not taken: {}</p>{}",
        escaped(why),
        body(question)
    ))
}

fn body(question: &PutQuestion) -> String {
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
            ("yes", YES_FOR_THE_PLAN, "Yes, and this plan for 24 hours"),
            ("no", NO, "No"),
        ],
        Waiting::Confirm => &[("yes", YES, "Yes"), ("no", NO, "No")],
        Waiting::Answer => &[("yes", YES, "It happened"), ("no", NO, "It did not happen")],
        Waiting::Peer => &[("yes", YES, "Send"), ("no", NO, "Decline")],
        Waiting::Input | Waiting::Retry | Waiting::Poll | Waiting::Outcome | Waiting::Time => {
            &[("yes", YES, "Send")]
        }
    };
    for (class, value, label) in buttons {
        let _ = write!(
            html,
            "<button class=\"{class}\" name=\"{DECISION}\" value=\"{value}\">{label}</button>"
        );
    }
    html + "</form>"
}

/// One field of a form.
fn entry(question: &PutQuestion, field: &FormField) -> String {
    let name = escaped(&format!("{FIELD}{}", field.name));
    let label = field.label.as_deref().unwrap_or(&field.name);
    let stands = question
        .question
        .prefill(field)
        .map(|value| shown(&field.written(value)));
    let stands = stands.unwrap_or_default();
    let control = if let Some(options) = &field.options {
        let options = options.iter().map(|option| {
            let text = shown(option);
            let selected = if text == stands { " selected" } else { "" };
            let text = escaped(&text);
            format!("<option value=\"{text}\"{selected}>{text}</option>")
        });
        let options: Vec<String> = options.collect();
        format!("<select name=\"{name}\">{}</select>", options.join(""))
    } else {
        let kind = if field.secret { "password" } else { "text" };
        let stands = escaped(&stands);
        format!("<input type=\"{kind}\" name=\"{name}\" value=\"{stands}\" autocomplete=\"off\">")
    };
    format!(
        "<label>{} <small>{}</small>{control}</label>",
        escaped(label),
        escaped(&field.ty)
    )
}

/// The whole plan, folded.
fn whole(plan: &str) -> String {
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

/// Text as HTML shows it, with marks in the place of characters that nobody sees.
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
