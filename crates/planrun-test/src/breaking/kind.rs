//! The kinds of change: the class of each, whether it is breaking, and for whom.

use planrun_lang::diag::{Code, Severity};
use planrun_lang::words;

/// One kind of change.
#[derive(Debug)]
pub struct Kind {
    /// Its stable name in kebab case, its severity, and its meaning in one sentence.
    pub code: Code,
    pub class: Class,
    /// The side that is affected.
    pub concern: Concern,
}

words! {
    /// The part of a plan that a change is about.
    #[derive(PartialOrd, Ord)]
    Class {
        Plans = "plans",
        Inputs = "inputs",
        Reply = "reply",
        Effects = "effects",
        Permissions = "permissions",
        Tools = "tools",
        Errors = "errors",
        Gates = "gates",
        /// External tasks and signals.
        Signals = "signals",
    }
}

words! {
    /// The side that is affected by a change.
    Concern {
        /// Plans and programs that call the plan.
        Callers = "callers",
        /// People who granted the plan its permissions and effects.
        Granters = "granters",
        /// People and systems that answer its questions, move its tasks and send it signals.
        Answerers = "answerers",
        /// Runs that were started with the old version.
        Runs = "runs",
    }
}

impl Kind {
    /// Returns its stable name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.code.name
    }

    /// Returns true if it is a breaking change.
    #[must_use]
    pub fn is_breaking(&self) -> bool {
        self.code.severity == Severity::Error
    }

    /// Returns its severity in reports.
    #[must_use]
    pub fn severity(&self) -> &'static str {
        if self.is_breaking() {
            "breaking"
        } else {
            "compatible"
        }
    }

    /// Returns its meaning, in one sentence.
    #[must_use]
    pub const fn meaning(&self) -> &'static str {
        self.code.page
    }
}

/// Defines a constant for each kind, and the list of all kinds.
macro_rules! kinds {
    (@severity breaking) => { Severity::Error };
    (@severity compatible) => { Severity::Note };
    ($($constant:ident: $weight:ident $name:literal $class:ident $concern:ident $meaning:literal;)*) => {
        $(pub static $constant: Kind = Kind {
            code: Code {
                name: $name,
                severity: kinds!(@severity $weight),
                page: $meaning,
                optional: false,
            },
            class: Class::$class,
            concern: Concern::$concern,
        };)*

        /// All kinds, grouped by class.
        pub static ALL: &[&Kind] = &[$(&$constant),*];
    };
}

