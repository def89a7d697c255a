//! The settings of plans: the one table of their names, of what each takes, and of what it is for.

/// A group of settings: what stands between the braces of a `policy`, a `retry`, a `budget` or an `allow`.
pub struct Settings {
    /// The word before the braces.
    pub name: &'static str,
    pub about: &'static str,
    /// In the order in which they are told.
    pub all: &'static [Setting],
}

/// One setting.
pub struct Setting {
    pub name: &'static str,
    pub takes: Takes,
    pub about: &'static str,
}

/// What a setting takes, always as a constant.
#[derive(Clone, Copy)]
pub enum Takes {
    /// A length of time such as `30s`.
    Duration,
    /// A whole number above zero.
    Count,
    /// A number that is this or more.
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
    /// The setting of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&'static Setting> {
        self.all.iter().find(|setting| setting.name == name)
    }

    /// The names of all settings.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        self.all.iter().map(|setting| setting.name)
    }
}

/// Groups of settings: the word before the braces, what they are for, and each with its name, what it takes and what it is for.
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
        "retry": Takes::Settings(&RETRY), "How often calls are made.";
        "timeout": Takes::Duration, "The longest that one attempt may take, such as 10s.";
        "deadline": Takes::Duration, "The longest that the run may take, such as 10m.";
        "concurrency": Takes::Count, "How many calls run at the same time.";
        "on_failure": Takes::Word(&["undo", "pause", "settle"]), "undo, pause or settle.";
        "budget": Takes::Settings(&BUDGET), "The most that a run may use.";
        "verify": Takes::Word(&["agents"]), "agents.";
        "max_steps": Takes::Count, "The most steps.";
        "max_firings": Takes::Count, "The most firings of listeners.";
        "max_result": Takes::Count, "The largest result, in bytes.";
    }

    /// `retry { … }`
    RETRY = "retry", "How often a call is made, and when again." {
        "attempts": Takes::Count, "The most attempts, the first included.";
        "delay": Takes::Duration, "The wait after the first, such as 200ms.";
        "factor": Takes::Number(1.0), "How much longer each further wait is.";
        "max_delay": Takes::Duration, "The longest wait.";
        "jitter": Takes::Word(&["none", "full"]), "none or full.";
        "on": Takes::Names, "The error classes that are tried again.";
        "on_exhausted": Takes::Word(&["fail", "pause"]), "fail or pause.";
    }

    /// `budget: { … }` of a `policy`.
    BUDGET = "budget", "The most that a run may use." {
        "calls": Takes::Count, "Calls.";
        "tokens": Takes::Count, "Tokens of models.";
        "cost": Takes::Number(0.0), "Cost.";
        "time": Takes::Duration, "Time.";
        "memory": Takes::Count, "Memory for what calls give, in bytes.";
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
