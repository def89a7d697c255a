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

/// `policy { … }`
pub static POLICY: Settings = Settings {
    name: "policy",
    about: "Settings of the whole plan.",
    all: &[
        setting(
            "retry",
            Takes::Settings(&RETRY),
            "How often calls are made.",
        ),
        setting(
            "timeout",
            Takes::Duration,
            "The longest that one attempt may take, such as 10s.",
        ),
        setting(
            "deadline",
            Takes::Duration,
            "The longest that the run may take, such as 10m.",
        ),
        setting(
            "concurrency",
            Takes::Count,
            "How many calls run at the same time.",
        ),
        setting(
            "on_failure",
            Takes::Word(&["undo", "pause", "settle"]),
            "undo, pause or settle.",
        ),
        setting(
            "budget",
            Takes::Settings(&BUDGET),
            "The most that a run may use.",
        ),
        setting("verify", Takes::Word(&["agents"]), "agents."),
        setting("max_steps", Takes::Count, "The most steps."),
        setting(
            "max_firings",
            Takes::Count,
            "The most firings of listeners.",
        ),
        setting("max_result", Takes::Count, "The largest result, in bytes."),
    ],
};

/// `retry { … }`
pub static RETRY: Settings = Settings {
    name: "retry",
    about: "How often a call is made, and when again.",
    all: &[
        setting(
            "attempts",
            Takes::Count,
            "The most attempts, the first included.",
        ),
        setting(
            "delay",
            Takes::Duration,
            "The wait after the first, such as 200ms.",
        ),
        setting(
            "factor",
            Takes::Number(1.0),
            "How much longer each further wait is.",
        ),
        setting("max_delay", Takes::Duration, "The longest wait."),
        setting("jitter", Takes::Word(&["none", "full"]), "none or full."),
        setting(
            "on",
            Takes::Names,
            "The error classes that are tried again.",
        ),
        setting(
            "on_exhausted",
            Takes::Word(&["fail", "pause"]),
            "fail or pause.",
        ),
    ],
};

/// `budget: { … }` of a `policy`.
pub static BUDGET: Settings = Settings {
    name: "budget",
    about: "The most that a run may use.",
    all: &[
        setting("calls", Takes::Count, "Calls."),
        setting("tokens", Takes::Count, "Tokens of models."),
        setting("cost", Takes::Number(0.0), "Cost."),
        setting("time", Takes::Duration, "Time."),
        setting(
            "memory",
            Takes::Count,
            "Memory for what calls give, in bytes.",
        ),
    ],
};

/// `allow { … }`
pub static ALLOW: Settings = Settings {
    name: "allow",
    about: "What the built-in tools may reach.",
    all: &[
        setting(
            "net",
            Takes::Texts,
            "A list of hosts with ports, such as [\"127.0.0.1:*\"].",
        ),
        setting("read", Takes::Texts, "A list of globs of files."),
        setting("write", Takes::Texts, "A list of globs of files."),
        setting("run", Takes::Texts, "A list of programs."),
        setting("env", Takes::Texts, "A list of variables."),
        setting("tools", Takes::Names, "A list of tools."),
        setting("agents", Takes::Names, "A list of agents."),
    ],
};

const fn setting(name: &'static str, takes: Takes, about: &'static str) -> Setting {
    Setting { name, takes, about }
}
