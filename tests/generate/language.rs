//! What needs people, and what listens: tasks, what sets them and listens to them, gates, states of steps; and what a
//! plan may reach.

use std::fmt::Write as _;

use super::expressions::{Level, Text};
use super::plan::Writer;
use super::scope::Kind;
use super::ty::{Field, Object, Ty};
use super::words;

/// A task that is still to be set.
pub struct Task {
    name: String,
    statuses: &'static [&'static str],
}

/// What tasks go through; the second one is what a plan sets.
const STATUSES: [&[&str]; 3] = [&["open", "done"], &["offen", "läuft", "done", "failed"], &["新", "cancelled"]];
/// The context of a task: what is set, and what listeners read.
const NOTE: &str = "note";

impl Writer<'_> {
    /// The tasks of a plan, as text and for [`Writer::milestones`].
    pub fn tasks(&mut self, text: &mut String) -> Vec<Task> {
        let mut tasks = Vec::new();
        if !self.size.whole_language {
            return tasks;
        }
        for _ in 0..self.dice.below(3) {
            let name = self.names.value(self.dice);
            let statuses = *self.dice.pick(&STATUSES);
            writeln!(
                text,
                "    task {name} \"{}\" statuses [{}] {{ {NOTE}: string }}",
                words::sentence(self.dice),
                statuses.join(", ")
            )
            .unwrap();
            tasks.push(Task { name, statuses });
        }
        tasks
    }

    /// Each task is set, and something listens to it.
    pub fn milestones(&mut self, tasks: Vec<Task>, text: &mut String) {
        for task in tasks {
            let status = task.statuses[1];
            let guard = if self.dice.one_in(3) { self.condition(1) } else { None };
            let known = self.scope.mark();
            if let Some(guard) = &guard {
                self.scope.hold(&guard.text);
                self.settle(&guard.text, None);
            }
            let note = self.template(1).text;
            self.scope.forget(known);
            write!(text, "    set {} {status} {{ {NOTE}: {note} }}", task.name).unwrap();
            if let Some(guard) = guard {
                write!(text, " when {}", guard.text).unwrap();
            }
            text.push('\n');
            let event = format!("{} is {status}", task.name);
            self.listener(&event, Some(context()), text);
        }
        let steps: Vec<String> = self.own_steps();
        if !steps.is_empty() && self.size.whole_language && self.dice.one_in(4) {
            let step = self.dice.pick(&steps).clone();
            self.listener(&format!("{step} is failed"), Some(Ty::Error), text);
        }
    }

    /// A listener whose block knows the inputs of the plan, and what the event `brings`.
    fn listener(&mut self, event: &str, brings: Option<Ty>, text: &mut String) {
        let name = self.names.value(self.dice);
        write!(text, "    listener {name} on {event}").unwrap();
        let inputs = self.scope.variables.iter().filter(|known| known.kind == Kind::Input);
        let inputs: Vec<(String, Ty)> = inputs.map(|known| (known.name.clone(), known.ty.clone())).collect();
        let outside = std::mem::take(&mut self.scope);
        for (name, ty) in inputs {
            self.scope.add(&name, ty, Kind::Local);
        }
        if let Some(ty) = brings.filter(|_| !self.dice.one_in(3)) {
            let brought = self.names.value(self.dice);
            write!(text, " as {brought}").unwrap();
            let field = if ty == Ty::Error { "message" } else { NOTE };
            if self.dice.one_in(3) {
                write!(text, " when size({brought}.{field}) > {}", self.dice.between(1, 9)).unwrap();
            }
            self.scope.add(&brought, ty, Kind::Local);
        }
        if self.dice.one_in(3) {
            write!(text, " max {}", self.dice.between(2, 9)).unwrap();
        }
        text.push_str(" {\n");
        self.indent += 1;
        for _ in 0..self.dice.between(1, 2) {
            let step = self.step();
            text.push_str(&step);
        }
        self.indent -= 1;
        text.push_str("    }\n");
        self.scope = outside;
    }

    /// Whether a step has come to this or that; nothing where no step is sure to have run.
    pub fn about_state(&mut self) -> Option<Text> {
        let steps = if self.size.whole_language { self.own_steps() } else { Vec::new() };
        if steps.is_empty() || !self.dice.one_in(6) {
            return None;
        }
        let step = self.dice.pick(&steps).clone();
        Some(Text::new(format!("{step} is {}", self.dice.pick(&["completed", "failed"])), Level::Unary))
    }

    fn own_steps(&self) -> Vec<String> {
        let steps = self.scope.variables.iter();
        let steps = steps.filter(|known| known.kind == Kind::Step && known.guard.is_empty());
        let steps = steps.filter(|known| !self.scope.is_settled(&known.name));
        steps.map(|known| known.name.clone()).collect()
    }

    /// The clause that asks somebody first, now and then.
    pub fn gate(&mut self) -> String {
        if !self.size.whole_language || !self.dice.one_in(6) {
            return String::new();
        }
        let mut text = format!("{}    confirm {}", self.margin(), self.template(1).text);
        if self.dice.one_in(2) {
            text.push_str(" by \"desk\"");
        }
        if self.dice.one_in(2) {
            text.push_str(" expires 2d");
        }
        text + "\n"
    }

    /// What the plan may reach, with the step that needs it.
    pub fn outside(&mut self, settings: &mut String, body: &mut String) {
        // A plan that others call would hand them its needs.
        if !self.size.network || !self.is_main || !self.dice.one_in(4) {
            return;
        }
        self.note_namespace("http");
        let name = self.names.value(self.dice);
        let host = *self.dice.pick(&["127.0.0.1:8009", "shop.example.com"]);
        writeln!(settings, "    allow {{ net: [\"{host}\"] }}").unwrap();
        let scheme = if host.starts_with("127") { "http" } else { "https" };
        writeln!(body, "    step {name} = http.fetch(url: \"{scheme}://{host}/state\")").unwrap();
        let fields = vec![Field { name: "status", ty: Ty::Int, required: true }];
        self.scope.add_made(&name, Ty::Object(Object { fields, open: true }.into()), Kind::Step, false);
    }
}

fn context() -> Ty {
    let fields = vec![Field { name: NOTE, ty: Ty::Str, required: true }];
    Ty::Object(Object { fields, open: false }.into())
}
