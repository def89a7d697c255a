//! Writes plans in which every call is an effect, so that the order of calls is observable.
//!
//! They use every ordered part of the language: blocks, loops, conditions, early ends, `parallel`, `after`, `recover`
//! arms, `undo`, plans of the same file, and tasks. All values are integers, because only the order matters.

use std::fmt::Write as _;

use super::Dice;

/// A generated plan file.
#[derive(Clone)]
pub struct Effects {
    pub text: String,
    /// Whether its calls may fail.
    pub fallible: bool,
}

/// The tools of every such plan.
pub const TOOLS: &str = "use w
tool w.make(x: int) -> int effect fails busy, gone
tool w.send(x: int) -> int effect fails busy
tool w.put(x: int) -> int idempotent
tool w.drop(x: int) -> int effect fails busy
tool w.risk(x: int) -> int effect
tool w.look(x: int) -> int read
tool w.miss(x: int) -> int read fails gone
";

/// The place of a block, which determines the statements that it may contain.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Plan,
    Block,
    Round,
    /// In `parallel`, or under a condition of the plan: no statement that may end the block.
    Plain,
}

/// The type of a name.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Int,
    /// An integer that may be null.
    Maybe,
    Ints,
    /// The results of an `each … settle`.
    Results,
}

struct Writer<'a> {
    dice: &'a mut Dice,
    scope: Vec<(String, Kind)>,
    names: usize,
    indent: usize,
    /// Number of statements left to write.
    left: usize,
    fallible: bool,
    /// Names of the plans that are already written.
    plans: Vec<String>,
    /// Whether statements here run concurrently with others, so that a plan that may fail must not be called.
    concurrent: bool,
    /// The task of the plan, if it has one.
    task: Option<String>,
    /// Whether statements here are in an `each`, which cannot set a task.
    in_each: bool,
}

/// Nesting limit of blocks.
const MAX_DEPTH: usize = 3;

/// Writes the plan of a seed.
pub fn effects(seed: u64) -> Effects {
    let mut dice = Dice::new(seed ^ 0x0eff_ec75);
    let fallible = !dice.one_in(3);
    let helpers = dice.weighed(&[3, 2, 1]);
    let mut writer = Writer {
        dice: &mut dice,
        scope: Vec::new(),
        names: 0,
        indent: 0,
        left: 0,
        fallible,
        plans: Vec::new(),
        concurrent: false,
        task: None,
        in_each: false,
    };
    let mut text = TOOLS.to_owned();
    for _ in 0..helpers {
        let plan = writer.plan(false);
        text.push_str(&plan);
    }
    let plan = writer.plan(true);
    text.push_str(&plan);
    Effects { text, fallible }
}

