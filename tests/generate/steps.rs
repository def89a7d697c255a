//! Writes steps of every kind.

use std::fmt::Write as _;
use std::rc::Rc;

use super::calls::Called;
use super::clauses::EffectClauses;
use super::expressions::braced;
use super::plan::Writer;
use super::readable::Readable;
use super::scope::Kind;
use super::ty::{Field, Object, Ty, any, closed};
use super::words;

/// The body of a step: its text, the type of its value, and its kind.
struct Body {
    text: String,
    ty: Ty,
    kind: Kind,
    /// The call, if the body is one.
    called: Option<Called>,
}

/// Nesting limit of blocks.
const MAX_DEPTH: usize = 4;

impl Writer<'_> {
    /// Writes a step with its clauses.
    pub fn step(&mut self) -> String {
        let parallel = self.parallel.take();
        let name = self.names.value(self.dice);
        let mut text = String::new();
        if self.dice.one_in(16) {
            writeln!(text, "{}/// {}", self.margin(), words::sentence(self.dice)).unwrap();
        }
        let waited = self.wait(&mut text);
        let mark = self.scope.mark();
        let guard = self.step_guard();
        if let Some((condition, proves)) = &guard {
            self.scope.hold(condition);
            self.mark_tested(condition, proves.as_deref());
            if let Some(path) = proves {
                self.scope.mark_present(path);
            }
        }
        let last = parallel.and_then(|first| self.last_step(first));
        let (read_only, undos) = (std::mem::replace(&mut self.read_only, true), self.undos);
        let body = self.body();
        let changes = !self.read_only;
        self.read_only &= read_only;
        let clauses = match &body.called {
            Some(called) => self.call_clauses(&name, called),
            None => String::new(),
        };
        let tool = body.called.as_ref().and_then(|called| called.tool);
        let effect_clauses = if changes {
            let takes_over = body.text.starts_with("each ") && self.undos > undos;
            self.effect_clauses(&name, &body.ty, !takes_over)
        } else {
            EffectClauses {
                text: String::new(),
                may_be_read: true,
            }
        };
        let asks = body.text.starts_with("input ");
        let recovers = !matches!(body.kind, Kind::Race(_)) && !asks && self.dice.below(5) < 2;
        // A failure that an inner arm recovers does not reach an outer arm.
        let plan = body.called.as_ref().and_then(|called| called.plan.as_ref());
        let calls = tool.is_some()
            || plan.is_some_and(|plan| plan.may_fail)
            || body.text.starts_with("infer(")
            || self.calls_tool(&body.text) && !body.text.contains("recover");
        let recover = if body.text.starts_with("wait for ") {
            self.recover_expired(&body.ty)
        } else if recovers {
            self.recover(tool, calls, &body.ty)
        } else {
            String::new()
        };
        self.scope.forget(mark);
        if effect_clauses.may_be_read {
            self.scope.add(&name, body.ty, body.kind);
            if asks && body.text.contains(" known ") {
                self.scope.last_is_constant();
            }
        }
        let margin = self.margin();
        write!(text, "{margin}step {name} = {}", body.text).unwrap();
        if let Some((condition, proves)) = guard {
            self.scope.guard_since(mark, &condition);
            let own_line = body.called.is_some() || self.dice.one_in(2);
            let space = if own_line {
                format!("\n{margin}    ")
            } else {
                " ".to_owned()
            };
            write!(text, "{space}when {condition}").unwrap();
            self.remember(condition, proves);
        }
        text.push('\n');
        let rest = clauses + &effect_clauses.text + &recover;
        // Only `after` makes this step wait for the last one, unless the step reads it. Outside of `parallel` the order
        // of statements already implies it.
        let last = last.filter(|last| !text.contains(last) && !rest.contains(last));
        let waited = waited.filter(|_| parallel.is_some());
        let names: Vec<String> = waited.into_iter().chain(last).collect();
        let after = if names.is_empty() {
            String::new()
        } else {
            format!("{margin}    after {}\n", names.join(", "))
        };
        text + &after + &rest
    }

    /// Returns the condition of a step and the path that it proves to be present. Often it is a condition that occurred
    /// before.
    fn step_guard(&mut self) -> Option<(String, Option<String>)> {
        if !self.dice.one_in(5) {
            return None;
        }
        if self.indent == 1 && !self.guards.is_empty() && self.dice.one_in(2) {
            let known = self.dice.pick(&self.guards).clone();
            // Inside an `if` it may test a path that is not visible here.
            let readable = known
                .1
                .as_ref()
                .is_none_or(|path| self.readables().iter().any(|known| known.text == *path));
            return readable.then_some(known);
        }
        let guard = self.guard()?;
        Some((guard.text.text, guard.proves))
    }

    /// Returns the preceding step in a `parallel`, sometimes: a step for which `after` is not redundant.
    fn last_step(&mut self, first: usize) -> Option<String> {
        let last = self.scope.variables.get(first..)?.last()?;
        let is_step =
            matches!(last.kind, Kind::Step | Kind::Form | Kind::Race(_)) && last.guard.is_empty();
        let name = last.name.clone();
        (is_step && self.dice.one_in(3)).then_some(name)
    }

    fn body(&mut self) -> Body {
        let block = usize::from(self.indent < MAX_DEPTH && self.left > 0);
        match self.dice.weighed(&[
            24,
            4 * block,
            8 * block,
            2 * block,
            4 * block,
            4 * block,
            1,
            1,
            2 * usize::from(self.size.whole_language),
        ]) {
            0 => {
                let called = self.call();
                Body {
                    text: called.text.clone(),
                    ty: called.returns.clone(),
                    kind: Kind::Step,
                    called: Some(called),
                }
            }
            1 => self.do_block(),
            2 => self.each(),
            3 => self.repeat(),
            4 => self.race(),
            5 => self.match_arms(),
            6 => self.infer(),
            8 => self.wait_for(),
            _ => {
                let (text, ty) = self.form();
                Body {
                    text,
                    ty,
                    kind: Kind::Form,
                    called: None,
                }
            }
        }
    }

    /// Writes a wait for a signal or a move of a task, which may not come.
    fn wait_for(&mut self) -> Body {
        let (event, ty) = self.outside_event().unwrap_or_else(|| {
            let ty = closed(&any(self.dice, 1, true));
            // A payload must fit all receivers of its signal, so each type has a signal of its own.
            let written = ty.text();
            let signal = written.replace('"', "'");
            (format!("signal \"sent {signal}\" -> {written}"), ty)
        });
        Body {
            text: format!("wait for {event} within 1h"),
            ty,
            kind: Kind::Step,
            called: None,
        }
    }

    /// Writes an `infer`, with data or without.
    fn infer(&mut self) -> Body {
        let ty = closed(&any(self.dice, 2, false));
        let asked = self.prompted();
        Body {
            text: format!("infer{asked} -> {}", ty.text()),
            ty,
            kind: Kind::Step,
            called: None,
        }
    }

    /// Writes what a wait gives if its event does not come in time, sometimes.
    fn recover_expired(&mut self, ty: &Ty) -> String {
        if self.dice.one_in(3) {
            return String::new();
        }
        let value = self.value(ty, 1).text;
        format!("{}    recover expired => {value}\n", self.margin())
    }

    /// Writes the arguments of a model or an agent: a prompt, with data or without.
    pub fn prompted(&mut self) -> String {
        let prompt = self.template(1).text;
        let with = if self.dice.one_in(2) {
            let data = any(self.dice, 1, true);
            format!(", with: {}", self.value(&data, 1).text)
        } else {
            String::new()
        };
        format!("({prompt}{with})")
    }

    /// Writes the statements of a block, and a `yield` that reads their values.
    fn block(&mut self, names: usize, text: &mut String) -> Ty {
        self.indent += 1;
        for _ in 0..self.dice.between(1, 2) {
            let statement = self.statement(true);
            text.push_str(&statement);
        }
        let (value, ty) = self.yielded(names);
        writeln!(text, "{}yield {value}", self.margin()).unwrap();
        self.indent -= 1;
        ty
    }

    /// Writes the value of a block, from the names since `first`.
    fn yielded(&mut self, first: usize) -> (String, Ty) {
        let paths = self.readables();
        let own: Vec<&Readable> = paths
            .iter()
            .filter(|path| {
                let name = &self.scope.variables[first..]
                    .iter()
                    .find(|known| known.name == path.text);
                name.is_some_and(|known| {
                    known.exact && matches!(known.kind, Kind::Step | Kind::Form)
                })
            })
            .collect();
        let mut entries = Vec::new();
        let mut fields = Vec::new();
        if !own.is_empty() {
            let path = (*self.dice.pick(&own)).clone();
            let read = self.read(&path).text;
            if self.dice.one_in(2) && super::readable::unread(&self.scope, first).is_empty() {
                return (read, path.ty);
            }
            entries.push(format!("made: {read}"));
            fields.push(Field {
                name: "made",
                ty: path.ty,
                required: true,
            });
        }
        let remarks = self.remarks(first);
        entries.push(format!("remarks: [{}]", remarks.join(", ")));
        if remarks.is_empty() {
            entries.pop();
        } else {
            fields.push(Field {
                name: "remarks",
                ty: Ty::Str.list(),
                required: true,
            });
        }
        if entries.is_empty() {
            let text = self.template(1).text;
            return (text, Ty::Str);
        }
        (
            braced(&entries),
            Ty::Object(Rc::new(Object {
                fields,
                open: false,
            })),
        )
    }

    fn do_block(&mut self) -> Body {
        let mark = self.scope.mark();
        let first = self.scope.count();
        let mut text = "do {\n".to_owned();
        let ty = self.block(first, &mut text);
        self.scope.close(mark);
        write!(text, "{}}}", self.margin()).unwrap();
        Body {
            text,
            ty,
            kind: Kind::Step,
            called: None,
        }
    }

    fn each(&mut self) -> Body {
        let paths = self.readables();
        let lists: Vec<&Readable> = paths
            .iter()
            .filter(|path| path.exact && matches!(path.ty, Ty::List(_)))
            .collect();
        let (list, element, known) = if lists.is_empty() {
            ("lists.range(3)".to_owned(), Ty::Int, false)
        } else {
            let path = (*self.dice.pick(&lists)).clone();
            let Ty::List(element) = &path.ty else {
                return self.do_block();
            };
            (self.read(&path).text, (**element).clone(), path.constant)
        };
        let name = self.names.value(self.dice);
        let mut text = format!("each {name}");
        let mark = self.scope.mark();
        self.scope.add(&name, element.clone(), Kind::Local);
        if self.dice.one_in(4) {
            let index = self.names.value(self.dice);
            write!(text, ", {index}").unwrap();
            self.scope.add(&index, Ty::Int, Kind::Local);
        }
        write!(text, " in {list} max {}", self.dice.between(10, 50)).unwrap();
        if self.dice.one_in(3) {
            write!(text, " parallel {}", self.dice.between(1, 8)).unwrap();
        }
        // Known elements may be equal, and then the key is not unique.
        if self.dice.one_in(8) && !known {
            write!(text, " by json({name})").unwrap();
        }
        let settle = self.dice.one_in(5);
        text.push_str(if settle { " settle {\n" } else { " {\n" });
        let first = self.scope.count();
        let mut ty = self.block(first, &mut text);
        self.scope.close(mark);
        write!(text, "{}}}", self.margin()).unwrap();
        if settle {
            ty = Ty::Result(Rc::new(ty));
        }
        Body {
            text,
            ty: ty.list(),
            kind: Kind::Step,
            called: None,
        }
    }

    fn repeat(&mut self) -> Body {
        let state = self.names.value(self.dice);
        let mut text = format!(
            "repeat {state} = {} max {} {{\n",
            self.dice.below(3),
            self.dice.between(8, 20)
        );
        let mark = self.scope.mark();
        self.scope.add(&state, Ty::Int, Kind::Local);
        let first = self.scope.count();
        let ty = self.block(first, &mut text);
        let margin = self.margin();
        let end = self.dice.between(3, 5);
        if self.dice.one_in(2) {
            writeln!(
                text,
                "{margin}    next {state} < {end} ? {state} + 1 : null"
            )
            .unwrap();
        } else {
            writeln!(text, "{margin}    next {state} + 1 when {state} < {end}").unwrap();
        }
        self.scope.close(mark);
        write!(text, "{margin}}}").unwrap();
        Body {
            text,
            ty: ty.list(),
            kind: Kind::Step,
            called: None,
        }
    }

    fn race(&mut self) -> Body {
        let reads: Vec<usize> = (0..self.catalog.tools.len())
            .filter(|tool| self.catalog.tools[*tool].is_read_only())
            .collect();
        let tool = *self.dice.pick(&reads);
        let mut text = "race {\n".to_owned();
        let branches: Vec<String> = ["near", "far", "备份"][..self.dice.between(2, 3)]
            .iter()
            .map(|&name| name.into())
            .collect();
        self.indent += 1;
        let before = std::mem::replace(&mut self.restricted_to_reads, true);
        for branch in &branches {
            let call = self.tool_call(tool).text;
            writeln!(text, "{}{branch}: {call},", self.margin()).unwrap();
        }
        self.restricted_to_reads = before;
        self.indent -= 1;
        write!(text, "{}}}", self.margin()).unwrap();
        let ty = self.catalog.tools[tool].returns.clone();
        Body {
            text,
            ty,
            kind: Kind::Race(branches),
            called: None,
        }
    }

    fn match_arms(&mut self) -> Body {
        let paths = self.readables();
        let subjects: Vec<&Readable> = paths
            .iter()
            .filter(|path| path.exact && !path.text.contains("?.") && patterns(&path.ty).is_some())
            .collect();
        if subjects.is_empty() {
            return self.do_block();
        }
        let subject = (*self.dice.pick(&subjects)).clone();
        let Some(mut patterns) = patterns(&subject.ty) else {
            return self.do_block();
        };
        if self.dice.one_in(3) {
            "_".clone_into(patterns.last_mut().unwrap());
        }
        let read = self.read(&subject).text;
        let tools: Vec<usize> = (0..self.catalog.tools.len())
            .filter(|tool| !self.restricted_to_reads || self.catalog.tools[*tool].is_read_only())
            .collect();
        let tool = *self.dice.pick(&tools);
        let ty = self.catalog.tools[tool].returns.clone();
        let mark = self.scope.mark();
        self.scope.hide(&subject.text);
        self.scope.hide_guarded(&subject.text);
        let mut text = format!("match {read} {{\n");
        self.indent += 1;
        for (place, pattern) in patterns.iter().enumerate() {
            let arm = match self.dice.below(6) {
                _ if place == 0 => self.tool_call(tool).text,
                0 => self.do_arm(&ty),
                1 => self.value(&ty, 1).text,
                2 => format!("fail denied.policy {}", self.template(1).text),
                _ => self.tool_call(tool).text,
            };
            writeln!(text, "{}{pattern} => {arm},", self.margin()).unwrap();
        }
        self.indent -= 1;
        self.scope.forget(mark);
        write!(text, "{}}}", self.margin()).unwrap();
        Body {
            text,
            ty,
            kind: Kind::Step,
            called: None,
        }
    }

    /// Writes `do { … }` with a value of this type.
    pub fn do_arm(&mut self, ty: &Ty) -> String {
        let mark = self.scope.mark();
        self.indent += 1;
        let mut text = "do {\n".to_owned();
        let name = self.names.value(self.dice);
        let called = self.call();
        writeln!(text, "{}step {name} = {}", self.margin(), called.text).unwrap();
        self.scope.add(&name, called.returns, Kind::Step);
        let value = self.value(ty, 1).text;
        writeln!(text, "{}yield {value}", self.margin()).unwrap();
        self.indent -= 1;
        self.scope.close(mark);
        write!(text, "{}}}", self.margin()).unwrap();
        text
    }
}

/// Returns patterns that together cover every value of a type.
fn patterns(ty: &Ty) -> Option<Vec<String>> {
    Some(match ty {
        Ty::Bool => vec!["true".to_owned(), "false".to_owned()],
        Ty::Words(words) => words.iter().map(|word| format!("\"{word}\"")).collect(),
        Ty::Opt(inner) if matches!(**inner, Ty::Words(_)) => {
            let mut all = patterns(inner)?;
            all.push("null".to_owned());
            all
        }
        Ty::Int => vec!["0 | 1".to_owned(), "-1".to_owned(), "_".to_owned()],
        Ty::Object(object) => {
            let field = object
                .fields
                .iter()
                .find(|field| field.required && matches!(field.ty, Ty::Words(_) | Ty::Bool))?;
            patterns(&field.ty)?
                .into_iter()
                .map(|pattern| format!("{{ {}: {pattern} }}", field.name))
                .collect()
        }
        _ => return None,
    })
}
