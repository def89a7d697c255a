//! Writes the `verify` and `undo` clauses of steps, waits and forms.

use std::fmt::Write as _;
use std::rc::Rc;

use super::expressions::Level;
use super::plan::Writer;
use super::readable::Readable;
use super::scope::Kind;
use super::ty::{self, Field, Object, Ty};
use super::words;

/// The `verify` and `undo` clauses of a step.
pub struct EffectClauses {
    pub text: String,
    /// Whether the value of the step stays known if its answer is lost, so that later statements may read it.
    pub may_be_read: bool,
}

impl Writer<'_> {
    /// Writes `verify` and `undo` for some of the steps that change something. `may_undo` is false if the undo of an
    /// inner step would replace the one here, or the reverse.
    pub fn effect_clauses(&mut self, name: &str, ty: &Ty, may_undo: bool) -> EffectClauses {
        let known = self.scope.mark();
        let facts = self.scope.distrust_all();
        // The answer of the step may be lost, so its value is optional here.
        self.scope.add(name, ty.clone().optional(), Kind::Step);
        let mut effect_clauses = EffectClauses {
            text: String::new(),
            may_be_read: true,
        };
        if self.dice.one_in(4) {
            self.verify(ty, &mut effect_clauses);
        }
        self.scope.close(known);
        if may_undo && !self.restricted_to_reads && self.dice.one_in(3) {
            // The undo may read the value of the step.
            let known = self.scope.mark();
            self.scope.add(name, ty.clone(), Kind::Local);
            self.scope.distrust_all();
            self.undo(&mut effect_clauses.text);
            self.scope.close(known);
        }
        self.scope.remember(facts);
        effect_clauses
    }

    /// Writes one call or several steps.
    fn undo(&mut self, text: &mut String) {
        let Some(call) = self.changing_call() else {
            return;
        };
        self.undos += 1;
        let margin = self.margin();
        if !self.dice.one_in(3) {
            return writeln!(text, "{margin}    undo {call}").unwrap();
        }
        let first = self.names.value(self.dice);
        writeln!(
            text,
            "{margin}    undo do {{\n{margin}        step {first} = {call}"
        )
        .unwrap();
        if let Some(call) = self.changing_call() {
            let second = self.names.value(self.dice);
            writeln!(text, "{margin}        step {second} = {call}").unwrap();
        }
        writeln!(text, "{margin}    }}").unwrap();
    }

    fn verify(&mut self, ty: &Ty, effect_clauses: &mut EffectClauses) {
        let reads: Vec<usize> = (0..self.catalog.tools.len())
            .filter(|tool| self.catalog.tools[*tool].is_read_only())
            .collect();
        let tool = *self.dice.pick(&reads);
        let found = self.names.value(self.dice);
        let asks = self.dice.one_in(4);
        let returns = if asks {
            ty::closed(&ty::any(self.dice, 2, false))
        } else {
            self.catalog.tools[tool].returns.clone()
        };
        let Some(check) = self.element_condition(&found, &returns, 0) else {
            return;
        };
        let call = if asks {
            let agent = self.catalog.tools[tool].namespace;
            self.note_namespace(agent);
            self.asks = true;
            let asked = self.prompted();
            format!("ask {agent}{asked} -> {}", returns.text())
        } else {
            self.tool_call(tool).text
        };
        let known = self.scope.mark();
        self.scope.add(&found, returns, Kind::Local);
        let check = self.mostly_true(&found, check);
        let polls = if self.dice.one_in(2) {
            *self.dice.pick(&[
                " every 5s within 1m",
                " every 1s within 10s",
                " within 20s",
                " every 1m",
            ])
        } else {
            ""
        };
        write!(
            effect_clauses.text,
            "{}    verify {call}{polls} as {found} => {check}",
            self.margin()
        )
        .unwrap();
        effect_clauses.may_be_read = ty.can_be_made() && !self.dice.one_in(4);
        if effect_clauses.may_be_read {
            let value = self.value(ty, 1).text;
            write!(effect_clauses.text, " gives {value}").unwrap();
        }
        effect_clauses.text.push('\n');
        self.scope.close(known);
    }

    /// Extends a check of `found` so that it holds most of the time; otherwise later statements are rarely reached.
    fn mostly_true(&mut self, found: &str, check: String) -> String {
        let paths = self.readables();
        let own = |path: &&Readable| {
            path.text
                .strip_prefix(found)
                .is_some_and(|rest| rest.starts_with('.'))
                && !path.text.contains("?.")
        };
        let sized = |path: &&Readable| {
            path.exact && !path.constant && matches!(path.ty, Ty::Str | Ty::List(_))
        };
        match paths.iter().filter(own).find(sized).cloned() {
            Some(path) if !self.dice.one_in(6) => {
                let check = super::expressions::Text::new(check, Level::Choice).at(Level::And);
                format!("{check} || size({}) >= 0", self.read(&path).text)
            }
            Some(_) | None => check,
        }
    }

    /// Writes a call that changes something. `None` if no such tool exists.
    fn changing_call(&mut self) -> Option<String> {
        if self.dice.one_in(8)
            && let Some(called) = self.plan_call(true)
        {
            return Some(called.text);
        }
        let acts: Vec<usize> = (0..self.catalog.tools.len())
            .filter(|tool| !self.catalog.tools[*tool].is_read_only())
            .collect();
        if acts.is_empty() {
            return None;
        }
        let tool = *self.dice.pick(&acts);
        Some(self.tool_call(tool).text)
    }

    /// Writes a step that only waits, sometimes. Returns its name, for the `after` of a later step.
    pub fn wait(&mut self, text: &mut String) -> Option<String> {
        if !self.dice.one_in(14) {
            return None;
        }
        let name = self.names.value(self.dice);
        let until = *self.dice.pick(&[
            "200ms",
            "5s",
            "2m",
            "1h",
            "until timestamp(\"2026-01-01T00:00:30Z\")",
        ]);
        writeln!(text, "{}step {name} = wait {until}", self.margin()).unwrap();
        Some(name)
    }

    /// Writes a form and returns it with its type. If people are not available, every field is known.
    pub fn form(&mut self) -> (String, Ty) {
        let count = self.dice.between(1, 3);
        let mut text = format!("input {}", self.template(1).text);
        let mut written = Vec::new();
        let mut fields = Vec::new();
        for name in words::fields(self.dice, count) {
            let ty = ty::closed(&ty::any(self.dice, 1, true)).present();
            let asks = self.size.whole_language && self.dice.one_in(2);
            let first = self.constant(&ty, 1).text;
            let choices = if self.dice.one_in(4) {
                format!(" in [{first}]")
            } else {
                String::new()
            };
            let known = if asks {
                String::new()
            } else {
                format!(" known {first}")
            };
            // The text of the constant has to appear, because generating it has marked the values that it reads as
            // read.
            let nowhere = asks && choices.is_empty();
            let prefill = if self.dice.one_in(3) || nowhere {
                format!(" = {first}")
            } else {
                String::new()
            };
            written.push(format!("{name}: {}{choices}{known}{prefill}", ty.text()));
            fields.push(Field {
                name,
                ty,
                required: true,
            });
        }
        write!(text, " -> {{ {} }}", written.join(", ")).unwrap();
        if self.dice.one_in(3) {
            text.push_str(" by \"desk\"");
        }
        if self.dice.one_in(3) {
            text.push_str(" within 2d");
        }
        (
            text,
            Ty::Object(Rc::new(Object {
                fields,
                open: false,
            })),
        )
    }
}
