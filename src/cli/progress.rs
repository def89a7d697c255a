//! Live progress of a run on a terminal: one line for each running step, and one for each step that has ended.

use std::time::Duration;

use indexmap::IndexMap;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use owo_colors::Style;
use planrun_lang::diag::render::{Appearance, visible_line};
use planrun_lang::protocol::StepState;
use planrun_lang::value::shortened;

use planrun_core::journal::StepError;

use super::terminal::styled;

/// Maximum number of lines for running steps; one more line counts the remaining ones.
const MAX_LIVE: usize = 8;
/// Interval at which the spinners turn, and the maximum delay of a line.
const TICK: Duration = Duration::from_millis(120);
/// Maximum number of characters printed of a path or a tool name.
const MAX_NAME_CHARS: usize = 60;

/// Maximum number of characters printed of the reason of a failure.
const MAX_REASON_CHARS: usize = 120;

/// Live progress of one run. Prints nothing unless it was created for a terminal.
pub struct Progress {
    screen: Option<Screen>,
}

impl Progress {
    /// Creates a display on standard error. It prints nothing if standard error is not a terminal or `enabled` is
    /// false, as with `-q` and formats for programs.
    pub fn new(enabled: bool, style: Appearance) -> Self {
        let target = ProgressDrawTarget::stderr();
        // If standard error is not a terminal, indicatif reports the target as hidden.
        Self {
            screen: (enabled && !target.is_hidden())
                .then(|| Screen::new(ProgressDrawTarget::stderr, style)),
        }
    }

    /// Records that an attempt of a step has started.
    pub fn started(&mut self, path: &str, tool: &str) {
        if let Some(screen) = &mut self.screen {
            screen.show(path, &label(path, tool));
        }
    }

    /// Records that attempt number `attempt` has failed and the next one starts after `wait`.
    pub fn retrying(&mut self, path: &str, attempt: u32, wait: Duration) {
        if let Some(screen) = &mut self.screen {
            let text = format!(
                "{}: attempt {attempt} failed, retrying in {}",
                short(path),
                format_duration(wait)
            );
            screen.show(path, &text);
        }
    }

    /// Records that the step has ended.
    pub fn finished(
        &mut self,
        path: &str,
        state: StepState,
        attempts: u32,
        duration: Duration,
        why: Option<&StepError>,
    ) {
        if let Some(screen) = &mut self.screen {
            let line = settled(path, state, attempts, duration, screen.style);
            screen.settle(
                path,
                format!("{line}{}", why.map(reason).unwrap_or_default()),
            );
        }
    }

    /// Records that a task has a new status.
    pub fn task_changed(&mut self, task: &str, title: Option<&str>, status: &str) {
        if let Some(screen) = &mut self.screen {
            screen.print_line(changed(task, title, status, screen.style));
        }
    }

    /// Records that an event has fired a listener.
    pub fn fired(&mut self, path: &str) {
        if let Some(screen) = &mut self.screen {
            let sign = if screen.style.unicode { "→" } else { ">" };
            screen.print_line(format!("{sign} {} fired", short(path)));
        }
    }

    /// Runs `print` while the live lines are hidden, so that its output does not mix with them.
    pub fn suspend(&self, print: impl FnOnce()) {
        match &self.screen {
            Some(screen) => screen.lines.suspend(print),
            None => print(),
        }
    }

    /// Returns the live lines, for another thread that prints or ends the process.
    pub fn lines(&self) -> Option<MultiProgress> {
        self.screen.as_ref().map(|screen| screen.lines.clone())
    }

    /// Removes the live lines until [`Self::show`], for what needs the whole terminal. The lines of steps that end
    /// meanwhile are printed afterwards.
    pub fn hide(&mut self) {
        if let Some(screen) = &mut self.screen
            && screen.held.is_none()
        {
            screen.held = Some(Vec::new());
            // A closed terminal displays nothing.
            let _ = screen.lines.clear();
            screen.lines.set_draw_target(ProgressDrawTarget::hidden());
        }
    }

    /// Displays the live lines again.
    pub fn show(&mut self) {
        if let Some(screen) = &mut self.screen
            && let Some(held) = screen.held.take()
        {
            screen.lines.set_draw_target((screen.target)());
            for line in held {
                screen.print_line(line);
            }
            screen.count_rest();
        }
    }

