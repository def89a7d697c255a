//! Codes about contracts: the tools, files and settings that plans rely on.

use super::Code;

pub static APP_INVALID: Code = Code::error("app-invalid", include_str!("pages/app-invalid.md"));
pub static CONFIG_KEY: Code = Code::error("config-key", include_str!("pages/config-key.md"));
pub static CONFIG_VARIABLE: Code =
    Code::warning("config-variable", include_str!("pages/config-variable.md"));
pub static NOT_YET: Code = Code::error("not-yet", include_str!("pages/not-yet.md"));
pub static DEPRECATED_TOOL: Code =
    Code::warning("deprecated-tool", include_str!("pages/deprecated-tool.md"));
pub static AMBIGUOUS_TOOL: Code =
    Code::error("ambiguous-tool", include_str!("pages/ambiguous-tool.md"));

pub static UNIMPLEMENTED_TOOL: Code = Code::warning(
    "unimplemented-tool",
    include_str!("pages/unimplemented-tool.md"),
);

pub static UNLOCKED_TOOL: Code =
    Code::error("unlocked-tool", include_str!("pages/unlocked-tool.md"));
pub static CONTRACT_BROKEN: Code =
    Code::error("contract-broken", include_str!("pages/contract-broken.md"));
pub static SUSPICIOUS_DESCRIPTION: Code = Code::warning(
    "suspicious-description",
    include_str!("pages/suspicious-description.md"),
);
pub static OBSERVED_READ: Code =
    Code::note("observed-read", include_str!("pages/observed-read.md"));

pub(super) static ALL: &[&Code] = &[
    &APP_INVALID,
    &CONFIG_KEY,
    &CONFIG_VARIABLE,
    &NOT_YET,
    &DEPRECATED_TOOL,
    &AMBIGUOUS_TOOL,
    &UNIMPLEMENTED_TOOL,
    &UNLOCKED_TOOL,
    &CONTRACT_BROKEN,
    &SUSPICIOUS_DESCRIPTION,
    &OBSERVED_READ,
];
