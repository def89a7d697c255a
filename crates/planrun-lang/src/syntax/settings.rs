//! The table of the settings of plans: names, types and descriptions.

/// A group of settings: the object of a `policy`, `retry`, `budget` or `allow`.
pub struct Settings {
    /// The word before the braces.
    pub name: &'static str,
    pub about: &'static str,
    /// In the order of the documentation.
    pub all: &'static [Setting],
}

/// One setting.
pub struct Setting {
    pub name: &'static str,
    pub takes: Takes,
    pub about: &'static str,
}

/// The type of a setting's value, which is always a constant.
#[derive(Clone, Copy)]
pub enum Takes {
    /// A duration such as `30s`, or zero.
    Duration,
    /// A duration above zero.
    TimeLimit,
    /// A whole number above zero.
    Count,
    /// A number of at least this.
    Number(f64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of dotted names without quotes, such as error classes.
    Names,
    /// A list of texts.
    Texts,
    Settings(&'static Settings),
}

impl Settings {
    /// Returns the setting of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&'static Setting> {
        self.all.iter().find(|setting| setting.name == name)
    }

    /// Returns the names of all settings.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        self.all.iter().map(|setting| setting.name)
    }
}

/// Defines groups of settings: the word before the braces, the description, and for each setting its name, type and
/// description.
macro_rules! settings {
    ($($(#[$doc:meta])* $group:ident = $word:literal, $purpose:literal {
        $($name:literal: $takes:expr, $about:literal;)+
    })+) => {
        $($(#[$doc])* pub static $group: Settings = Settings {
            name: $word,
            about: $purpose,
            all: &[$(Setting { name: $name, takes: $takes, about: $about }),+],
        };)+
    };
}

settings! {
    /// `policy { … }`
    POLICY = "policy", "Settings of the whole plan." {
        "retry": Takes::Settings(&RETRY), "How often calls are attempted.";
        "timeout": Takes::TimeLimit, "The longest that one attempt may take, such as 10s.";
        "deadline": Takes::TimeLimit, "The longest that the run may take, such as 10m.";
        "concurrency": Takes::Count, "How many calls run at the same time.";
        "on_failure": Takes::Word(&["undo", "pause", "settle"]), "undo, pause or settle.";
        "budget": Takes::Settings(&BUDGET), "The most that a run may use.";
        "verify": Takes::Word(&["agents"]), "agents.";
        "max_steps": Takes::Count, "The maximum number of steps.";
        "max_firings": Takes::Count, "The maximum number of firings of listeners.";
        "max_result": Takes::Count, "The largest result, in bytes.";
    }

    /// `retry { … }`
    RETRY = "retry", "How often a call is attempted, and when it is retried." {
        "attempts": Takes::Count, "The maximum number of attempts, including the first.";
        "delay": Takes::Duration, "The wait after the first, such as 200ms.";
        "factor": Takes::Number(1.0), "How much longer each further wait is.";
        "max_delay": Takes::Duration, "The longest wait.";
        "jitter": Takes::Word(&["none", "full"]), "none or full.";
        "on": Takes::Names, "The error classes that are retried.";
        "on_exhausted": Takes::Word(&["fail", "pause"]), "fail or pause.";
    }

    /// `budget: { … }` of a `policy`.
    BUDGET = "budget", "The most that a run may use." {
        "calls": Takes::Count, "Calls.";
        "tokens": Takes::Count, "Tokens of models.";
        "cost": Takes::Number(0.0), "Cost.";
        "time": Takes::TimeLimit, "Time.";
        "memory": Takes::Count, "Memory for the results of calls, in bytes.";
    }

    /// `allow { … }`
    ALLOW = "allow", "What the built-in tools may reach." {
        "net": Takes::Texts, "A list of hosts with ports, such as [\"127.0.0.1:*\"].";
        "read": Takes::Texts, "A list of globs of files.";
        "write": Takes::Texts, "A list of globs of files.";
        "run": Takes::Texts, "A list of programs.";
        "env": Takes::Texts, "A list of variables.";
        "tools": Takes::Texts, "A list of tools, such as [\"desk.*\"]; without it every tool.";
        "agents": Takes::Texts, "A list of agents, such as [\"review\"]; without it every agent.";
    }
}
