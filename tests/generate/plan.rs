//! Whole plan files: items, heads of plans, settings, replies.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::rc::Rc;

use super::catalog::Catalog;
use super::contracts::{ROWS, Row};
use super::marks::{Limited, Marks};
use super::readable::unread;
use super::scope::{Kind, Scope};
use super::ty::{self, Field, Object, Ty};
use super::words::{self, Names};
use super::{Dice, Size};

/// A plan file with the plan that other files may call.
pub struct PlanFile {
    pub text: String,
    pub called: Rc<PlanHead>,
    pub limited: Vec<Limited>,
}

/// What a caller knows of a plan.
pub struct PlanHead {
    pub name: String,
    pub parameters: Vec<Input>,
    pub returns: Ty,
    /// Whether all it calls only looks.
    pub floats: bool,
    /// Whether it asks an agent.
    pub asks: bool,
    /// Whether a call in it may fail and nothing in it takes that.
    pub may_fail: bool,
    /// So many plans call one another below it.
    depth: usize,
}

pub struct Input {
    pub name: String,
    pub ty: Ty,
    pub required: bool,
    /// Whether it goes on to where a contract limits it.
    pub limited: bool,
}

/// Writes one plan file.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says one thing about the place or the file"
)]
pub struct Writer<'a> {
    pub dice: &'a mut Dice,
    pub catalog: &'a Catalog,
    pub size: Size,
    /// Whether nothing calls its last plan.
    is_main: bool,
    /// A plan of another file.
    pub other: Option<Rc<PlanHead>>,
    /// Plans of this file that may be called here.
    pub own: Vec<Rc<PlanHead>>,
    /// What contracts limit.
    pub marks: Marks,
    /// Whether nothing calls the plan.
    is_last: bool,
    /// So many plans call one another below the plan.
    depth: usize,
    pub names: Names,
    pub scope: Scope,
    pub indent: usize,
    /// So many statements are still to be written.
    pub left: usize,
    /// Conditions that stand in the plan already, with what they show.
    pub guards: Vec<(String, Option<String>)>,
    /// Whether only what looks may be called here.
    pub only_reads: bool,
    /// Whether the plan calls only what looks.
    pub floats: bool,
    /// Whether the plan, or one that it calls, asks an agent.
    pub asks: bool,
    /// In a `parallel`: how many names there were before it.
    pub parallel: Option<usize>,
    /// How many steps are taken back by an `undo` so far.
    pub undos: usize,
    /// What the plan replies.
    pub returns: Ty,
    /// Paths that are read where a contract limits them.
    pub limited: BTreeSet<String>,
    namespaces: BTreeSet<&'static str>,
    calls_other: bool,
    /// The tools whose items belong into the file.
    items: BTreeSet<usize>,
}

/// Where the budget belongs among the settings.
const BUDGET: &str = "BUDGET";
/// What an `allow` says where no agent is asked.
pub const NO_AGENTS: &str = ", agents: []";
/// Plans call plans so deep.
const DEEPEST: usize = 2;
/// The namespace of the plans of the other file.
pub const OTHER: &str = "other";

pub fn plan_file(
    dice: &mut Dice,
    catalog: &Catalog,
    size: &Size,
    is_main: bool,
    other: Option<&PlanFile>,
) -> PlanFile {
    let mut writer = Writer {
        dice,
        catalog,
        size: *size,
        is_main,
        other: other.map(|file| file.called.clone()),
        own: Vec::new(),
        marks: Marks::default(),
        is_last: false,
        depth: 0,
        names: Names::default(),
        scope: Scope::default(),
        indent: 0,
        left: 0,
        guards: Vec::new(),
        only_reads: false,
        floats: true,
        asks: false,
        parallel: None,
        undos: 0,
        returns: Ty::Str,
        limited: BTreeSet::new(),
        namespaces: BTreeSet::new(),
        calls_other: false,
        items: BTreeSet::new(),
    };
    let mut texts = Vec::new();
    let mut called = None;
    for number in 1..=size.plans {
        writer.is_last = is_main && number == size.plans;
        let (text, head) = writer.plan();
        texts.push(text);
        let head = Rc::new(head);
        if head.depth < DEEPEST {
            writer.own.push(head.clone());
        }
        called = Some(head);
    }
    // A plan may also call one that stands below it.
    if writer.dice.one_in(3) {
        texts.rotate_right(1);
    }
    let marked = format!("{}{}", writer.head(), texts.concat());
    let (text, limited) = writer.marks.found(&marked);
    PlanFile {
        text,
        called: called.unwrap(),
        limited,
    }
}

