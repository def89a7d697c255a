//! What a run is doing, live on a terminal: a line for each running step, a settled line for each that has ended.

use std::time::Duration;

use indexmap::IndexMap;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use owo_colors::{OwoColorize, Style};
use planrun_lang::diag::render::{Look, visible_line};
use planrun_lang::protocol::StepState;

use planrun_core::journal::StepError;

/// Lines for running steps; the rest is counted in one more line.
const MAX_LIVE: usize = 8;
/// How often spinners turn. Also how late a line may be.
const TICK: Duration = Duration::from_millis(120);
/// Characters of a path or a tool's name that are shown.
const MAX_OF_A_NAME: usize = 60;

/// Characters of the reason of a failure that are shown.
const MAX_OF_A_REASON: usize = 120;

/// The live picture of one run. Silent unless it was made for a terminal.
pub struct Progress {
    screen: Option<Screen>,
}

impl Progress {
    /// Draws on standard error where that is a terminal, and nowhere else. `wanted` is false for `-q` and for formats
    /// that programs read.
    #[must_use]
    pub fn new(wanted: bool, look: Look) -> Self {
        let target = ProgressDrawTarget::stderr();
        // Hidden is what indicatif calls a standard error that is no terminal.
        Self {
            screen: (wanted && !target.is_hidden()).then(|| Screen::new(target, look)),
        }
    }

    /// An attempt at a step has begun.
    pub fn started(&mut self, path: &str, tool: &str) {
        if let Some(screen) = &mut self.screen {
            screen.show(path, &named(path, tool));
        }
    }

    /// Attempt number `attempt` has failed and the next begins after `wait`.
    pub fn retrying(&mut self, path: &str, attempt: u32, wait: Duration) {
        if let Some(screen) = &mut self.screen {
            let text = format!(
                "{}: attempt {attempt} failed, again in {}",
                short(path),
                length(wait)
            );
            screen.show(path, &text);
        }
    }

    /// The step has ended, or waits for somebody.
    pub fn finished(
        &mut self,
        path: &str,
        state: StepState,
        attempts: u32,
        duration: Duration,
        why: Option<&StepError>,
    ) {
        if let Some(screen) = &mut self.screen {
            let line = settled(path, state, attempts, duration, screen.look);
            screen.settle(
                path,
                &format!("{line}{}", why.map(reason).unwrap_or_default()),
            );
        }
    }

    /// A task has another status.
    pub fn moved(&mut self, task: &str, title: Option<&str>, status: &str) {
        if let Some(screen) = &mut self.screen {
            screen.tell(&changed(task, title, status, screen.look));
        }
    }

    /// An event has fired a listener.
    pub fn fired(&mut self, path: &str) {
        if let Some(screen) = &mut self.screen {
            let sign = if screen.look.unicode { "→" } else { ">" };
            screen.tell(&format!("{sign} {} fired", short(path)));
        }
    }

    /// Tells something beside the live lines, which make room for it.
    pub fn beside(&self, tell: impl FnOnce()) {
        match &self.screen {
            Some(screen) => screen.lines.suspend(tell),
            None => tell(),
        }
    }

    /// Takes the live lines away; the settled ones stay.
    pub fn close(&mut self) {
        if let Some(screen) = self.screen.take() {
            screen.clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.close();
    }
}

/// The part of the terminal that changes.
struct Screen {
    lines: MultiProgress,
    /// The running steps in the order in which they began; the first of them have a line.
    running: IndexMap<String, Running>,
    /// Counts the running steps that have no line.
    rest: Option<ProgressBar>,
    look: Look,
}

struct Running {
    text: String,
    line: Option<ProgressBar>,
}

impl Screen {
    fn new(target: ProgressDrawTarget, look: Look) -> Self {
        Self {
            lines: MultiProgress::with_draw_target(target),
            running: IndexMap::new(),
            rest: None,
            look,
        }
    }

