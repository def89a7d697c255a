//! Writes the parts of plans that need people or events: tasks, `set`, listeners, gates, states of steps; and the
//! network permissions of a plan.

use std::fmt::Write as _;

use super::expressions::{Level, Text};
use super::plan::{NO_AGENTS, Writer};
use super::scope::Kind;
use super::ty::{self, Field, Object, Ty};
use super::words;

/// A declared task.
#[derive(Clone)]
pub struct Task {
    name: String,
    statuses: &'static [&'static str],
    /// The type of the field of its context next to the note.
    more: Ty,
    /// Whether it can be moved from outside.
    external: bool,
}

/// The statuses of tasks; a plan sets the second one.
const STATUSES: [&[&str]; 3] = [
    &["open", "done"],
    &["offen", "läuft", "done", "failed"],
    &["新", "cancelled"],
];
/// The fields of a task's context, which `set` writes and listeners read.
const NOTE: &str = "note";
const MORE: &str = "more";

impl Writer<'_> {
    /// Writes the tasks of a plan.
    pub fn declare_tasks(&mut self, text: &mut String) {
        self.tasks.clear();
        if !self.size.whole_language {
            return;
        }
        for _ in 0..self.dice.below(3) {
            let name = self.names.value(self.dice);
            let statuses = *self.dice.pick(&STATUSES);
            let more = ty::closed(&ty::any(self.dice, 1, true));
            let external = self.dice.one_in(3);
            writeln!(
                text,
                "    task {name} \"{}\" statuses [{}] {{ {NOTE}: string, {MORE}: {} }}{}",
                words::sentence(self.dice),
                statuses.join(", "),
                more.text(),
                if external { " external" } else { "" },
            )
            .unwrap();
            self.tasks.push(Task {
                name,
                statuses,
                more,
                external,
            });
        }
    }

    /// Returns an event of an external task and the type of its value, if the plan itself has such a task.
    pub fn outside_event(&mut self) -> Option<(String, Ty)> {
        if self.indent != 1 {
            return None;
        }
        let tasks: Vec<Task> = self
            .tasks
            .iter()
            .filter(|task| task.external)
            .cloned()
            .collect();
        let task = tasks.get(self.dice.below(tasks.len().max(1)))?;
        let status = *self.dice.pick(task.statuses);
        Some((format!("{} is {status}", task.name), context(task)))
    }

    /// Writes an unguarded `set` of a task. The statements below it may read the context.
    pub fn early_set(&mut self) -> Option<String> {
        // Whether a field of an external task may be null depends on what was set before.
        let tasks: Vec<&Task> = self.tasks.iter().filter(|task| !task.external).collect();
        let task = (*tasks.get(self.dice.below(tasks.len().max(1)))?).clone();
        let status = *self.dice.pick(task.statuses);
        let mut text = String::new();
        self.set(&task, status, None, &mut text);
        // What was known of the context before is out of date.
        self.scope.distrust(&task.name);
        let start = format!("{}.", task.name);
        self.guards.retain(|(guard, _)| !guard.contains(&start));
        if !self
            .scope
            .variables
            .iter()
            .any(|known| known.name == task.name)
        {
            self.scope.add(&task.name, context(&task), Kind::Context);
        }
        Some(text)
    }

    fn set(&mut self, task: &Task, status: &str, guard: Option<&str>, text: &mut String) {
        let known = self.scope.mark();
        if let Some(guard) = guard {
            self.scope.hold(guard);
            self.mark_tested(guard, None);
        }
        let (note, more) = (self.template(1).text, self.value(&task.more, 1).text);
        self.scope.forget(known);
        write!(
            text,
            "    set {} {status} {{ {NOTE}: {note}, {MORE}: {more} }}",
            task.name
        )
        .unwrap();
        if let Some(guard) = guard {
            write!(text, " when {guard}").unwrap();
        }
        text.push('\n');
    }

    /// Writes a `set` and a listener for each task.
    pub fn set_tasks(&mut self, text: &mut String) {
        for task in std::mem::take(&mut self.tasks) {
            let status = task.statuses[1];
            let guard = if self.dice.one_in(3) {
                self.condition(1)
            } else {
                None
            };
            let guard = guard.map(|guard| guard.text);
            self.set(&task, status, guard.as_deref(), text);
            self.scope.distrust(&task.name);
            let event = format!("{} is {status}", task.name);
            self.listener(&event, EventValue::One(context(&task)), text);
        }
        if self.size.whole_language && self.dice.one_in(3) {
            let (event, event_value) = self.other_event();
            self.listener(&event, event_value, text);
        }
    }

    /// Returns an event of a step, of the plan or from outside, and its value.
    fn other_event(&mut self) -> (String, EventValue) {
        let steps = self.own_steps();
        let choice = if steps.is_empty() {
            self.dice.below(2)
        } else {
            self.dice.below(8)
        };
        let step = if steps.is_empty() {
            String::new()
        } else {
            self.dice.pick(&steps).clone()
        };
        let known = self.scope.variables.iter().find(|known| known.name == step);
        let gives = known.map_or(Ty::Error, |known| known.ty.clone());
        match choice {
            0 => {
                let by = Field {
                    name: "by",
                    ty: Ty::Str,
                    required: true,
                };
                let more = ty::closed(&ty::any(self.dice, 1, true));
                let fields = vec![
                    by,
                    Field {
                        name: MORE,
                        ty: more,
                        required: !self.dice.one_in(3),
                    },
                ];
                let payload = Ty::Object(
                    Object {
                        fields,
                        open: false,
                    }
                    .into(),
                );
                // A payload must fit all receivers of its signal, so each type has a signal of its own.
                let ty = payload.text();
                let signal = ty.replace('"', "'");
                let event = format!("signal \"changed {signal}\" -> {ty}");
                (event, EventValue::One(payload))
            }
            1 => ("plan is failed".to_owned(), EventValue::One(Ty::Error)),
            2 | 3 => (format!("{step} is failed"), EventValue::One(Ty::Error)),
            4 | 5 => (format!("{step} is completed"), EventValue::One(gives)),
            6 => (
                format!(
                    "{step} is {}",
                    self.dice.pick(&["settled", "completed || plan is failed"])
                ),
                EventValue::Several,
            ),
            _ => (step, EventValue::Several),
        }
    }

    /// Writes a listener. Its block can read the inputs of the plan and the value of the event.
    fn listener(&mut self, event: &str, event_value: EventValue, text: &mut String) {
        let name = self.names.value(self.dice);
        write!(text, "    listener {name} on {event}").unwrap();
        let inputs = self
            .scope
            .variables
            .iter()
            .filter(|known| known.kind == Kind::Input);
        let inputs: Vec<(String, Ty)> = inputs
            .map(|known| (known.name.clone(), known.ty.clone()))
            .collect();
        let outside = std::mem::take(&mut self.scope);
        for (name, ty) in inputs {
            self.scope.add(&name, ty, Kind::Local);
        }
        let value_name = self.names.value(self.dice);
        let mut first = String::new();
        if !self.dice.one_in(4) {
            write!(text, " as {value_name}").unwrap();
            match event_value {
                EventValue::One(ty) => {
                    let guarded = self.dice.one_in(3);
                    let guard = if guarded {
                        self.element_condition(&value_name, &ty, 0)
                    } else {
                        None
                    };
                    self.scope.add(&value_name, ty, Kind::Local);
                    if let Some(guard) = guard {
                        self.mark_tested(&guard, None);
                        write!(text, " when {guard}").unwrap();
                    }
                }
                // `json` accepts every type of value.
                EventValue::Several => {
                    self.note_namespace("sys");
                    let echoed = self.names.value(self.dice);
                    first =
                        format!("        step {echoed} = sys.echo(value: json({value_name}))\n");
                }
            }
        }
        if self.dice.one_in(3) {
            write!(text, " max {}", self.dice.between(2, 9)).unwrap();
        }
        text.push_str(" {\n");
        text.push_str(&first);
        self.indent += 1;
        // The effects of a plan are undone before the plan fails, so an effect here would come too late.
        let before = std::mem::replace(
            &mut self.restricted_to_reads,
            event.contains("plan is failed"),
        );
        for _ in 0..self.dice.between(1, 2) {
            let step = self.step();
            text.push_str(&step);
        }
        self.restricted_to_reads = before;
        self.indent -= 1;
        text.push_str("    }\n");
        self.scope = outside;
    }

    /// Writes a test of the state of a step. `None` if no step is certain to have run.
    pub fn about_state(&mut self) -> Option<Text> {
        let steps = if self.size.whole_language {
            self.own_steps()
        } else {
            Vec::new()
        };
        if steps.is_empty() || !self.dice.one_in(6) {
            return None;
        }
        let step = self.dice.pick(&steps).clone();
        Some(Text::new(
            format!("{step} is {}", self.dice.pick(&["completed", "failed"])),
            Level::Unary,
        ))
    }

    fn own_steps(&self) -> Vec<String> {
        let steps = self.scope.variables.iter();
        let steps = steps.filter(|known| {
            matches!(known.kind, Kind::Step | Kind::Form) && known.guard.is_empty()
        });
        let steps = steps.filter(|known| !self.scope.is_tested(&known.name));
        steps.map(|known| known.name.clone()).collect()
    }

    /// Writes a `confirm` clause, sometimes.
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

    /// Writes the network permissions of a plan, sometimes, with the step that needs them.
    pub fn network_step(&mut self, settings: &mut String, body: &mut String) {
        // A plan that calls this one would need the same permissions.
        if !self.size.network || self.is_called() || !self.dice.one_in(4) {
            return;
        }
        self.note_namespace("http");
        let name = self.names.value(self.dice);
        let host = *self.dice.pick(&["127.0.0.1:8009", "shop.example.com"]);
        let is_here = host.starts_with("127");
        let tools = if is_here {
            format!(", tools: [\"*\"]{NO_AGENTS}")
        } else {
            String::new()
        };
        writeln!(settings, "    allow {{ net: [\"{host}\"]{tools} }}").unwrap();
        let scheme = if is_here { "http" } else { "https" };
        writeln!(
            body,
            "    step {name} = http.fetch(url: \"{scheme}://{host}/state\")"
        )
        .unwrap();
        let fields = vec![Field {
            name: "status",
            ty: Ty::Int,
            required: true,
        }];
        self.scope.add_made(
            &name,
            Ty::Object(Object { fields, open: true }.into()),
            Kind::Step,
            false,
        );
    }
}

/// The value of an event.
enum EventValue {
    One(Ty),
    /// One of several types.
    Several,
}

/// Returns the type of the context of a task. From outside, every field may be missing.
fn context(task: &Task) -> Ty {
    let field = |name, ty: &Ty| Field {
        name,
        ty: match ty {
            Ty::Opt(_) => ty.clone(),
            _ if task.external => Ty::Opt(ty.clone().into()),
            _ => ty.clone(),
        },
        required: true,
    };
    let fields = vec![field(NOTE, &Ty::Str), field(MORE, &task.more)];
    Ty::Object(
        Object {
            fields,
            open: false,
        }
        .into(),
    )
}
