//! The kinds of change: which class each belongs to, whether it breaks something, and for whom.

use std::fmt;

use planrun_lang::diag::{Code, Severity};

/// One kind of change.
#[derive(Debug)]
pub struct Kind {
    /// Its stable name in kebab case, its weight, and what it means in one sentence.
    pub code: Code,
    pub class: Class,
    /// Who notices.
    pub concern: Concern,
}

/// What a change is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    Plans,
    Inputs,
    Reply,
    Effects,
    Permissions,
    Tools,
    Errors,
    Gates,
    /// Tasks and signals that others move and send.
    Signals,
}

/// Who notices a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Concern {
    /// Plans and programs that call the plan.
    Callers,
    /// Those who allowed the plan to reach and to change what it does.
    Granters,
    /// Those who answer its questions, move its tasks and send it signals.
    Answerers,
    /// Runs that began with the text of then.
    Runs,
}

impl Kind {
    const fn breaking(
        name: &'static str,
        class: Class,
        concern: Concern,
        meaning: &'static str,
    ) -> Self {
        Self {
            code: Code {
                name,
                severity: Severity::Error,
                page: meaning,
                optional: false,
            },
            class,
            concern,
        }
    }

    const fn compatible(
        name: &'static str,
        class: Class,
        concern: Concern,
        meaning: &'static str,
    ) -> Self {
        Self {
            code: Code {
                name,
                severity: Severity::Note,
                page: meaning,
                optional: false,
            },
            class,
            concern,
        }
    }

    /// Its stable name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.code.name
    }

    /// Whether it breaks something for those whom it concerns.
    #[must_use]
    pub fn is_breaking(&self) -> bool {
        self.code.severity == Severity::Error
    }

    /// The word for its weight.
    #[must_use]
    pub fn severity(&self) -> &'static str {
        if self.is_breaking() {
            "breaking"
        } else {
            "compatible"
        }
    }

    /// What it means, in one sentence.
    #[must_use]
    pub const fn meaning(&self) -> &'static str {
        self.code.page
    }
}

impl Class {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plans => "plans",
            Self::Inputs => "inputs",
            Self::Reply => "reply",
            Self::Effects => "effects",
            Self::Permissions => "permissions",
            Self::Tools => "tools",
            Self::Errors => "errors",
            Self::Gates => "gates",
            Self::Signals => "signals",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Concern {
    /// The word for them.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Callers => "callers",
            Self::Granters => "granters",
            Self::Answerers => "answerers",
            Self::Runs => "runs",
        }
    }
}

impl fmt::Display for Concern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Defines the kinds, a constant each, and the list of all of them.
macro_rules! kinds {
    ($($constant:ident: $weight:ident $name:literal $class:ident $concern:ident $meaning:literal;)*) => {
        $(pub static $constant: Kind = Kind::$weight($name, Class::$class, Concern::$concern, $meaning);)*

        /// Every kind, class by class.
        pub static ALL: &[&Kind] = &[$(&$constant),*];
    };
}

