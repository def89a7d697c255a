//! The two streams of the program: results on one, everything else on the other.

use std::io::{self, ErrorKind, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use owo_colors::OwoColorize;
use planrun_lang::diag::render::{Language, Look, escape_json, visible_text, without_commands};
use planrun_tools::project::Location;

use super::Failure;
use super::journals::elsewhere;
use super::shell::command;

/// When to colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Color {
    /// On terminals, unless `NO_COLOR` is set.
    #[default]
    Auto,
    Always,
    Never,
}

/// What is known of the streams and of the user's wishes for them.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// How results are drawn.
    pub look: Look,
    /// Whether messages are coloured.
    pub color_messages: bool,
    /// Whether only results and errors are wanted.
    pub quiet: bool,
    /// How much more than usual is wanted.
    pub verbose: u8,
    /// The folder that `--project` has to name in commands that are told to people; nothing where they mean it anyway.
    pub place: Option<&'static str>,
}

impl Terminal {
    /// Asks the streams what they can show.
    #[must_use]
    pub fn new(color: Color, quiet: bool, verbose: u8) -> Self {
        let color_messages = choice(color, AutoStream::choice(&io::stderr()));
        let color = choice(color, AutoStream::choice(&io::stdout()));
        let unicode =
            !io::stdout().is_terminal() || supports_unicode::on(supports_unicode::Stream::Stdout);
        let width =
            terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
        let width = width.unwrap_or(Look::PLAIN.width).clamp(40, 140);
        let look = Look {
            color,
            unicode,
            width,
            ..Look::PLAIN
        };
        Self {
            look,
            color_messages,
            quiet,
            verbose,
            place: None,
        }
    }

    /// The same in another language, where one is known.
    #[must_use]
    pub fn speaking(mut self, language: Option<Language>) -> Self {
        self.look.language = language.unwrap_or(self.look.language);
        self
    }

    /// The same for what is told of runs in this project: commands name it where they would not find it from here.
    #[must_use]
    pub fn beside(mut self, location: &Location) -> Self {
        // One text for each command that is executed; it lives as long as the process.
        self.place = elsewhere(location).map(|folder| &*folder.leak());
        self
    }

    /// A command as it is pasted into a shell.
    #[must_use]
    pub fn command(&self, rest: &str) -> String {
        command(self.place, rest)
    }

    /// Writes a result for people to standard output. A reader that has gone, such as `head`, is no failure.
    ///
    /// # Errors
    /// When the output cannot be written for another reason, such as a full disk.
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        let choice = if self.look.color {
            ColorChoice::AlwaysAnsi
        } else {
            ColorChoice::Never
        };
        let mut stdout = AutoStream::new(io::stdout().lock(), choice);
        written(
            stdout
                .write_all(without_commands(text).as_bytes())
                .and_then(|()| stdout.flush()),
        )
    }

    /// Writes JSON to standard output, without characters that a terminal or continuous integration would act on.
    ///
    /// # Errors
    /// As for [`Terminal::print`].
    pub fn print_json(&self, document: &str) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        written(
            stdout
                .write_all(escape_json(document).as_bytes())
                .and_then(|()| stdout.flush()),
        )
    }

    /// Writes a text that another program reads to standard output, byte for byte; on a terminal, what it would act on
    /// is written out.
    ///
    /// # Errors
    /// As for [`Terminal::print`].
    pub fn print_exactly(&self, text: &str) -> Result<(), Failure> {
        if io::stdout().is_terminal() {
            return self.print(&visible_text(text));
        }
        let mut stdout = io::stdout().lock();
        written(
            stdout
                .write_all(text.as_bytes())
                .and_then(|()| stdout.flush()),
        )
    }

    /// Makes room for a new result on a terminal; elsewhere results follow each other.
    pub fn clear(&self) {
        if io::stdout().is_terminal() {
            let mut stdout = io::stdout().lock();
            // Where nobody can see it, nothing need be cleared.
            let _ = stdout
                .write_all(b"\x1b[2J\x1b[3J\x1b[H")
                .and_then(|()| stdout.flush());
        }
    }

    /// Whether somebody looks at the messages.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        io::stderr().is_terminal()
    }

    /// Tells something beside the results, unless the user wants it quiet.
    pub fn say(&self, text: &str) {
        if !self.quiet {
            message(text);
        }
    }

    /// Tells findings beside the results; they are not silenced, and they bring their own colours.
    pub fn say_plainly(&self, text: &str) {
        let choice = if self.color_messages {
            ColorChoice::AlwaysAnsi
        } else {
            ColorChoice::Never
        };
        let mut stderr = AutoStream::new(io::stderr().lock(), choice);
        // Where nobody can read it, nobody can be told.
        let _ = stderr.write_all(without_commands(text).as_bytes());
    }

    /// Tells what did not work.
    pub fn complain(&self, text: &str) {
        let text = visible_text(text);
        if self.color_messages {
            message(&format!("{} {text}", "error:".red().bold()));
        } else {
            message(&format!("error: {text}"));
        }
    }
}

fn choice(wanted: Color, automatic: ColorChoice) -> bool {
    match wanted {
        Color::Auto => automatic != ColorChoice::Never,
        Color::Always => true,
        Color::Never => false,
    }
}

/// A reader that has gone is no failure.
pub(super) fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Environment(format!(
            "the output cannot be written: {error}"
        ))),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// A line on standard error. Where nobody can read it, nobody can be told.
fn message(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", without_commands(text));
}
