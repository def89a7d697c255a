//! Writes whole plan files: items, heads of plans, settings, replies.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::rc::Rc;

use super::catalog::Catalog;
use super::contracts::{ROWS, Row};
use super::language::Task;
use super::marks::{Limited, Marks};
use super::readable::unread;
use super::scope::{Kind, Scope};
use super::ty::{self, Field, Object, Ty};
use super::words::{self, Names};
use super::{Dice, Size};

/// A plan file, with the plan that other files may call.
pub struct PlanFile {
    pub text: String,
    pub called: Rc<PlanHead>,
    pub limited: Vec<Limited>,
}

/// The properties of a plan that a caller needs.
pub struct PlanHead {
    pub name: String,
    pub parameters: Vec<Input>,
    pub returns: Ty,
    /// Whether all its calls are read-only.
    pub read_only: bool,
    /// Whether it asks an agent.
    pub asks: bool,
    /// Whether a call in it may fail without being recovered.
    pub may_fail: bool,
    /// Length of the longest chain of plan calls below it.
    depth: usize,
}

pub struct Input {
    pub name: String,
    pub ty: Ty,
    pub required: bool,
    /// The contract of an argument to which its value is passed.
    pub limited: Option<&'static Row>,
}

/// Writes one plan file.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent property of the place or the file"
)]
pub struct Writer<'a> {
    pub dice: &'a mut Dice,
    pub catalog: &'a Catalog,
    pub size: Size,
    /// Whether no other file calls its last plan.
    is_main: bool,
    /// The plan of the other file.
    pub other: Option<Rc<PlanHead>>,
    /// Plans of this file that may be called here.
    pub own: Vec<Rc<PlanHead>>,
    /// The places that a contract constrains.
    pub marks: Marks,
    /// Whether no other plan calls the current plan.
    pub is_last: bool,
    /// Length of the longest chain of plan calls below the current plan.
    depth: usize,
    pub names: Names,
    pub scope: Scope,
    pub indent: usize,
    /// Number of statements left to write.
    pub left: usize,
    /// Conditions that already occur in the plan, with the paths that they prove to be present.
    pub guards: Vec<(String, Option<String>)>,
    /// Whether only read-only calls are allowed here.
    pub restricted_to_reads: bool,
    /// Whether all calls so far are read-only.
    pub read_only: bool,
    /// Whether the plan, or a plan that it calls, asks an agent.
    pub asks: bool,
    /// The tasks of the plan.
    pub tasks: Vec<Task>,
    /// Inside `parallel`: number of names that were visible before it.
    pub parallel: Option<usize>,
    /// Number of steps with `undo` so far.
    pub undos: usize,
    /// The type of the plan's reply.
    pub returns: Ty,
    /// Paths that are read in a place that a contract constrains, each with the first of these contracts.
    pub limited: BTreeMap<String, &'static Row>,
    namespaces: BTreeSet<&'static str>,
    calls_other: bool,
    /// The tools whose items the file needs.
    items: BTreeSet<usize>,
}

/// Placeholder for the budget in the settings.
const BUDGET: &str = "BUDGET";
/// The part of an `allow` that denies agents, for plans that do not ask any.
pub const NO_AGENTS: &str = ", agents: []";
/// Longest chain of plan calls.
const MAX_DEPTH: usize = 2;
/// The namespace of the plans in the other file.
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
        restricted_to_reads: false,
        read_only: true,
        asks: false,
        tasks: Vec::new(),
        parallel: None,
        undos: 0,
        returns: Ty::Str,
        limited: BTreeMap::new(),
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
        if head.depth < MAX_DEPTH {
            writer.own.push(head.clone());
        }
        called = Some(head);
    }
    // A plan may also call one that is declared below it.
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
    /// Writes the part above the plans. It depends on them, so it is written last.
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

    /// Records that a tool is called.
    pub fn note_call(&mut self, tool: usize) {
        let called = &self.catalog.tools[tool];
        self.namespaces.insert(called.namespace);
        self.read_only &= called.is_read_only();
        if called.item.is_some() {
            self.items.insert(tool);
        }
    }

    /// Records that a tool or agent of a namespace is used.
    pub fn note_namespace(&mut self, namespace: &'static str) {
        self.namespaces.insert(namespace);
    }

    /// Records that a plan is called. `other`: it is in the other file.
    pub fn note_plan(&mut self, plan: &PlanHead, other: bool) {
        self.calls_other |= other;
        self.read_only &= plan.read_only;
        self.asks |= plan.asks;
        self.depth = self.depth.max(plan.depth + 1);
    }

    /// Returns true if other plans may call this one.
    pub fn is_called(&self) -> bool {
        !self.is_last
    }

    /// Writes one plan, with the types that it names.
    fn plan(&mut self) -> (String, PlanHead) {
        self.scope = Scope::default();
        self.guards.clear();
        self.read_only = true;
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
        self.declare_tasks(&mut body);
        self.network_step(&mut settings, &mut body);
        while self.left > 0 {
            let statement = self.statement(true);
            body.push_str(&statement);
        }
        self.set_tasks(&mut body);
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
        // A plan that is called declares its return type; otherwise the type would be that of its constants.
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
            limited: self.limited.get(&input.name).copied(),
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
                read_only: self.read_only,
                asks: self.asks,
                may_fail,
                depth: self.depth,
            },
        )
    }

    /// Returns the parameters and their texts. The types that they name are added to `items`.
    fn inputs(&mut self, items: &mut String) -> Vec<(Input, String)> {
        let count = self.dice.between(2, 5);
        let mut inputs = Vec::new();
        for place in 0..count {
            let name = self.names.value(self.dice);
            let deep = if self.dice.one_in(3) { 2 } else { 0 };
            // The first one has a type that conditions can test.
            let ty = match place {
                0 => Ty::Int,
                // The type of an argument that a contract constrains, so that the parameter can be passed there.
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
                    limited: None,
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

    /// Writes the budget of a plan, which depends on its body. It is enough for all loops; without loops it is
    /// sometimes just enough for the calls.
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

    /// Writes the last statement, which reads all names that are still unread.
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

    /// Writes a string for each unread name since `first`.
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

    /// Returns the indentation of a line.
    pub fn margin(&self) -> String {
        "    ".repeat(self.indent)
    }
}