kinds! {
    PLAN_REMOVED: breaking "plan-removed" Plans Callers "the plan, or its file, was removed";
    PLAN_ADDED: compatible "plan-added" Plans Callers "a plan was added";

    INPUT_REMOVED: breaking "input-removed" Inputs Callers "an input, or a field of one, was removed; passing it is an error";
    INPUT_ADDED_REQUIRED: breaking "input-added-required" Inputs Callers "a required input, or a required field of one, was added";
    INPUT_ADDED_OPTIONAL: compatible "input-added-optional" Inputs Callers "an optional input, or an optional field of one, was added";
    INPUT_NARROWED: breaking "input-narrowed" Inputs Callers "some values that were accepted are now rejected";
    INPUT_WIDENED: compatible "input-widened" Inputs Callers "more values are accepted than before";
    INPUT_CHANGED: breaking "input-changed" Inputs Callers "an input has another type, which rejects some values of the old type and accepts new ones";
    INPUT_REQUIRED: breaking "input-required" Inputs Callers "an optional input, or field, is now required";
    INPUT_OPTIONAL: compatible "input-optional" Inputs Callers "a required input, or field, is now optional";
    DEFAULT_ADDED: breaking "default-added" Inputs Callers "an input that was absent when omitted now has a default";
    DEFAULT_CHANGED: breaking "default-changed" Inputs Callers "callers that omit the input get another value";
    DEFAULT_REMOVED: breaking "default-removed" Inputs Callers "an input that had a default is now absent when omitted";
    INPUT_BECAME_SECRET: compatible "input-became-secret" Inputs Callers "an input is now a secret, and its value is no longer shown";
    INPUT_BECAME_PUBLIC: breaking "input-became-public" Inputs Callers "an input is no longer a secret, and its value may be shown";

    REPLY_WIDENED: breaking "reply-widened" Reply Callers "the reply may contain values, or omit fields, that callers did not have to handle";
    REPLY_NARROWED: compatible "reply-narrowed" Reply Callers "the reply has fewer possible values than callers can handle";
    REPLY_CHANGED: breaking "reply-changed" Reply Callers "the reply has another type";
    REPLY_FIELD_REMOVED: breaking "reply-field-removed" Reply Callers "a field that callers may read was removed";
    REPLY_FIELD_ADDED: compatible "reply-field-added" Reply Callers "a field was added; callers read fields by name";

    EFFECT_RAISED: breaking "effect-raised" Effects Granters "the plan has a higher effect class";
    EFFECT_LOWERED: compatible "effect-lowered" Effects Granters "the plan has a lower effect class";
    CALL_ADDED: breaking "call-added" Effects Granters "a tool that changes something is now called";
    CALL_REMOVED: compatible "call-removed" Effects Granters "a tool that changes something is no longer called";
    IRREVERSIBLE_UNCONFIRMED: breaking "irreversible-unconfirmed" Effects Granters "a call that cannot be undone is now made without a `confirm`";

    PERMISSION_ADDED: breaking "permission-added" Permissions Granters "`allow` lists a pattern that was not allowed before";
    PERMISSION_REMOVED: compatible "permission-removed" Permissions Granters "`allow` no longer lists a pattern that it allowed";

    TOOL_ADDED: compatible "tool-added" Tools Granters "a tool that changes nothing is now called";
    TOOL_REMOVED: compatible "tool-removed" Tools Granters "a tool that changes nothing is no longer called";
    TOOL_EFFECT_RAISED: breaking "tool-effect-raised" Tools Granters "calls of a tool have a higher effect class";
    TOOL_EFFECT_LOWERED: compatible "tool-effect-lowered" Tools Granters "calls of a tool have a lower effect class";
    TOOL_ARGUMENTS_NARROWED: breaking "tool-arguments-narrowed" Tools Runs "a called tool rejects some of the arguments that it accepted";
    TOOL_ARGUMENTS_WIDENED: compatible "tool-arguments-widened" Tools Runs "a called tool accepts more arguments than before";
    TOOL_RESULT_WIDENED: breaking "tool-result-widened" Tools Runs "a called tool may return values, or omit fields, that the old plan did not have to handle";
    TOOL_RESULT_NARROWED: compatible "tool-result-narrowed" Tools Runs "a called tool returns fewer possible values than the old plan can handle, or an additional field";

    ERROR_ADDED: breaking "error-added" Errors Callers "the plan can fail with a new error class; callers have no arm for it";
    ERROR_REMOVED: compatible "error-removed" Errors Callers "the plan no longer fails with an error class";

    CONFIRM_REMOVED: breaking "confirm-removed" Gates Granters "a tool is now called without confirmation";
    CONFIRM_ADDED: breaking "confirm-added" Gates Callers "a run now waits for a confirmation before a tool is called";
    ROLE_CHANGED: breaking "role-changed" Gates Answerers "other people may answer than before";
    FORM_REMOVED: breaking "form-removed" Gates Granters "an `input` was removed";
    FORM_ADDED: breaking "form-added" Gates Callers "a run now waits for a form to be filled in";
    FORM_NARROWED: breaking "form-narrowed" Gates Answerers "some answers that a form accepted are now rejected";
    FORM_WIDENED: compatible "form-widened" Gates Answerers "a form accepts more answers than before";

    TASK_REMOVED: breaking "task-removed" Signals Answerers "a task that was moved from outside was removed, or is no longer `external`";
    TASK_ADDED: compatible "task-added" Signals Answerers "a task can now be moved from outside";
    STATUS_REMOVED: breaking "status-removed" Signals Answerers "an `external` task can no longer be moved to a status";
    STATUS_ADDED: compatible "status-added" Signals Answerers "an `external` task has a new status";
    SIGNAL_REMOVED: breaking "signal-removed" Signals Answerers "the plan no longer listens for a signal; sending it is an error";
    SIGNAL_ADDED: compatible "signal-added" Signals Answerers "the plan now listens for a signal";
    SIGNAL_NARROWED: breaking "signal-narrowed" Signals Answerers "some payloads of a signal, or contexts of a task, that were accepted are now rejected";
    SIGNAL_WIDENED: compatible "signal-widened" Signals Answerers "a signal, or the context of a task, accepts more than before";
}

/// Returns the kind with this name; `None` if there is none.
#[must_use]
pub fn find(name: &str) -> Option<&'static Kind> {
    ALL.iter().copied().find(|kind| kind.name() == name)
}