impl Writer<'_> {
    /// What stands above the plans: it is known once they are written.
    fn head(&mut self) -> String {
        let mut text = String::new();
        if self.dice.one_in(3) {
            writeln!(text, "//! {}\n", words::sentence(self.dice)).unwrap();
        }
        if !self.namespaces.is_empty() {
            let names: Vec<&str> = self.namespaces.iter().copied().collect();
            writeln!(text, "use {}", names.join(", ")).unwrap();
        }
        if self.calls_other {
            writeln!(text, "use \"./other.plan\" as {OTHER}").unwrap();
        }
        for item in &self.items {
            writeln!(
                text,
                "\n{}",
                self.catalog.tools[*item].item.as_ref().unwrap()
            )
            .unwrap();
        }
        text
    }

    /// Notes that a tool is called.
    pub fn note_call(&mut self, tool: usize) {
        let called = &self.catalog.tools[tool];
        self.namespaces.insert(called.namespace);
        self.floats &= called.is_read_only();
        if called.item.is_some() {
            self.items.insert(tool);
        }
    }

    /// Notes that something of a namespace is called.
    pub fn note_namespace(&mut self, namespace: &'static str) {
        self.namespaces.insert(namespace);
    }

    /// Notes that a plan is called, of the `other` file or of this one.
    pub fn note_plan(&mut self, plan: &PlanHead, other: bool) {
        self.calls_other |= other;
        self.floats &= plan.floats;
        self.asks |= plan.asks;
        self.depth = self.depth.max(plan.depth + 1);
    }

    /// Whether other plans may call this one.
    pub fn is_called(&self) -> bool {
        !self.is_last
    }

    /// One plan, with the types that it names.
    fn plan(&mut self) -> (String, PlanHead) {
        self.scope = Scope::default();
        self.guards.clear();
        self.floats = true;
        self.asks = false;
        self.depth = 0;
        self.left = self.size.statements;
        let name = self.names.plan(self.dice);
        let mut text = String::new();
        let parameters = self.inputs(&mut text);
        self.returns = self.reply_type();
        self.indent = 1;
        let mut settings = self.settings();
        let mut body = String::new();
        let tasks = self.tasks(&mut body);
        self.outside(&mut settings, &mut body);
        while self.left > 0 {
            let statement = self.statement(true);
            body.push_str(&statement);
        }
        self.milestones(tasks, &mut body);
        body.push_str(&self.reply());
        let budget = self.budget(&body);
        let mut settings = settings.replace(BUDGET, &budget);
        if self.asks {
            settings = settings.replace(NO_AGENTS, "");
        }
        if body.contains("infer(") && !settings.contains("policy {") {
            settings = format!("    policy {{\n{budget}    }}\n{settings}");
        }
        self.indent = 0;
        if self.dice.one_in(2) {
            writeln!(text, "\n/// {}", words::sentence(self.dice)).unwrap();
        } else {
            text.push('\n');
        }
        let written: Vec<String> = parameters.iter().map(|(_, text)| text.clone()).collect();
        let returns = self.returns.clone();
        // What others call says what it gives; else its constants would be its type.
        let arrow = if self.is_last && self.dice.one_in(5) {
            String::new()
        } else {
            format!(" -> {}", returns.text())
        };
        let list = written.join(", ");
        let list = if list.len() > 70 {
            format!("\n    {},\n", written.join(",\n    "))
        } else {
            list
        };
        writeln!(text, "plan {name}({list}){arrow} {{\n{settings}{body}}}").unwrap();
        let limited = |input: Input| Input {
            limited: self.limited.contains(&input.name),
            ..input
        };
        let parameters = parameters
            .into_iter()
            .map(|(input, _)| limited(input))
            .collect();
        let may_fail = self.calls_tool(&body) && !body.contains("recover");
        (
            text,
            PlanHead {
                name,
                parameters,
                returns,
                floats: self.floats,
                asks: self.asks,
                may_fail,
                depth: self.depth,
            },
        )
    }

    /// The parameters, as inputs and as text; types that they name go into `items`.
    fn inputs(&mut self, items: &mut String) -> Vec<(Input, String)> {
        let count = self.dice.between(2, 5);
        let mut inputs = Vec::new();
        for place in 0..count {
            let name = self.names.value(self.dice);
            let deep = if self.dice.one_in(3) { 2 } else { 0 };
            // The first one is something that conditions can speak of.
            let ty = match place {
                0 => Ty::Int,
                // What a contract limits can be read.
                _ if self.dice.one_in(6) => self.limited_type(),
                _ => ty::any(self.dice, deep, true),
            };
            let ty = ty::closed(&ty);
            let written = if place > 0 && self.dice.one_in(4) {
                let alias = self.names.ty(self.dice);
                writeln!(items, "\ntype {alias} = {}", ty.text()).unwrap();
                alias
            } else {
                ty.text()
            };
            let (seen, text, required) = match self.dice.below(6) {
                0 => (ty.clone().optional(), format!("{name}?: {written}"), false),
                1 if !matches!(ty, Ty::Result(_) | Ty::Error) => {
                    let default = self.constant(&ty, 1).text;
                    (ty.clone(), format!("{name}: {written} = {default}"), false)
                }
                _ => (ty.clone(), format!("{name}: {written}"), true),
            };
            inputs.push((
                Input {
                    name,
                    ty: seen,
                    required,
                    limited: false,
                },
                text,
            ));
        }
        for (input, _) in &inputs {
            self.scope.add(&input.name, input.ty.clone(), Kind::Input);
        }
        inputs
    }

    fn limited_type(&mut self) -> Ty {
        let whole: Vec<&Row> = ROWS.iter().filter(|row| row.whole).collect();
        (self.dice.pick(&whole).ty)()
    }

    fn reply_type(&mut self) -> Ty {
        let count = self.dice.between(1, 3);
        let mut fields: Vec<Field> = words::fields(self.dice, count)
            .into_iter()
            .map(|name| {
                let ty = ty::closed(&ty::any(self.dice, 1, false));
                Field {
                    name,
                    ty,
                    required: !self.dice.one_in(4),
                }
            })
            .collect();
        fields.push(Field {
            name: "remarks",
            ty: Ty::Str.list(),
            required: false,
        });
        Ty::Object(Rc::new(Object {
            fields,
            open: false,
        }))
    }

    fn settings(&mut self) -> String {
        let mut text = String::new();
        if self.dice.one_in(3) {
            text.push_str("    policy {\n");
            let retry = "retry: { attempts: 4, delay: 200ms, factor: 2.0, max_delay: 5s, jitter: full, on: [transient] },";
            for line in [
                retry,
                "timeout: 30s,",
                "deadline: 20d,",
                "concurrency: 4,",
                "max_steps: 5000,",
                "max_result: 1MiB,",
                "verify: agents,",
            ] {
                if self.dice.one_in(2) {
                    writeln!(text, "        {line}").unwrap();
                }
            }
            if self.dice.one_in(2) {
                let word = self.dice.pick(&["settle", "pause", "undo"]);
                writeln!(text, "        on_failure: {word},").unwrap();
            }
            text.push_str(BUDGET);
            text.push_str("    }\n");
        }
        text
    }

    /// The budget of a plan, which is known once its body is: it has enough for every loop, and where there is none now
    /// and then just enough for each call.
    fn budget(&mut self, body: &str) -> String {
        if !self.dice.one_in(3) && !body.contains("infer(") {
            return String::new();
        }
        let loops = self.depth > 0
            || ["each ", "repeat ", "race "]
                .iter()
                .any(|word| body.contains(word));
        let calls = if loops {
            5000
        } else {
            (body.matches('(').count() + self.dice.below(3)).max(1)
        };
        let mut parts = vec![format!("calls: {calls}")];
        for part in ["tokens: 90000", "cost: 2.5", "time: 10d", "memory: 64MiB"] {
            if self.dice.one_in(3) {
                parts.push(part.to_owned());
            }
        }
        format!("        budget: {{ {} }},\n", parts.join(", "))
    }

    /// The last statement: it reads what nothing has read.
    fn reply(&mut self) -> String {
        let Ty::Object(object) = self.returns.clone() else {
            return String::new();
        };
        let mut entries = Vec::new();
        for field in &object.fields {
            if field.name != "remarks" && (field.required || self.dice.one_in(2)) {
                entries.push(format!("{}: {}", field.name, self.value(&field.ty, 2).text));
            }
        }
        let remarks = self.remarks(0);
        if !remarks.is_empty() {
            entries.push(format!("remarks: [{}]", remarks.join(", ")));
        }
        let line = format!("    reply {{ {} }}\n", entries.join(", "));
        if line.len() < 120 {
            line
        } else {
            format!(
                "    reply {{\n        {},\n    }}\n",
                entries.join(",\n        ")
            )
        }
    }

    /// A text for each name since `first` that nothing has read.
    pub fn remarks(&mut self, first: usize) -> Vec<String> {
        let mut remarks = Vec::new();
        for name in unread(&self.scope, first) {
            let (read, ty) = self.consumed(&name);
            remarks.push(if ty == Ty::Str {
                read.text
            } else {
                format!("string({})", read.text)
            });
        }
        remarks
    }

    /// The white space before a line.
    pub fn margin(&self) -> String {
        "    ".repeat(self.indent)
    }
}