    fn show(&mut self, path: &str, text: &str) {
        if let Some(step) = self.running.get_mut(path) {
            text.clone_into(&mut step.text);
            if let Some(line) = &step.line {
                line.set_message(step.text.clone());
            }
            return;
        }
        let shown = self
            .running
            .values()
            .filter(|step| step.line.is_some())
            .count();
        let line = (shown < MAX_LIVE).then(|| self.line(shown, text));
        self.running.insert(
            path.to_owned(),
            Running {
                text: text.to_owned(),
                line,
            },
        );
        self.count_rest();
    }

    fn settle(&mut self, path: &str, line: &str) {
        if let Some(line) = self.running.shift_remove(path).and_then(|step| step.line) {
            line.finish_and_clear();
            self.lines.remove(&line);
        }
        self.tell(line);
        let shown = self
            .running
            .values()
            .filter(|step| step.line.is_some())
            .count();
        let next = self
            .running
            .iter()
            .find(|(_, step)| step.line.is_none())
            .map(|(path, step)| (path.clone(), step.text.clone()));
        if let Some((path, text)) = next.filter(|_| shown < MAX_LIVE) {
            let line = self.line(shown, &text);
            if let Some(step) = self.running.get_mut(&path) {
                step.line = Some(line);
            }
        }
        self.count_rest();
    }

    /// A line above the live ones, which stays.
    fn tell(&self, line: &str) {
        // A terminal that went away is no reason to stop the run.
        let _ = self.lines.println(line);
    }

    fn line(&self, index: usize, text: &str) -> ProgressBar {
        let line = self.lines.insert(
            index,
            ProgressBar::new_spinner().with_style(style(self.look)),
        );
        line.set_message(text.to_owned());
        line.enable_steady_tick(TICK);
        line
    }

