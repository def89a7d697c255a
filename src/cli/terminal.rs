//! The output streams of the program: results on standard output, everything else on standard error.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use owo_colors::{OwoColorize, Style};
use planrun_lang::diag::render::{
    Appearance, Language, escape_json, visible_text, without_commands,
};
use serde::Serialize;

use super::{Failure, Result};

/// Whether the program that reads standard output has closed it.
static CLOSED: AtomicBool = AtomicBool::new(false);
/// Whether the last line on the terminal is a prompt that nobody has answered yet.
static PROMPTS: AtomicBool = AtomicBool::new(false);

/// Reads the answer to a prompt. What is printed before it is there starts on a line of its own.
pub(super) fn at_prompt<T>(read: impl FnOnce() -> T) -> T {
    PROMPTS.store(true, Ordering::Relaxed);
    let answer = read();
    PROMPTS.store(false, Ordering::Relaxed);
    answer
}

/// Ends the line of a prompt that nobody has answered.
pub(super) fn end_prompt() {
    if PROMPTS.swap(false, Ordering::Relaxed) {
        let _ = writeln!(io::stderr().lock());
    }
}

/// When to colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Color {
    /// On terminals, unless `NO_COLOR` is set
    #[default]
    Auto,
    Always,
    Never,
}

/// The capabilities of the output streams, and the user's options for them.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Style of results.
    pub style: Appearance,
    /// Whether messages are coloured.
    pub color_messages: bool,
    /// Whether to print only results and errors.
    pub quiet: bool,
    /// Number of `-v` flags.
    pub verbose: u8,
}

impl Terminal {
    /// Detects the capabilities of the streams.
    pub fn new(color: Color, quiet: bool, verbose: u8) -> Self {
        let color_messages = choice(color, AutoStream::choice(&io::stderr()));
        let color = choice(color, AutoStream::choice(&io::stdout()));
        let unicode =
            !io::stdout().is_terminal() || supports_unicode::on(supports_unicode::Stream::Stdout);
        let width =
            terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
        let width = width.unwrap_or(Appearance::PLAIN.width).clamp(40, 140);
        let style = Appearance {
            color,
            unicode,
            width,
            ..Appearance::PLAIN
        };
        Self {
            style,
            color_messages,
            quiet,
            verbose,
        }
    }

    /// Returns the terminal with another language, if one is given.
    #[must_use]
    pub fn with_language(mut self, language: Option<Language>) -> Self {
        self.style.language = language.unwrap_or(self.style.language);
        self
    }

    /// Writes a result for people to standard output. A closed pipe, such as that of `head`, is not an error. Returns
    /// an error if the output cannot be written for another reason, such as a full disk.
    pub fn print(&self, text: &str) -> Result<()> {
        end_prompt();
        let stdout = AutoStream::new(io::stdout().lock(), color_choice(self.style.color));
        write(stdout, &without_commands(text))
    }

    /// Writes JSON to standard output; characters that control a terminal or continuous integration are escaped. Fails
    /// like [`Terminal::print`].
    pub fn print_json(&self, document: &str) -> Result<()> {
        write(io::stdout().lock(), &escape_json(document))
    }

    /// Writes a value as one JSON document, over several lines. Fails like [`Terminal::print`].
    pub fn print_document(&self, document: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string_pretty(document).unwrap_or_default();
        self.print_json(&format!("{text}\n"))
    }

    /// Writes text for another program to standard output, byte for byte. On a terminal, control characters are
    /// escaped. Fails like [`Terminal::print`].
    pub fn print_exactly(&self, text: &str) -> Result<()> {
        if io::stdout().is_terminal() {
            return self.print(&visible_text(text));
        }
        write(io::stdout().lock(), text)
    }

    /// Returns true if the program that reads standard output has closed it, so that further results are lost.
    pub fn is_closed(&self) -> bool {
        CLOSED.load(Ordering::Relaxed)
    }

    /// Clears the screen if standard output is a terminal.
    pub fn clear(&self) {
        if io::stdout().is_terminal() {
            // Nothing has to be cleared if the terminal is closed.
            let _ = write(io::stdout().lock(), "\x1b[2J\x1b[3J\x1b[H");
        }
    }

    /// Returns true if standard error is a terminal.
    pub fn is_watched(&self) -> bool {
        io::stderr().is_terminal()
    }

    /// Prints a message to standard error, unless `--quiet` is given.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            message(text);
        }
    }

    /// Prints diagnostics or a prompt to standard error without adding a line break, even with `--quiet`.
    pub fn eprint(&self, text: &str) {
        end_prompt();
        let mut stderr = AutoStream::new(io::stderr().lock(), color_choice(self.color_messages));
        // There is no way to report that standard error is closed.
        let _ = stderr.write_all(without_commands(text).as_bytes());
    }

    /// Prints an error message to standard error, even with `--quiet`.
    pub fn error(&self, text: &str) {
        self.labelled("error:", "error:".red().bold(), text);
    }

    /// Prints a warning to standard error, even with `--quiet`.
    pub fn warning(&self, text: &str) {
        self.labelled("warning:", "warning:".yellow().bold(), text);
    }

    fn labelled(&self, label: &str, colored: impl Display, text: &str) {
        let text = visible_text(text);
        if self.color_messages {
            message(&format!("{colored} {text}"));
        } else {
            message(&format!("{label} {text}"));
        }
    }
}

fn choice(requested: Color, automatic: ColorChoice) -> bool {
    match requested {
        Color::Auto => automatic != ColorChoice::Never,
        Color::Always => true,
        Color::Never => false,
    }
}

fn color_choice(color: bool) -> ColorChoice {
    if color {
        ColorChoice::AlwaysAnsi
    } else {
        ColorChoice::Never
    }
}

/// Writes a text to standard output.
fn write(mut stdout: impl Write, text: &str) -> Result<()> {
    let result = stdout.write_all(text.as_bytes());
    written(result.and_then(|()| stdout.flush()))
}

/// Ignores a closed pipe, but remembers it.
pub(super) fn written(result: io::Result<()>) -> Result<()> {
    match result {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            CLOSED.store(true, Ordering::Relaxed);
            Ok(())
        }
        Err(error) => Err(Failure::Environment(format!(
            "cannot write the output: {error}"
        ))),
    }
}

/// Returns a text in a style, where texts are coloured.
pub(super) fn styled(text: &str, with: Style, appearance: Appearance) -> String {
    if appearance.color {
        text.style(with).to_string()
    } else {
        text.to_owned()
    }
}

/// Prints a line to standard error. There is no way to report that it is closed.
fn message(text: &str) {
    end_prompt();
    let _ = writeln!(io::stderr().lock(), "{}", without_commands(text));
}
