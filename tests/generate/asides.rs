//! What stands beside the flow of a plan: `verify` and `undo`, waits and forms.

use std::fmt::Write as _;
use std::rc::Rc;

use super::expressions::Level;
use super::plan::Writer;
use super::readable::Readable;
use super::scope::Kind;
use super::ty::{self, Field, Object, Ty};
use super::words;

/// The clauses of a step that say how to look at it and how to take it back.
pub struct Asides {
    pub text: String,
    /// Whether somebody can tell what the step gave where its answer is lost, so that it may be read.
    pub may_be_read: bool,
}

impl Writer<'_> {
    /// `verify` and `undo` of a step that changes something, now and then. `may_undo`: whether nothing takes the place of
    /// an `undo` here, nor an `undo` here the place of another.
    pub fn asides(&mut self, name: &str, ty: &Ty, may_undo: bool) -> Asides {
        let known = self.scope.mark();
        // Its answer may have been lost.
        self.scope.add(name, ty.clone().optional(), Kind::Step);
        let mut asides = Asides {
            text: String::new(),
            may_be_read: true,
        };
        if self.dice.one_in(4) {
            self.verify(ty, &mut asides);
        }
        self.scope.close(known);
        if may_undo && !self.only_reads && self.dice.one_in(3) {
            // What takes it back reads what it gave.
            let known = self.scope.mark();
            self.scope.add(name, ty.clone(), Kind::Local);
            self.undo(&mut asides.text);
            self.scope.close(known);
        }
        asides
    }

    /// One call, or several steps.
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

    fn verify(&mut self, ty: &Ty, asides: &mut Asides) {
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
        let check = self.kept(&found, check);
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
            asides.text,
            "{}    verify {call}{polls} as {found} => {check}",
            self.margin()
        )
        .unwrap();
        asides.may_be_read = ty.can_be_made() && !self.dice.one_in(4);
        if asides.may_be_read {
            let value = self.value(ty, 1).text;
            write!(asides.text, " gives {value}").unwrap();
        }
        asides.text.push('\n');
        self.scope.close(known);
    }

    /// A check of what was found that mostly holds, so that what follows is reached.
    fn kept(&mut self, found: &str, check: String) -> String {
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

    /// A call that changes something.
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

    /// A step that only waits, and its name: what comes next may wait for it.
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

    /// A form with its type. Where nobody can be asked, every field is known.
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
            // What it reads counts as read, so it has to stand somewhere.
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