    fn count_rest(&mut self) {
        let hidden = self
            .running
            .values()
            .filter(|step| step.line.is_none())
            .count();
        if hidden == 0 {
            if let Some(line) = self.rest.take() {
                line.finish_and_clear();
                self.lines.remove(&line);
            }
            return;
        }
        let rest = self.rest.get_or_insert_with(|| {
            let plain = ProgressStyle::with_template("  {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner());
            self.lines.add(ProgressBar::new_spinner().with_style(plain))
        });
        rest.set_message(format!("and {hidden} more"));
        rest.tick();
    }

    fn clear(self) {
        for line in self
            .running
            .values()
            .filter_map(|step| step.line.as_ref())
            .chain(&self.rest)
        {
            line.finish_and_clear();
        }
        let _ = self.lines.clear();
    }
}

fn style(look: Look) -> ProgressStyle {
    // Both templates are fixed and sound; the default only stands in for the error that cannot come.
    let style = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner());
    if look.unicode {
        style.tick_chars("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ ")
    } else {
        style.tick_chars("|/-\\ ")
    }
}

/// One line for a step that has ended: a sign, the path, the state where it is not the good one, the time it took, and
/// how many attempts it wanted where one was not enough.
fn settled(path: &str, state: StepState, attempts: u32, duration: Duration, look: Look) -> String {
    let (unicode, ascii, style) = match state {
        StepState::Completed => ("✓", "ok", Style::new().green()),
        StepState::Failed => ("✗", "failed", Style::new().red()),
        StepState::Skipped => ("-", "-", Style::new().dimmed()),
        StepState::Cancelled => ("-", "-", Style::new().yellow()),
        StepState::Unknown => ("?", "?", Style::new().red()),
        StepState::Pending | StepState::Queued | StepState::Running | StepState::Waiting => {
            ("…", "...", Style::new().cyan())
        }
    };
    let sign = if look.unicode { unicode } else { ascii };
    let sign = if look.color {
        sign.style(style).to_string()
    } else {
        sign.to_owned()
    };
    let word = if state == StepState::Completed {
        String::new()
    } else {
        format!(" {state}")
    };
    let tries = if attempts > 1 {
        format!(", {attempts} attempts")
    } else {
        String::new()
    };
    let took = if state == StepState::Skipped {
        String::new()
    } else {
        format!(" ({}{tries})", length(duration))
    };
    format!("{sign} {}{word}{took}", short(path))
}

/// Why a step has failed: what was said, or the step in it that failed so.
fn reason(error: &StepError) -> String {
    match error.cause.as_deref() {
        Some(cause) if cause.message == error.message => {
            format!(": because of {}", short(&cause.step))
        }
        Some(_) | None => {
            let said: String = error.message.chars().take(MAX_OF_A_REASON + 1).collect();
            let said = visible_line(&said);
            let cut: String = said.chars().take(MAX_OF_A_REASON).collect();
            let end = if said.chars().count() > MAX_OF_A_REASON {
                "…"
            } else {
                ""
            };
            format!(": {}: {cut}{end}", error.class)
        }
    }
}

/// One line for a task: a sign, its name and title, and its new status.
fn changed(task: &str, title: Option<&str>, status: &str, look: Look) -> String {
    let sign = if look.unicode { "◆" } else { "*" };
    let sign = if look.color {
        sign.style(Style::new().blue()).to_string()
    } else {
        sign.to_owned()
    };
    let title = title
        .map(|title| format!(" ({})", short(title)))
        .unwrap_or_default();
    format!("{sign} {}{title}: {}", short(task), short(status))
}

/// A path and what it calls.
fn named(path: &str, tool: &str) -> String {
    if tool.is_empty() {
        short(path)
    } else {
        format!("{}: {}", short(path), short(tool))
    }
}

/// Outside text on one line, bounded.
fn short(text: &str) -> String {
    let shown: String = text.chars().take(MAX_OF_A_NAME + 1).collect();
    let shown = visible_line(&shown);
    if shown.chars().count() <= MAX_OF_A_NAME {
        return shown.into_owned();
    }
    shown
        .chars()
        .take(MAX_OF_A_NAME)
        .chain("…".chars())
        .collect()
}

/// A length of time as people say it: `340ms`, `1.2s`, `2m 03s`.
fn length(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 => format!("{}ms", duration.as_millis()),
        1..60 => format!("{seconds}.{}s", duration.subsec_millis() / 100),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use indicatif::TermLike;

    use super::*;

    /// A terminal that keeps what was written to it.
    #[derive(Clone, Debug, Default)]
    struct Paper(Arc<Mutex<String>>);

    impl Paper {
        fn write(&self, text: &str) {
            self.0.lock().unwrap().push_str(text);
        }
    }

    impl TermLike for Paper {
        fn width(&self) -> u16 {
            60
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write(text);
            self.write("\n");
            Ok(())
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.write(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    fn on_paper() -> (Progress, Paper) {
        let paper = Paper::default();
        let target = ProgressDrawTarget::term_like(Box::new(paper.clone()));
        (
            Progress {
                screen: Some(Screen::new(target, Look::PLAIN)),
            },
            paper,
        )
    }

    #[test]
    fn a_settled_line_says_how_it_went() {
        let line = |state, millis| {
            settled(
                "入职\x1b[31m",
                state,
                1,
                Duration::from_millis(millis),
                Look::PLAIN,
            )
        };
        assert_eq!(line(StepState::Completed, 340), "✓ 入职\\u{1b}[31m (340ms)");
        assert_eq!(
            line(StepState::Failed, 1_290),
            "✗ 入职\\u{1b}[31m failed (1.2s)"
        );
        assert_eq!(
            line(StepState::Unknown, 123_000),
            "? 入职\\u{1b}[31m unknown (2m 03s)"
        );
        assert_eq!(line(StepState::Skipped, 0), "- 入职\\u{1b}[31m skipped");
        let thrice = settled(
            "a",
            StepState::Completed,
            3,
            Duration::from_millis(20),
            Look::PLAIN,
        );
        assert_eq!(thrice, "✓ a (20ms, 3 attempts)");
        let colour = Look {
            color: true,
            unicode: false,
            ..Look::PLAIN
        };
        assert!(settled("a", StepState::Completed, 1, TICK, colour).contains("\x1b[32mok\x1b"));
    }

    #[test]
    fn tasks_and_firings_are_told_above_the_live_lines() {
        let (mut progress, paper) = on_paper();
        progress.started("a", "ns.tool");
        progress.moved("registered", Some("Employee is in HR"), "done");
        progress.moved("k.inner", None, "done");
        progress.fired("alarm[0]");
        progress.beside(|| paper.write("beside\n"));
        progress.finished("a", StepState::Completed, 1, TICK, None);
        progress.close();
        let text = paper.0.lock().unwrap();
        for line in [
            "◆ registered (Employee is in HR): done",
            "◆ k.inner: done",
            "→ alarm[0] fired",
            "beside",
            "✓ a",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        assert_eq!(
            changed(
                "a\x1b",
                None,
                "b",
                Look {
                    unicode: false,
                    ..Look::PLAIN
                }
            ),
            "* a\\u{1b}: b"
        );
    }

    #[test]
    fn live_lines_are_bounded_and_all_steps_settle() {
        let (mut progress, paper) = on_paper();
        for step in 0..50 {
            progress.started(&format!("step{step}"), "ns.tool");
        }
        progress.retrying("step3", 1, Duration::from_secs(2));
        let screen = progress.screen.as_ref().unwrap();
        assert_eq!(
            screen
                .running
                .values()
                .filter(|step| step.line.is_some())
                .count(),
            MAX_LIVE
        );
        assert!(
            screen.running["step3"]
                .text
                .contains("attempt 1 failed, again in 2.0s")
        );
        for step in 0..50 {
            progress.finished(
                &format!("step{step}"),
                StepState::Completed,
                1,
                Duration::from_millis(7),
                None,
            );
        }
        progress.finished("never-started", StepState::Skipped, 1, Duration::ZERO, None);
        assert!(progress.screen.as_ref().unwrap().running.is_empty());
        progress.close();
        let text = paper.0.lock().unwrap();
        for step in 0..50 {
            assert!(text.contains(&format!("✓ step{step} (7ms)")), "{text}");
        }
        assert!(text.contains("- never-started skipped"));
    }

    #[test]
    fn d10_a_failed_step_says_why_and_one_around_it_which() {
        use planrun_lang::types::{ErrorClass, Transient};
        let class = || ErrorClass::Transient(Transient::Timeout);
        let inner = std::sync::Arc::new(StepError::new(class(), "no\x1b answer", &"x.y".into()));
        let outer = StepError {
            cause: Some(inner.clone()),
            ..StepError::new(class(), "no\x1b answer", &"x".into())
        };
        assert_eq!(reason(&inner), ": transient.timeout: no\\u{1b} answer");
        assert_eq!(reason(&outer), ": because of x.y");
        let long = reason(&StepError::new(class(), "y".repeat(4000), &"x".into()));
        assert!(long.ends_with("y…") && long.chars().count() < 150, "{long}");
        let (mut progress, paper) = on_paper();
        progress.started("a", "ns.tool");
        progress.finished(
            "a",
            StepState::Failed,
            1,
            Duration::from_millis(3),
            Some(&inner),
        );
        progress.close();
        let text = paper.0.lock().unwrap();
        assert!(
            text.contains("✗ a failed (3ms): transient.timeout"),
            "{text}"
        );
    }

    #[test]
    fn without_a_terminal_nothing_is_drawn() {
        let mut progress = Progress::new(false, Look::PLAIN);
        progress.started("a", "b");
        progress.finished("a", StepState::Completed, 1, TICK, None);
        assert!(progress.screen.is_none());
    }
}
