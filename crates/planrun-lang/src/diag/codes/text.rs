//! Codes about the text: syntax errors.

use super::Code;

codes! {
    error UNEXPECTED_TOKEN = "unexpected-token";
    error UNCLOSED_DELIMITER = "unclosed-delimiter";
    error UNTERMINATED_STRING = "unterminated-string";
    error BAD_ESCAPE = "bad-escape";
    error BAD_NUMBER = "bad-number";
    error BAD_DURATION = "bad-duration";
    error TOO_DEEP = "too-deep";
    error FILE_TOO_LARGE = "file-too-large";
    error NOT_UTF8 = "not-utf8";
    warning CONFUSABLE_CHARACTER = "confusable-character";
    error BIDI_CONTROL = "bidi-control";
    error DUPLICATE_CLAUSE = "duplicate-clause";
    error DUPLICATE_FIELD = "duplicate-field";
    error POSITIONAL_ARGUMENT = "positional-argument";
    error MISPLACED_STATEMENT = "misplaced-statement";
    error RESERVED_NAME = "reserved-name";
    error BAD_JSON = "bad-json";
    error JSON_SHAPE = "json-shape";
    error MISSING_HEAD = "missing-head";
    warning EMPTY_PLAN = "empty-plan";
}
