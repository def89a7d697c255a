//! `input`: forms that people fill in.

use std::sync::Arc;

use planrun_lang::eval::EvalError;
use planrun_lang::sema::expr::CheckedExpr;
use planrun_lang::sema::{Input, InputField, Step};
use planrun_lang::source::Span;
use planrun_lang::types::encode;
use planrun_lang::value::{Key, Map, Value};

use super::People;
use crate::journal::{FormField, Question, Waiting};
use crate::run::call::approval::question_of;
use crate::run::context::Context;
use crate::run::frame::NodeRef;
use crate::run::sensitive::in_form;

impl People {
    /// Asks for the fields without a valid value. If there are none, nobody is asked.
    pub(in crate::run) fn start_input(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        step: &Step,
        input: &Input,
    ) {
        let path = ctx.tree.own_path(at);
        if let Some(recorded) = ctx.outbox.recording.asked(&path, Waiting::Input, 0) {
            return self.replay_question(ctx, at, recorded);
        }
        let mut question = match form(ctx, at, input, step.within()) {
            Ok(question) => question,
            Err(error) => {
                return ctx.expression_failed(at, &error);
            }
        };
        if question.form.is_empty() {
            return ctx.complete(at, question.arguments);
        }
        question.sensitive = in_form(step);
        self.ask_first(ctx, at, question);
    }
}

fn form(
    ctx: &Context,
    at: NodeRef,
    input: &Input,
    within: Option<&CheckedExpr>,
) -> Result<Question, EvalError> {
    let mut question = question_of(
        ctx,
        at,
        Waiting::Input,
        &input.prompt,
        input.by.as_ref(),
        within,
    )?;
    let mut values = Map::new();
    for field in &input.fields {
        let asked = form_field(ctx, at, field)?;
        let value = |code: &Option<CheckedExpr>| {
            let value = code
                .as_ref()
                .map(|code| ctx.tree.evaluate(at.0, code))
                .transpose();
            value.map(|value| value.filter(|value| !value.is_null()))
        };
        let known = value(&field.known)?;
        // A known value that would be refused as an answer is asked for, and prefilled.
        let answered = known
            .as_ref()
            .is_some_and(|known| asked.read(Some(&asked.written(known))).is_ok());
        let stands = if answered {
            known
        } else {
            value(&field.prefill)?.or(known)
        };
        values.extend(stands.map(|value| (Key::String(field.name.clone()), value)));
        if !answered {
            question.form.push(asked);
        }
    }
    question.arguments = Value::Map(Arc::new(values));
    Ok(question)
}

fn form_field(ctx: &Context, at: NodeRef, field: &InputField) -> Result<FormField, EvalError> {
    let options = match field
        .options
        .as_ref()
        .map(|code| ctx.tree.evaluate(at.0, code))
        .transpose()?
    {
        Some(Value::List(options)) if options.is_empty() && !field.ty.admits_null() => {
            // No answer would be accepted.
            let span = field
                .options
                .as_ref()
                .map_or_else(Span::default, |code| code.span);
            let fault = format!(
                "`{}` has no options: the list after `in` is empty",
                field.name
            );
            return Err(EvalError::plain(fault, span));
        }
        Some(Value::List(options)) => Some(
            options
                .iter()
                .map(|option| encode(option, &field.ty))
                .collect(),
        ),
        _ => None,
    };
    Ok(FormField {
        label: field.label.clone(),
        options,
        contracts: field
            .contracts
            .iter()
            .map(|contract| contract.schema().clone())
            .collect(),
        secret: !field.sensitive.is_empty(),
        ..FormField::plain(&field.name, &field.ty)
    })
}