kinds! {
    PLAN_REMOVED: breaking "plan-removed" Plans Callers "the plan, or its file, is gone";
    PLAN_ADDED: compatible "plan-added" Plans Callers "there is a plan that was not there";

    INPUT_REMOVED: breaking "input-removed" Inputs Callers "an input, or a field of one, is gone; who gives it is refused";
    INPUT_ADDED_REQUIRED: breaking "input-added-required" Inputs Callers "a new input, or a field of one, must be given";
    INPUT_ADDED_OPTIONAL: compatible "input-added-optional" Inputs Callers "a new input, or a field of one, may be given";
    INPUT_NARROWED: breaking "input-narrowed" Inputs Callers "some values that were taken are not taken any more";
    INPUT_WIDENED: compatible "input-widened" Inputs Callers "more values are taken than before";
    INPUT_CHANGED: breaking "input-changed" Inputs Callers "an input has another type, which takes neither all nor only the values of then";
    INPUT_REQUIRED: breaking "input-required" Inputs Callers "what could be left out must be given";
    INPUT_OPTIONAL: compatible "input-optional" Inputs Callers "what had to be given may be left out";
    DEFAULT_ADDED: breaking "default-added" Inputs Callers "what was absent when it was left out now has a value";
    DEFAULT_CHANGED: breaking "default-changed" Inputs Callers "who leaves it out gets another value";
    DEFAULT_REMOVED: breaking "default-removed" Inputs Callers "what had a value when it was left out is now absent";
    INPUT_BECAME_SECRET: compatible "input-became-secret" Inputs Callers "what was shown is not shown any more";
    INPUT_BECAME_PUBLIC: breaking "input-became-public" Inputs Callers "what was given as a secret may now be shown";

    REPLY_WIDENED: breaking "reply-widened" Reply Callers "the reply may hold, or leave out, what callers did not have to expect";
    REPLY_NARROWED: compatible "reply-narrowed" Reply Callers "the reply holds less than callers are ready for";
    REPLY_CHANGED: breaking "reply-changed" Reply Callers "the reply has another type";
    REPLY_FIELD_REMOVED: breaking "reply-field-removed" Reply Callers "a field that callers may read is gone";
    REPLY_FIELD_ADDED: compatible "reply-field-added" Reply Callers "there is one more field; callers read fields by name";

    EFFECT_RAISED: breaking "effect-raised" Effects Granters "the plan has a higher effect class";
    EFFECT_LOWERED: compatible "effect-lowered" Effects Granters "the plan has a lower effect class";
    CALL_ADDED: breaking "call-added" Effects Granters "a tool that changes something is called, and was not";
    CALL_REMOVED: compatible "call-removed" Effects Granters "a tool that changes something is not called any more";
    IRREVERSIBLE_UNCONFIRMED: breaking "irreversible-unconfirmed" Effects Granters "what cannot be taken back is done without a `confirm`, and was not";

    PERMISSION_ADDED: breaking "permission-added" Permissions Granters "`allow` lists what nothing in it allowed before";
    PERMISSION_REMOVED: compatible "permission-removed" Permissions Granters "`allow` does not list any more what it allowed";

    TOOL_ADDED: compatible "tool-added" Tools Granters "a tool that changes nothing is called, and was not";
    TOOL_REMOVED: compatible "tool-removed" Tools Granters "a tool that changes nothing is not called any more";
    TOOL_EFFECT_RAISED: breaking "tool-effect-raised" Tools Granters "calls of a tool have a higher effect class";
    TOOL_EFFECT_LOWERED: compatible "tool-effect-lowered" Tools Granters "calls of a tool have a lower effect class";
    TOOL_ARGUMENTS_NARROWED: breaking "tool-arguments-narrowed" Tools Runs "a called tool refuses some of the arguments that it took";
    TOOL_ARGUMENTS_WIDENED: compatible "tool-arguments-widened" Tools Runs "a called tool takes more arguments than before";
    TOOL_RESULT_WIDENED: breaking "tool-result-widened" Tools Runs "a called tool may give, or leave out, what the text of then did not have to expect";
    TOOL_RESULT_NARROWED: compatible "tool-result-narrowed" Tools Runs "a called tool gives less than the text of then is ready for, or a field more";

    ERROR_ADDED: breaking "error-added" Errors Callers "the plan can fail with a class that it never failed with; no caller has an arm for it";
    ERROR_REMOVED: compatible "error-removed" Errors Callers "the plan does not fail with a class any more";

    CONFIRM_REMOVED: breaking "confirm-removed" Gates Granters "nobody is asked any more before a tool is called";
    CONFIRM_ADDED: breaking "confirm-added" Gates Callers "a run that went through waits for somebody before a tool is called";
    ROLE_CHANGED: breaking "role-changed" Gates Answerers "others may answer than before";
    FORM_REMOVED: breaking "form-removed" Gates Granters "nobody is asked any more by an `input`";
    FORM_ADDED: breaking "form-added" Gates Callers "a run that went through waits for somebody to fill in a form";
    FORM_NARROWED: breaking "form-narrowed" Gates Answerers "answers that a form took are refused";
    FORM_WIDENED: compatible "form-widened" Gates Answerers "a form takes more answers than before";

    TASK_REMOVED: breaking "task-removed" Signals Answerers "a task that was moved from outside is gone, or is not `external` any more";
    TASK_ADDED: compatible "task-added" Signals Answerers "a task may be moved from outside";
    STATUS_REMOVED: breaking "status-removed" Signals Answerers "an `external` task cannot be moved to a status any more";
    STATUS_ADDED: compatible "status-added" Signals Answerers "an `external` task has one more status";
    SIGNAL_REMOVED: breaking "signal-removed" Signals Answerers "nothing listens to a signal any more; who sends it is refused";
    SIGNAL_ADDED: compatible "signal-added" Signals Answerers "something listens to a signal";
    SIGNAL_NARROWED: breaking "signal-narrowed" Signals Answerers "payloads that a signal, or a context that a task took are refused";
    SIGNAL_WIDENED: compatible "signal-widened" Signals Answerers "a signal, or the context of a task, takes more than before";
}

/// The kind with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Kind> {
    ALL.iter().copied().find(|kind| kind.name() == name)
}
