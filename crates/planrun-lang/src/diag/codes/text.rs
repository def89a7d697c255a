//! Codes about the text itself: what stands there cannot be read as the language.

use super::Code;

pub static UNEXPECTED_TOKEN: Code = Code::error(
    "unexpected-token",
    include_str!("pages/unexpected-token.md"),
);
pub static UNCLOSED_DELIMITER: Code = Code::error(
    "unclosed-delimiter",
    include_str!("pages/unclosed-delimiter.md"),
);
pub static UNTERMINATED_STRING: Code = Code::error(
    "unterminated-string",
    include_str!("pages/unterminated-string.md"),
);
pub static BAD_ESCAPE: Code = Code::error("bad-escape", include_str!("pages/bad-escape.md"));
pub static BAD_NUMBER: Code = Code::error("bad-number", include_str!("pages/bad-number.md"));
pub static BAD_DURATION: Code = Code::error("bad-duration", include_str!("pages/bad-duration.md"));
pub static TOO_DEEP: Code = Code::error("too-deep", include_str!("pages/too-deep.md"));
pub static FILE_TOO_LARGE: Code =
    Code::error("file-too-large", include_str!("pages/file-too-large.md"));
pub static NOT_UTF8: Code = Code::error("not-utf8", include_str!("pages/not-utf8.md"));
pub static CONFUSABLE_CHARACTER: Code = Code::warning(
    "confusable-character",
    include_str!("pages/confusable-character.md"),
);
pub static BIDI_CONTROL: Code = Code::error("bidi-control", include_str!("pages/bidi-control.md"));
pub static DUPLICATE_CLAUSE: Code = Code::error(
    "duplicate-clause",
    include_str!("pages/duplicate-clause.md"),
);
pub static DUPLICATE_FIELD: Code =
    Code::error("duplicate-field", include_str!("pages/duplicate-field.md"));
pub static POSITIONAL_ARGUMENT: Code = Code::error(
    "positional-argument",
    include_str!("pages/positional-argument.md"),
);
pub static MISPLACED_STATEMENT: Code = Code::error(
    "misplaced-statement",
    include_str!("pages/misplaced-statement.md"),
);
pub static RESERVED_NAME: Code =
    Code::error("reserved-name", include_str!("pages/reserved-name.md"));
pub static BAD_JSON: Code = Code::error("bad-json", include_str!("pages/bad-json.md"));
pub static JSON_SHAPE: Code = Code::error("json-shape", include_str!("pages/json-shape.md"));
pub static EMPTY_PLAN: Code = Code::warning("empty-plan", include_str!("pages/empty-plan.md"));

pub(super) static ALL: &[&Code] = &[
    &UNEXPECTED_TOKEN,
    &UNCLOSED_DELIMITER,
    &UNTERMINATED_STRING,
    &BAD_ESCAPE,
    &BAD_NUMBER,
    &BAD_DURATION,
    &TOO_DEEP,
    &FILE_TOO_LARGE,
    &NOT_UTF8,
    &CONFUSABLE_CHARACTER,
    &BIDI_CONTROL,
    &DUPLICATE_CLAUSE,
    &DUPLICATE_FIELD,
    &POSITIONAL_ARGUMENT,
    &MISPLACED_STATEMENT,
    &RESERVED_NAME,
    &BAD_JSON,
    &JSON_SHAPE,
    &EMPTY_PLAN,
];
