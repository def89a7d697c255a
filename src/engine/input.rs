//! `input`: a form that somebody fills in.

use std::sync::Arc;

use super::Program;
use super::dispatcher::{Dispatcher, NodeRef};
use super::sensitive::below;
use crate::eval::EvalError;
use crate::journal::{ARGUMENTS, EventKind, FormField, Question, Waiting};
use crate::sema::{Input, InputField};
use crate::source::Span;
use crate::types::{encode, to_schema};
use crate::value::{Key, Map, Value};

impl Dispatcher<'_> {
    /// Asks for what has no value yet; where nothing is left, nobody is asked.
    pub(super) fn start_input(&mut self, program: &Arc<Program>, at: NodeRef, input: &Input) {
        let path = self.path(program, at);
        if let Some(past) = self.recording.asked(&path, Waiting::Input, 0) {
            return self.ask_as_before(program, at, past);
        }
        let question = match self.form(at, input) {
            Ok(question) => question,
            Err(error) => {
                self.compounds.remove(&at);
                return self.expression_failed(program, at, &error);
            }
        };
        if question.form.is_empty() {
            return self.complete(at, question.arguments);
        }
        let labels = self.in_question(at, &question.arguments);
        self.note_secrets(&question.arguments, &labels);
        self.emit_labelled(EventKind::StepAsks { path: &path, question: &question }, &below(ARGUMENTS, &labels));
        self.ask(program, at, Arc::new(question));
    }

    fn form(&self, at: NodeRef, input: &Input) -> Result<Question, EvalError> {
        let (by, expires) = (input.by.as_ref(), input.expires.as_ref());
        let mut question = self.question(at, Waiting::Input, &input.prompt, by, expires)?;
        let mut known = Map::new();
        for field in &input.fields {
            let default = field.default.as_ref().map(|code| self.evaluate(at.0, code)).transpose()?;
            match default.filter(|value| !value.is_null()) {
                Some(value) => {
                    known.insert(Key::String(field.name.clone()), value);
                }
                None => question.form.push(self.form_field(at, field)?),
            }
        }
        question.arguments = Value::Map(Arc::new(known));
        Ok(question)
    }

    fn form_field(&self, at: NodeRef, field: &InputField) -> Result<FormField, EvalError> {
        let options = match field.options.as_ref().map(|code| self.evaluate(at.0, code)).transpose()? {
            Some(Value::List(options)) if options.is_empty() && !field.ty.admits_null() => {
                // Nobody could answer that.
                let span = field.options.as_ref().map_or_else(Span::default, |code| code.span);
                let fault = format!("`{}` has nothing to choose from: the list behind `in` is empty", field.name);
                return Err(EvalError::plain(fault, span));
            }
            Some(Value::List(options)) => Some(options.iter().map(|option| encode(option, &field.ty)).collect()),
            _ => None,
        };
        Ok(FormField { name: field.name.clone(), ty: field.ty.to_string(), schema: to_schema(&field.ty), options })
    }
}
