//! Codes about contracts: the tools, files and settings that plans rely on.

use super::Code;

codes! {
    error APP_INVALID = "app-invalid";
    error OPENAPI_INVALID = "openapi-invalid";
    error CONFIG_KEY = "config-key";
    warning CONFIG_VARIABLE = "config-variable";
    warning NOT_YET = "not-yet";
    warning DEPRECATED_TOOL = "deprecated-tool";
    error AMBIGUOUS_TOOL = "ambiguous-tool";
    warning UNIMPLEMENTED_TOOL = "unimplemented-tool";
    error UNLOCKED_TOOL = "unlocked-tool";
    warning WEAKENED_CONTRACT = "weakened-contract";
    error CONTRACT_BROKEN = "contract-broken";
    warning SUSPICIOUS_DESCRIPTION = "suspicious-description";
    note OBSERVED_READ = "observed-read";
}