    /// Removes the live lines; those of ended steps stay.
    pub fn close(&mut self) {
        self.show();
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

/// The live area of the terminal.
struct Screen {
    lines: MultiProgress,
    /// The running steps in the order in which they started; the first [`MAX_LIVE`] of them have a line.
    running: IndexMap<String, Running>,
    /// The last line, which counts the running steps without a line. It is there even if there are none.
    rest: ProgressBar,
    style: Appearance,
    target: Box<dyn Fn() -> ProgressDrawTarget + Send>,
    /// While the live lines are hidden, the lines that are printed afterwards.
    held: Option<Vec<String>>,
}

struct Running {
    text: String,
    line: Option<ProgressBar>,
}

impl Screen {
    fn new(target: impl Fn() -> ProgressDrawTarget + Send + 'static, style: Appearance) -> Self {
        let lines = MultiProgress::with_draw_target(target());
        // The cursor stays at the begin of the last line: what is typed, such as Ctrl-C, is displayed there, does not
        // wrap, and is overwritten.
        let template = ProgressStyle::with_template("  {wide_msg}\r")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        let rest = lines.add(ProgressBar::new_spinner().with_style(template));
        Self {
            lines,
            running: IndexMap::new(),
            rest,
            style,
            target: Box::new(target),
            held: None,
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
        let visible = self
            .running
            .values()
            .filter(|step| step.line.is_some())
            .count();
        let line = (visible < MAX_LIVE).then(|| self.line(visible, text));
        self.running.insert(
            path.to_owned(),
            Running {
                text: text.to_owned(),
                line,
            },
        );
        self.count_rest();
    }

    fn settle(&mut self, path: &str, line: String) {
        if let Some(line) = self.running.shift_remove(path).and_then(|step| step.line) {
            line.finish_and_clear();
            self.lines.remove(&line);
        }
        self.print_line(line);
        let visible = self
            .running
            .values()
            .filter(|step| step.line.is_some())
            .count();
        let next = self
            .running
            .iter()
            .find(|(_, step)| step.line.is_none())
            .map(|(path, step)| (path.clone(), step.text.clone()));
        if let Some((path, text)) = next.filter(|_| visible < MAX_LIVE) {
            let line = self.line(visible, &text);
            if let Some(step) = self.running.get_mut(&path) {
                step.line = Some(line);
            }
        }
        self.count_rest();
    }

    /// Prints a permanent line above the live ones.
    fn print_line(&mut self, line: String) {
        if let Some(held) = &mut self.held {
            held.push(line);
        } else {
            // A closed terminal must not stop the run.
            let _ = self.lines.println(line);
        }
    }

    fn line(&self, index: usize, text: &str) -> ProgressBar {
        let line = self.lines.insert(
            index,
            ProgressBar::new_spinner().with_style(spinner_style(self.style)),
        );
        line.set_message(text.to_owned());
        line.enable_steady_tick(TICK);
        line
    }

    fn count_rest(&self) {
        let hidden = self
            .running
            .values()
            .filter(|step| step.line.is_none())
            .count();
        let text = if hidden == 0 {
            String::new()
        } else {
            format!("and {hidden} more")
        };
        self.rest.set_message(text);
        self.rest.tick();
    }

    fn clear(self) {
        for line in self
            .running
            .values()
            .filter_map(|step| step.line.as_ref())
            .chain([&self.rest])
        {
            line.finish_and_clear();
        }
        let _ = self.lines.clear();
    }
}

fn spinner_style(style: Appearance) -> ProgressStyle {
    // Both templates are valid constants, so the fallback is never used.
    let spinner = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner());
    if style.unicode {
        spinner.tick_chars("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ ")
    } else {
        spinner.tick_chars("|/-\\ ")
    }
}

/// Returns the line of a step that has ended: a sign, the path, the state unless it completed, the duration unless it
/// was skipped, and the number of attempts if there was more than one.
fn settled(
    path: &str,
    state: StepState,
    attempts: u32,
    duration: Duration,
    style: Appearance,
) -> String {
    let (unicode, ascii, text_style) = match state {
        StepState::Completed => ("✓", "ok", Style::new().green()),
        StepState::Failed => ("✗", "failed", Style::new().red()),
        StepState::Skipped => ("-", "-", Style::new().dimmed()),
        StepState::Cancelled => ("-", "-", Style::new().yellow()),
        StepState::Unknown => ("?", "?", Style::new().red()),
        StepState::Pending | StepState::Queued | StepState::Running | StepState::Waiting => {
            ("…", "...", Style::new().cyan())
        }
    };
    let sign = if style.unicode { unicode } else { ascii };
    let sign = styled(sign, text_style, style);
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
        format!(" ({}{tries})", format_duration(duration))
    };
    format!("{sign} {}{word}{took}", short(path))
}

/// Returns the reason why a step failed: its message, or the inner step whose failure caused it.
fn reason(error: &StepError) -> String {
    match error.cause.as_deref() {
        Some(cause) if cause.message == error.message => {
            format!(": because of {}", short(&cause.step))
        }
        Some(_) | None => {
            let message: String = error.message.chars().take(MAX_REASON_CHARS + 1).collect();
            let message = visible_line(&message);
            let cut: String = message.chars().take(MAX_REASON_CHARS).collect();
            let end = if message.chars().count() > MAX_REASON_CHARS {
                "…"
            } else {
                ""
            };
            format!(": {}: {cut}{end}", error.class)
        }
    }
}

/// Returns the line of a task: a sign, its name and title, and its new status.
fn changed(task: &str, title: Option<&str>, status: &str, style: Appearance) -> String {
    let sign = if style.unicode { "◆" } else { "*" };
    let sign = styled(sign, Style::new().blue(), style);
    let title = title
        .map(|title| format!(" ({})", short(title)))
        .unwrap_or_default();
    format!("{sign} {}{title}: {}", short(task), short(status))
}

/// Returns the path and the tool of a step.
fn label(path: &str, tool: &str) -> String {
    if tool.is_empty() {
        short(path)
    } else {
        format!("{}: {}", short(path), short(tool))
    }
}

/// Escapes and truncates external text to one line.
fn short(text: &str) -> String {
    let excerpt: String = text.chars().take(MAX_NAME_CHARS + 1).collect();
    shortened(&visible_line(&excerpt), MAX_NAME_CHARS)
}

/// Formats a duration: `340ms`, `1.2s`, `2m 03s`.
fn format_duration(duration: Duration) -> String {
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
    use std::sync::Arc;

    use indicatif::TermLike;

    use parking_lot::Mutex;

    use super::*;

    /// A terminal that records its output.
    #[derive(Clone, Debug, Default)]
    struct FakeTerminal(Arc<Mutex<String>>);

    impl FakeTerminal {
        fn write(&self, text: &str) {
            self.0.lock().push_str(text);
        }
    }

    impl TermLike for FakeTerminal {
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

    fn with_fake_terminal() -> (Progress, FakeTerminal) {
        let output = FakeTerminal::default();
        let terminal = output.clone();
        let target = move || ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        (
            Progress {
                screen: Some(Screen::new(target, Appearance::PLAIN)),
            },
            output,
        )
    }

    #[test]
    fn what_happened_while_the_lines_were_hidden_is_told_afterwards() {
        let (mut progress, output) = with_fake_terminal();
        let since = |from: usize| output.0.lock()[from..].to_owned();
        let end = |progress: &mut Progress, path| {
            progress.finished(path, StepState::Completed, 1, TICK, None);
        };
        progress.started("ended", "ns.tool");
        progress.started("running", "ns.tool");
        progress.hide();
        let hidden = since(0).len();
        progress.started("later", "ns.tool");
        end(&mut progress, "ended");
        assert_eq!(since(hidden), "");
        progress.show();
        assert!(since(hidden).contains("✓ ended"), "{}", since(hidden));
        // The lines of the steps that still run are drawn again.
        std::thread::sleep(TICK * 4);
        let shown = since(hidden);
        assert!(shown.contains("running: ns.tool"), "{shown}");
        assert!(shown.contains("later: ns.tool"), "{shown}");
        progress.hide();
        end(&mut progress, "running");
        progress.close();
        assert!(since(hidden).contains("✓ running"));
    }

    #[test]
    fn a_settled_line_says_how_it_went() {
        let line = |state, millis| {
            settled(
                "入职\x1b[31m",
                state,
                1,
                Duration::from_millis(millis),
                Appearance::PLAIN,
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
            Appearance::PLAIN,
        );
        assert_eq!(thrice, "✓ a (20ms, 3 attempts)");
        let colour = Appearance {
            color: true,
            unicode: false,
            ..Appearance::PLAIN
        };
        assert!(settled("a", StepState::Completed, 1, TICK, colour).contains("\x1b[32mok\x1b"));
    }

    #[test]
    fn tasks_and_firings_are_told_above_the_live_lines() {
        let (mut progress, output) = with_fake_terminal();
        progress.started("a", "ns.tool");
        progress.task_changed("registered", Some("Employee is in HR"), "done");
        progress.task_changed("k.inner", None, "done");
        progress.fired("alarm[0]");
        progress.suspend(|| output.write("beside\n"));
        progress.finished("a", StepState::Completed, 1, TICK, None);
        progress.close();
        let text = output.0.lock();
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
                Appearance {
                    unicode: false,
                    ..Appearance::PLAIN
                }
            ),
            "* a\\u{1b}: b"
        );
    }

    #[test]
    fn live_lines_are_bounded_and_all_steps_settle() {
        let (mut progress, output) = with_fake_terminal();
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
                .contains("attempt 1 failed, retrying in 2.0s")
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
        let text = output.0.lock();
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
        let (mut progress, output) = with_fake_terminal();
        progress.started("a", "ns.tool");
        progress.finished(
            "a",
            StepState::Failed,
            1,
            Duration::from_millis(3),
            Some(&inner),
        );
        progress.close();
        let text = output.0.lock();
        assert!(
            text.contains("✗ a failed (3ms): transient.timeout"),
            "{text}"
        );
    }

    #[test]
    fn without_a_terminal_nothing_is_drawn() {
        let mut progress = Progress::new(false, Appearance::PLAIN);
        progress.started("a", "b");
        progress.finished("a", StepState::Completed, 1, TICK, None);
        assert!(progress.screen.is_none());
    }
}
