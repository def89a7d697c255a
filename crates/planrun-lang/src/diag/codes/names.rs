//! Codes about names: what is read, called or set must exist, once.

use super::Code;

pub static UNKNOWN_NAME: Code = Code::error("unknown-name", include_str!("pages/unknown-name.md"));
pub static UNKNOWN_NAMESPACE: Code = Code::error(
    "unknown-namespace",
    include_str!("pages/unknown-namespace.md"),
);
pub static UNKNOWN_TOOL: Code = Code::error("unknown-tool", include_str!("pages/unknown-tool.md"));
pub static UNKNOWN_PLAN: Code = Code::error("unknown-plan", include_str!("pages/unknown-plan.md"));
pub static UNKNOWN_TYPE: Code = Code::error("unknown-type", include_str!("pages/unknown-type.md"));
pub static UNKNOWN_FIELD: Code =
    Code::error("unknown-field", include_str!("pages/unknown-field.md"));
pub static UNKNOWN_ARGUMENT: Code = Code::error(
    "unknown-argument",
    include_str!("pages/unknown-argument.md"),
);
pub static UNKNOWN_FUNCTION: Code = Code::error(
    "unknown-function",
    include_str!("pages/unknown-function.md"),
);
pub static UNKNOWN_SETTING: Code =
    Code::error("unknown-setting", include_str!("pages/unknown-setting.md"));
pub static UNKNOWN_STATUS: Code =
    Code::error("unknown-status", include_str!("pages/unknown-status.md"));
pub static UNKNOWN_ERROR_CLASS: Code = Code::error(
    "unknown-error-class",
    include_str!("pages/unknown-error-class.md"),
);
pub static DUPLICATE_NAME: Code =
    Code::error("duplicate-name", include_str!("pages/duplicate-name.md"));
pub static SHADOWED_NAME: Code =
    Code::warning("shadowed-name", include_str!("pages/shadowed-name.md"));
pub static USE_BEFORE_DEFINITION: Code = Code::error(
    "use-before-definition",
    include_str!("pages/use-before-definition.md"),
);
pub static UNRESOLVED_USE: Code =
    Code::error("unresolved-use", include_str!("pages/unresolved-use.md"));
pub static UNUSED_USE: Code = Code::warning("unused-use", include_str!("pages/unused-use.md"));
pub static UNUSED_LET: Code = Code::warning("unused-let", include_str!("pages/unused-let.md"));
pub static UNUSED_INPUT: Code =
    Code::warning("unused-input", include_str!("pages/unused-input.md"));
pub static UNUSED_TYPE: Code = Code::warning("unused-type", include_str!("pages/unused-type.md"));
pub static UNUSED_TASK: Code = Code::warning("unused-task", include_str!("pages/unused-task.md"));
pub static UNUSED_RESULT: Code =
    Code::note("unused-result", include_str!("pages/unused-result.md"));
pub static CALL_IN_EXPRESSION: Code = Code::error(
    "call-in-expression",
    include_str!("pages/call-in-expression.md"),
);
pub static RECURSIVE_PLAN: Code =
    Code::error("recursive-plan", include_str!("pages/recursive-plan.md"));

pub(super) static ALL: &[&Code] = &[
    &UNKNOWN_NAME,
    &UNKNOWN_NAMESPACE,
    &UNKNOWN_TOOL,
    &UNKNOWN_PLAN,
    &UNKNOWN_TYPE,
    &UNKNOWN_FIELD,
    &UNKNOWN_ARGUMENT,
    &UNKNOWN_FUNCTION,
    &UNKNOWN_SETTING,
    &UNKNOWN_STATUS,
    &UNKNOWN_ERROR_CLASS,
    &DUPLICATE_NAME,
    &SHADOWED_NAME,
    &USE_BEFORE_DEFINITION,
    &UNRESOLVED_USE,
    &UNUSED_USE,
    &UNUSED_LET,
    &UNUSED_INPUT,
    &UNUSED_TYPE,
    &UNUSED_TASK,
    &UNUSED_RESULT,
    &CALL_IN_EXPRESSION,
    &RECURSIVE_PLAN,
];
