//! Writes statements: lets, conditions, `ensure`, early ends, `parallel`.

use std::fmt::Write as _;

use super::expressions::Level;
use super::plan::Writer;
use super::readable::Readable;
use super::scope::Kind;
use super::ty::{self, Ty};
use super::words;

impl Writer<'_> {
    /// Writes one statement, with its blocks. `lets`: whether it may be a `let`, which a later statement then has to
    /// read.
    pub fn statement(&mut self, lets: bool) -> String {
        self.left = self.left.saturating_sub(1);
        let mut text = String::new();
        if self.dice.one_in(12) {
            writeln!(text, "{}// {}", self.margin(), words::sentence(self.dice)).unwrap();
        }
        if self.dice.one_in(20) {
            text.insert(0, '\n');
        }
        let plan = usize::from(self.indent == 1);
        let value = usize::from(lets);
        let written =
            match self
                .dice
                .weighed(&[14, 5 * value, 3 * value, 1, plan, plan, 2 * plan, 2 * plan])
            {
                0 => self.step(),
                1 => self.let_value(),
                2 => self.if_blocks(),
                3 => self.ensure(),
                4 => self.early_reply(),
                5 => self.guarded_fail(),
                6 => self.parallel(),
                _ => self.early_set().unwrap_or_else(|| self.parallel()),
            };
        text + &written
    }

    /// Writes steps, and sometimes a `let`, that need not wait for each other.
    fn parallel(&mut self) -> String {
        let margin = self.margin();
        let mut text = format!("{margin}parallel {{\n");
        let first = self.scope.variables.len();
        self.indent += 1;
        for _ in 0..self.dice.between(2, 3) {
            self.parallel = Some(first);
            let statement = if self.dice.one_in(6) {
                self.let_value()
            } else {
                self.step()
            };
            text.push_str(&statement);
        }
        self.parallel = None;
        self.indent -= 1;
        writeln!(text, "{margin}}}").unwrap();
        text
    }

    fn let_value(&mut self) -> String {
        let name = self.names.value(self.dice);
        let exact = self.dice.one_in(3);
        let deep = if self.dice.one_in(3) { 2 } else { 1 };
        // Without a declared type the checker may know a narrower one; for scalars that does no harm.
        let simple = self
            .dice
            .pick(&[Ty::Str, Ty::Int, Ty::Double, Ty::Bool])
            .clone();
        let ty = if exact {
            ty::closed(&ty::any(self.dice, deep, true))
        } else {
            simple
        };
        let value = if exact {
            self.value(&ty, 2)
        } else {
            self.made(&ty, 2)
        };
        let colon = if exact {
            format!(": {}", ty.text())
        } else {
            String::new()
        };
        let constant = self.scope.is_constant(&value.text);
        self.scope.add_made(&name, ty, Kind::Let, exact);
        if constant {
            self.scope.last_is_constant();
        }
        format!("{}let {name}{colon} = {}\n", self.margin(), value.text)
    }

    /// Stores a condition of a top-level statement of the plan for reuse in later ones.
    pub fn remember(&mut self, condition: String, proves: Option<String>) {
        if self.indent == 1 {
            self.guards.push((condition, proves));
        }
    }

    /// Writes an `if`, sometimes with further arms.
    fn if_blocks(&mut self) -> String {
        let Some(guard) = self.guard() else {
            return self.let_value();
        };
        let margin = self.margin();
        let mut text = format!("{margin}if {} {{\n", guard.text.text);
        let outer = self.scope.mark();
        let mut conditions = vec![guard.text.text.clone()];
        // Sometimes both branches define the same name.
        let shared = self.dice.one_in(3).then(|| {
            (
                self.names.value(self.dice),
                ty::closed(&ty::any(self.dice, 1, true)),
            )
        });
        self.block_under(
            &guard.text.text,
            guard.proves.as_deref(),
            shared.as_ref(),
            &mut text,
        );
        let further = if shared.is_none() && self.dice.one_in(4) {
            let known = self.scope.mark();
            self.mark_tested(&conditions[0], None);
            let other = self.condition(1);
            self.scope.forget(known);
            other
        } else {
            None
        };
        if let Some(other) = further {
            let negated = format!("!({})", conditions[0]);
            writeln!(text, "{margin}}} else if {} {{", other.text).unwrap();
            let mark = self.scope.mark();
            self.scope.hold(&negated);
            self.mark_tested(&negated, None);
            self.block_under(&other.text, None, None, &mut text);
            self.scope.guard_since(mark, &negated);
            conditions.push(other.text);
        } else if shared.is_some() || self.dice.one_in(2) {
            let negated = format!("!({})", conditions[0]);
            writeln!(text, "{margin}}} else {{").unwrap();
            self.block_under(&negated, None, shared.as_ref(), &mut text);
        }
        self.scope.forget(outer);
        if let Some((name, ty)) = shared {
            self.scope.add(&name, ty, Kind::Let);
        }
        self.remember(conditions.swap_remove(0), guard.proves);
        writeln!(text, "{margin}}}").unwrap();
        text
    }

    /// Writes the statements of one arm of an `if`; their names stay visible. `shared` is a name that the other arm
    /// defines too.
    fn block_under(
        &mut self,
        condition: &str,
        proves: Option<&str>,
        shared: Option<&(String, Ty)>,
        text: &mut String,
    ) {
        let mark = self.scope.mark();
        self.scope.hold(condition);
        self.mark_tested(condition, proves);
        if let Some(path) = proves {
            self.scope.mark_present(path);
        }
        self.indent += 1;
        for _ in 0..self.dice.between(1, 2) {
            let statement = self.statement(true);
            text.push_str(&statement);
        }
        if let Some((name, ty)) = shared {
            let value = self.value(ty, 2).text;
            writeln!(text, "{}let {name}: {} = {value}", self.margin(), ty.text()).unwrap();
        }
        self.indent -= 1;
        self.scope.forget(mark);
        self.scope.guard_since(mark, condition);
    }

    /// Keeps nested conditions from testing a path that this condition tests. The nullable paths among them are no
    /// longer read, except the one that it `proves` to be present.
    pub fn mark_tested(&mut self, condition: &str, proves: Option<&str>) {
        let asked = self.readables();
        for path in asked.iter().filter(|path| condition.contains(&path.text)) {
            self.scope.mark_tested(&path.text);
            if matches!(path.ty, Ty::Opt(_))
                && proves.is_none_or(|present| !present.starts_with(&path.text))
            {
                self.scope.hide(&path.text);
            }
        }
        self.scope.hide_guarded(condition);
    }

    fn ensure(&mut self) -> String {
        let paths = self.readables();
        let sized = |path: &&Readable| !path.constant && matches!(path.ty, Ty::Str | Ty::List(_));
        let Some(some) = paths.iter().find(sized).cloned() else {
            return self.let_value();
        };
        let Some(condition) = self.condition(1) else {
            return self.let_value();
        };
        // Most of these conditions hold, so that later statements are reached.
        let kept = self.read(&some).text;
        let message = self.template(1).text;
        let condition = condition.at(Level::And);
        format!(
            "{}ensure {condition} || size({kept}) >= 0 else {message}\n",
            self.margin()
        )
    }

    fn early_reply(&mut self) -> String {
        if self.dice.one_in(4)
            && let Some(text) = self.reply_for_absence()
        {
            return text;
        }
        let Some(condition) = self.rare() else {
            return self.let_value();
        };
        let returns = self.returns.clone();
        let value = self.under(&condition, |writer| writer.constant(&returns, 2).text);
        format!("{}reply {value} when {condition}\n", self.margin())
    }

    /// Writes an early reply for a path that is absent. Below it, the path is present.
    fn reply_for_absence(&mut self) -> Option<String> {
        let paths = self.readables();
        let absent = |path: &&Readable| {
            let optional = matches!(path.ty, Ty::Opt(_)) && !path.text.contains("?.");
            optional && path.exact && !path.constant && !self.scope.is_tested(&path.text)
        };
        let absent: Vec<&Readable> = paths.iter().filter(absent).collect();
        if absent.is_empty() {
            return None;
        }
        let path = (*self.dice.pick(&absent)).clone();
        let read = self.read(&path).text;
        let returns = self.returns.clone();
        let value = self.constant(&returns, 2).text;
        self.scope.mark_present(&path.text);
        self.scope.mark_tested(&path.text);
        Some(format!(
            "{}reply {value} when {read} == null\n",
            self.margin()
        ))
    }

    fn guarded_fail(&mut self) -> String {
        let Some(condition) = self.rare() else {
            return self.let_value();
        };
        let class = *self.dice.pick(&[
            "denied.policy",
            "tool.failed",
            "transient.unavailable",
            "validation.ensure",
        ]);
        let message = self.under(&condition, |writer| writer.template(1).text);
        format!("{}fail {class} {message} when {condition}\n", self.margin())
    }

    /// Writes the text that a condition on the same line guards.
    fn under(&mut self, condition: &str, write: impl FnOnce(&mut Self) -> String) -> String {
        let known = self.scope.mark();
        self.mark_tested(condition, None);
        let text = write(self);
        self.scope.forget(known);
        text
    }

    /// Writes a condition that rarely holds.
    fn rare(&mut self) -> Option<String> {
        let paths = self.readables();
        let some = paths
            .iter()
            .find(|path| path.exact && !path.constant && path.ty == Ty::Int)
            .cloned()?;
        let also = self.condition(0)?;
        let read = self.read(&some).text;
        Some(format!(
            "{read} == {} && {}",
            4242 + self.dice.below(9),
            also.at(Level::Compare)
        ))
    }
}