impl Writer<'_> {
    fn plan(&mut self, main: bool) -> String {
        let name = if main {
            "main".to_owned()
        } else {
            self.name("plan_")
        };
        let input = self.name("n");
        self.scope = vec![(input.clone(), Kind::Int)];
        self.left = if main {
            self.dice.between(5, 9)
        } else {
            self.dice.between(2, 3)
        };
        self.task = None;
        let mut text = format!("\nplan {name}({input}: int) -> int {{\n");
        self.indent = 1;
        let words = if main {
            ["settle", "settle", "pause", "undo"]
        } else {
            ["settle", "undo", "undo", "undo"]
        };
        if self.fallible && self.dice.one_in(2) {
            writeln!(
                text,
                "    policy {{ on_failure: {} }}",
                self.dice.pick(&words)
            )
            .unwrap();
        }
        if main && self.dice.one_in(3) {
            let task = self.name("task_");
            writeln!(text, "    task {task} \"T\" {{ note: int }}").unwrap();
            self.task = Some(task);
        }
        if main {
            let first = self.plain_step();
            text.push_str(&first);
        }
        while self.left > 0 {
            let statement = self.statement(Place::Plan);
            text.push_str(&statement);
        }
        if let Some(task) = self.task.take() {
            let value = self.int();
            writeln!(text, "    set {task} done {{ note: {value} }}").unwrap();
        }
        writeln!(text, "    reply {}\n}}", self.int()).unwrap();
        if !main {
            self.plans.push(name);
        }
        text
    }

    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn margin(&self) -> String {
        "    ".repeat(self.indent)
    }

    /// Writes an integer that depends on the run.
    fn read(&mut self) -> String {
        let (name, kind) = match &self.task {
            // The context changes, so the order of its readers matters.
            Some(task) if self.dice.one_in(5) => (format!("{task}.note"), Kind::Maybe),
            _ => self.dice.pick(&self.scope).clone(),
        };
        match kind {
            Kind::Int => name,
            Kind::Maybe => format!("({name} ?? {})", self.dice.below(4)),
            Kind::Ints => format!("size({name})"),
            Kind::Results => format!("size({name}.filter(r, r.ok))"),
        }
    }

    fn int(&mut self) -> String {
        let read = self.read();
        match self.dice.below(if self.fallible { 26 } else { 24 }) {
            0..=11 => read,
            12..=15 => format!("{read} + {}", self.dice.between(1, 9)),
            16..=19 => format!("{read} % 3 + 1"),
            20..=23 => format!("{read} + {}", self.read()),
            // Fails if it is zero.
            _ => format!("12 / {read}"),
        }
    }

    fn condition(&mut self) -> String {
        let read = self.read();
        match self.dice.below(if self.fallible { 26 } else { 24 }) {
            0..=9 => format!("{read} > {}", self.dice.below(4)),
            10..=17 => format!("{read} % 2 == {}", self.dice.below(2)),
            18..=23 => format!(
                "{read} > 0 && {} < {}",
                self.read(),
                self.dice.between(2, 6)
            ),
            _ => format!("12 / {read} > 2"),
        }
    }

    /// Writes a condition that rarely holds.
    fn rare(&mut self) -> String {
        format!("{} == {}", self.read(), self.dice.between(2, 6))
    }

    fn statement(&mut self, place: Place) -> String {
        self.left = self.left.saturating_sub(1);
        let ends = usize::from(place != Place::Plain);
        let plan = usize::from(place == Place::Plan);
        let fallible = usize::from(self.fallible);
        let tasks = usize::from(self.task.is_some() && !self.concurrent && !self.in_each);
        match self.dice.weighed(&[
            20,
            4,
            4,
            3 * plan,
            ends,
            ends * fallible,
            ends * fallible,
            6 * tasks,
            plan,
        ]) {
            0 => self.step(place),
            1 => self.let_value(),
            2 => self.branches(place),
            3 => self.parallel(),
            4 => self.early_end(place),
            5 => format!(
                "{}ensure {} != {} else \"no\"\n",
                self.margin(),
                self.read(),
                self.dice.between(2, 6)
            ),
            6 => {
                let class = *self.dice.pick(&["denied.policy", "tool.gone", "tool.mine"]);
                format!(
                    "{}fail {class} \"no\" when {}\n",
                    self.margin(),
                    self.rare()
                )
            }
            7 => {
                let task = self.task.clone().unwrap_or_default();
                let value = self.int();
                format!("{}set {task} running {{ note: {value} }}\n", self.margin())
            }
            _ => {
                let name = self.name("pause");
                format!(
                    "{}step {name} = wait {}\n",
                    self.margin(),
                    self.dice.pick(&["7ms", "40ms", "2s"])
                )
            }
        }
    }

    fn let_value(&mut self) -> String {
        let name = self.name("l");
        let text = format!("{}let {name} = {}\n", self.margin(), self.int());
        self.scope.push((name, Kind::Int));
        text
    }

    fn early_end(&mut self, place: Place) -> String {
        let word = match place {
            Place::Plan => "reply",
            Place::Block | Place::Round | Place::Plain => "yield",
        };
        let value = self.int();
        format!("{}{word} {value} when {}\n", self.margin(), self.rare())
    }

    /// Writes statements under a condition. Their names stay visible, but may be null.
    fn arm(&mut self, place: Place, shared: Option<&str>) -> String {
        let first = self.scope.len();
        self.indent += 1;
        let mut text = String::new();
        for _ in 0..self.dice.between(1, 2) {
            let statement = self.statement(if place == Place::Plan {
                Place::Plain
            } else {
                place
            });
            text.push_str(&statement);
        }
        if let Some(shared) = shared {
            let call = self.call();
            writeln!(text, "{}step {shared} = {call}", self.margin()).unwrap();
        }
        self.indent -= 1;
        for (_, kind) in &mut self.scope[first..] {
            if *kind == Kind::Int {
                *kind = Kind::Maybe;
            }
        }
        let mut at = 0;
        self.scope.retain(|(_, kind)| {
            at += 1;
            at <= first || *kind == Kind::Maybe
        });
        text
    }

    fn branches(&mut self, place: Place) -> String {
        let margin = self.margin();
        let condition = self.condition();
        let shared = self.dice.one_in(4).then(|| self.name("s"));
        let before = self.scope.len();
        let mut text = format!(
            "{margin}if {condition} {{\n{}",
            self.arm(place, shared.as_deref())
        );
        // One branch does not read the names of the other.
        let given = self.scope.split_off(before);
        if shared.is_none() && self.dice.one_in(4) {
            let condition = self.condition();
            write!(
                text,
                "{margin}}} else if {condition} {{\n{}",
                self.arm(place, None)
            )
            .unwrap();
        }
        if shared.is_some() || self.dice.one_in(2) {
            write!(
                text,
                "{margin}}} else {{\n{}",
                self.arm(place, shared.as_deref())
            )
            .unwrap();
        }
        self.scope.extend(given);
        self.scope.extend(shared.map(|name| (name, Kind::Int)));
        writeln!(text, "{margin}}}").unwrap();
        text
    }

    fn parallel(&mut self) -> String {
        let margin = self.margin();
        let mut text = format!("{margin}parallel {{\n");
        self.indent += 1;
        let before = std::mem::replace(&mut self.concurrent, true);
        for _ in 0..self.dice.between(2, 3) {
            let statement = match self.dice.below(8) {
                0 => self.let_value(),
                1 | 2 => self.branches(Place::Plain),
                _ => self.step(Place::Plain),
            };
            text.push_str(&statement);
        }
        self.concurrent = before;
        self.indent -= 1;
        writeln!(text, "{margin}}}").unwrap();
        text
    }

    /// Writes a call of a tool or plan with effects.
    fn call(&mut self) -> String {
        let value = self.int();
        if !self.plans.is_empty() && self.dice.one_in(5) && !(self.concurrent && self.fallible) {
            return format!(
                "{}({}: {value})",
                self.plans[self.plans.len() - 1],
                self.input_of_last()
            );
        }
        let tool = *self.dice.pick(&["make", "make", "send", "put"]);
        format!("w.{tool}(x: {value})")
    }

    /// Returns the name of the input of the last plan; it was numbered right after the plan.
    fn input_of_last(&self) -> String {
        let last = &self.plans[self.plans.len() - 1];
        let number: usize = last.trim_start_matches("plan_").parse().unwrap();
        format!("n{}", number + 1)
    }

    fn step(&mut self, place: Place) -> String {
        let name = self.name("s");
        let margin = self.margin();
        let deep = usize::from(self.indent <= MAX_DEPTH);
        let first = self.scope.len();
        let guard = self.dice.one_in(6).then(|| self.condition());
        let named: Vec<String> = self.own_steps(place);
        let (body, kind, may_undo) =
            match self
                .dice
                .weighed(&[16, 4 * deep, 4 * deep, 2 * deep, 2 * deep, 1, 2, 1])
            {
                0 => (self.call(), Kind::Int, true),
                1 => (self.do_block(), Kind::Int, true),
                2 => {
                    let (text, kind) = self.each();
                    (text, kind, true)
                }
                3 => (self.repeat(), Kind::Ints, true),
                4 => (self.matched(), Kind::Int, true),
                5 => (self.race(), Kind::Int, false),
                // Its outcome may be unknown.
                6 => (format!("w.risk(x: {})", self.int()), Kind::Int, false),
                _ => (self.pure(), Kind::Int, true),
            };
        self.scope.truncate(first);
        let mut text = format!("{margin}step {name} = {body}\n");
        if let Some(guard) = &guard {
            writeln!(text, "{margin}    when {guard}").unwrap();
        }
        if !named.is_empty() && self.dice.one_in(5) {
            let after = self.dice.pick(&named).clone();
            writeln!(text, "{margin}    after {after}").unwrap();
        }
        if body.starts_with("w.make") && self.fallible && self.dice.one_in(4) {
            let retry = *self.dice.pick(&[
                "{ attempts: 2 }",
                "{ attempts: 3, on: [tool.busy, transient], delay: 5ms }",
            ]);
            writeln!(text, "{margin}    retry {retry}").unwrap();
        }
        let recovers = self.fallible && kind == Kind::Int && self.dice.one_in(4);
        if recovers {
            self.recover(&mut text, body.starts_with("w.risk"));
        }
        let gives = if may_undo && kind == Kind::Int && !body.starts_with("w.put") {
            Some(name.as_str())
        } else {
            None
        };
        let calls = body.contains("w.") && !body.starts_with("race") || body.contains("plan_");
        if calls && self.dice.one_in(3) {
            self.undo(&mut text, gives);
        }
        let kind = match (kind, &guard) {
            (Kind::Int, Some(_)) => Some(Kind::Maybe),
            (kind, None) => Some(kind),
            // Lists that may be null are not read.
            (_, Some(_)) => None,
        };
        self.scope.extend(kind.map(|kind| (name, kind)));
        text
    }

    /// Returns the preceding steps that `after` may name.
    fn own_steps(&self, place: Place) -> Vec<String> {
        if place != Place::Plan && place != Place::Plain || self.indent > 2 {
            return Vec::new();
        }
        let steps = self
            .scope
            .iter()
            .filter(|(name, kind)| name.starts_with('s') && *kind == Kind::Int);
        steps.map(|(name, _)| name.clone()).collect()
    }

    /// Writes statements that yield an integer.
    fn block(&mut self, place: Place, text: &mut String) {
        let first = self.scope.len();
        self.indent += 1;
        let before = self.dice.below(2);
        for number in 0..=before {
            // At least one call.
            let statement = if number == before {
                self.plain_step()
            } else {
                self.statement(place)
            };
            text.push_str(&statement);
        }
        let value = self.int();
        writeln!(text, "{}yield {value}", self.margin()).unwrap();
        self.indent -= 1;
        self.scope.truncate(first);
    }

    fn plain_step(&mut self) -> String {
        let name = self.name("s");
        let call = self.call();
        let mut text = format!("{}step {name} = {call}\n", self.margin());
        if self.dice.one_in(3) {
            self.undo(
                &mut text,
                Some(&name)
                    .filter(|_| !call.starts_with("w.put"))
                    .map(String::as_str),
            );
        }
        self.scope.push((name, Kind::Int));
        text
    }

    /// Writes a block without calls, which does not wait for its position.
    fn pure(&mut self) -> String {
        let (margin, value) = (self.margin(), self.int());
        if !self.fallible || self.dice.one_in(3) {
            return format!("do {{ yield {value} }}");
        }
        if self.dice.one_in(2) {
            return format!(
                "do {{\n{margin}    ensure {} != 3 else \"no\"\n{margin}    yield {value}\n{margin}}}",
                self.read()
            );
        }
        let read = self.read();
        format!(
            "match {read} % 4 {{\n{margin}    1 => fail tool.gone \"no\",\n{margin}    _ => {value},\n{margin}}}"
        )
    }

    fn do_block(&mut self) -> String {
        let mut text = "do {\n".to_owned();
        self.block(Place::Block, &mut text);
        text + &self.margin() + "}"
    }

    fn each(&mut self) -> (String, Kind) {
        let lists: Vec<String> = self
            .scope
            .iter()
            .filter(|(_, kind)| *kind == Kind::Ints)
            .map(|(name, _)| name.clone())
            .collect();
        let list = if lists.is_empty() || self.dice.one_in(2) {
            match self.dice.below(3) {
                0 => format!("lists.range({})", self.dice.between(1, 3)),
                1 => format!("[{}, {}]", self.int(), self.int()),
                _ => format!("lists.range(({}) % 4)", self.read()),
            }
        } else {
            self.dice.pick(&lists).clone()
        };
        let element = self.name("e");
        let mut text = format!("each {element} in {list} max 20");
        let wide = self.dice.one_in(3);
        if wide {
            write!(text, " parallel {}", self.dice.between(2, 3)).unwrap();
        }
        let settle = self.dice.one_in(4);
        text.push_str(if settle { " settle {\n" } else { " {\n" });
        let before = (self.concurrent, self.in_each);
        self.concurrent |= wide;
        self.in_each = true;
        self.scope.push((element, Kind::Int));
        self.block(Place::Block, &mut text);
        self.scope.pop();
        (self.concurrent, self.in_each) = before;
        (
            text + &self.margin() + "}",
            if settle { Kind::Results } else { Kind::Ints },
        )
    }

    fn repeat(&mut self) -> String {
        let state = self.name("r");
        let most = self.dice.between(1, 2);
        let mut text = format!("repeat {state} = {} max 4 {{\n", self.dice.below(2));
        self.scope.push((state.clone(), Kind::Int));
        self.block(Place::Round, &mut text);
        self.scope.pop();
        let margin = self.margin();
        if self.dice.one_in(2) {
            writeln!(text, "{margin}    next {state} + 1 when {state} < {most}").unwrap();
        } else {
            writeln!(
                text,
                "{margin}    next {state} < {most} ? {state} + 1 : null"
            )
            .unwrap();
        }
        text + &margin + "}"
    }

    fn matched(&mut self) -> String {
        let margin = self.margin();
        let mut text = format!("match {} % 3 {{\n", self.read());
        self.indent += 1;
        for pattern in ["0", "1", "_"] {
            let arm = match self.dice.below(6) {
                _ if pattern == "_" => self.call(),
                0 => self.do_block(),
                1 => self.int(),
                2 if self.fallible => "fail tool.gone \"no\"".to_owned(),
                _ => self.call(),
            };
            writeln!(text, "{margin}    {pattern} => {arm},").unwrap();
        }
        self.indent -= 1;
        text + &margin + "}"
    }

    /// Writes a race whose branches send the same request, so that the result does not depend on the winner.
    fn race(&mut self) -> String {
        let value = self.read();
        let other = *self.dice.pick(&["look", "miss"]);
        let one = if self.fallible && self.dice.one_in(3) {
            "miss"
        } else {
            "look"
        };
        let margin = self.margin();
        format!(
            "race {{\n{margin}    near: w.{other}(x: {value}),\n{margin}    far: w.{one}(x: {value}),\n{margin}}}"
        )
    }

    fn recover(&mut self, text: &mut String, risky: bool) {
        let margin = self.margin();
        let class = match (risky, self.dice.below(4)) {
            (true, 0..=2) => "unknown_outcome",
            (_, 0) => "validation.expression",
            (_, 1) => "transient",
            _ => "_",
        };
        let class = if class == "_" {
            String::new()
        } else {
            format!(" {class}")
        };
        let first = self.scope.len();
        self.indent += 1;
        let arm = match self.dice.below(5) {
            0 => {
                writeln!(
                    text,
                    "{margin}    recover{class} as e => w.make(x: size(e.class))"
                )
                .unwrap();
                self.indent -= 1;
                return;
            }
            1 => self.do_block(),
            2 => "fail denied.policy \"no\"".to_owned(),
            3 => self.call(),
            _ => self.int(),
        };
        self.indent -= 1;
        self.scope.truncate(first);
        writeln!(text, "{margin}    recover{class} => {arm}").unwrap();
    }

    /// Writes `undo`. `gives` is the name of the step if its value is always known.
    fn undo(&mut self, text: &mut String, gives: Option<&str>) {
        let margin = self.margin();
        let value = match gives {
            Some(name) if !self.dice.one_in(3) => format!("{name} + 100"),
            Some(_) | None => self.dice.between(100, 120).to_string(),
        };
        if !self.dice.one_in(3) {
            return writeln!(text, "{margin}    undo w.drop(x: {value})").unwrap();
        }
        let (one, two) = (self.name("u"), self.name("u"));
        writeln!(
            text,
            "{margin}    undo do {{\n{margin}        step {one} = w.drop(x: {value})"
        )
        .unwrap();
        writeln!(
            text,
            "{margin}        step {two} = w.drop(x: {one})\n{margin}    }}"
        )
        .unwrap();
    }
}
