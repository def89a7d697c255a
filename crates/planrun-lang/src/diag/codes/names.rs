//! Codes about names: every name that is read, called or set must be declared, once.

use super::Code;

codes! {
    error UNKNOWN_NAME = "unknown-name";
    error UNKNOWN_NAMESPACE = "unknown-namespace";
    error UNKNOWN_TOOL = "unknown-tool";
    error UNKNOWN_PLAN = "unknown-plan";
    error UNKNOWN_TYPE = "unknown-type";
    error UNKNOWN_FIELD = "unknown-field";
    error UNKNOWN_ARGUMENT = "unknown-argument";
    error UNKNOWN_FUNCTION = "unknown-function";
    error UNKNOWN_SETTING = "unknown-setting";
    error UNKNOWN_STATUS = "unknown-status";
    error UNKNOWN_ERROR_CLASS = "unknown-error-class";
    error DUPLICATE_NAME = "duplicate-name";
    error AMBIGUOUS_PATH = "ambiguous-path";
    warning SHADOWED_NAME = "shadowed-name";
    error USE_BEFORE_DEFINITION = "use-before-definition";
    error UNRESOLVED_USE = "unresolved-use";
    warning UNUSED_USE = "unused-use";
    warning UNUSED_LET = "unused-let";
    warning UNUSED_INPUT = "unused-input";
    warning UNUSED_TYPE = "unused-type";
    warning UNUSED_TASK = "unused-task";
    note UNUSED_RESULT = "unused-result";
    error CALL_IN_EXPRESSION = "call-in-expression";
    error RECURSIVE_PLAN = "recursive-plan";
}
