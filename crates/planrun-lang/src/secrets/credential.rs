//! What a credential is: which names denote one, and which parts of a sensitive text are secret. Everything that redacts
//! uses these definitions, so that a value that is secret for one reader is secret for all.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use url::Url;

use super::form::{Encoding, ReadBack};

/// Words in the name of a variable or header that indicate a secret value.
const WORDS: [&str; 20] = [
    "APIKEY",
    "AUTH",
    "AUTHENTICATE",
    "AUTHORIZATION",
    "BEARER",
    "COOKIE",
    "CREDENTIAL",
    "CREDENTIALS",
    KEY,
    "KEYS",
    "PASS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PAT",
    "PRIVATE",
    "SECRET",
    "SECRETS",
    "TOKEN",
    "TOKENS",
];
const KEY: &str = "KEY";
/// Words before `KEY` in the names of keys that identify something and open nothing, such as `Idempotency-Key`.
const IDENTIFYING: [&str; 3] = ["IDEMPOTENCY", "PARTITION", "WEBSOCKET"];

/// The words before the credential in a header. They are never secret themselves.
const SCHEMES: [&str; 9] = [
    "apikey",
    BASIC,
    "bearer",
    "digest",
    "dpop",
    "key",
    "negotiate",
    "oauth",
    "token",
];
const BASIC: &str = "basic";

/// Returns true if the name of a variable or header indicates a secret: `HR_TOKEN`, `db_password`, `X-Api-Key`.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let mut before = String::new();
    name.split(['_', '-', '.']).any(|word| {
        let word = word.to_ascii_uppercase();
        let identifies = word == KEY && IDENTIFYING.contains(&before.as_str());
        let is_secret = WORDS.contains(&word.as_str()) && !identifies;
        before = word;
        is_secret
    })
}

/// Returns the credentials in the value of a variable or header: the whole value if its name is that of a credential,
/// otherwise those in an address.
#[must_use]
pub fn credentials_in(name: &str, value: &str) -> Vec<String> {
    if is_secret_name(name) {
        vec![value.to_owned()]
    } else {
        credentials_in_address(value)
    }
}

/// Returns the credentials in a text that may be an address: the password before its host, or a user name without a
/// password.
#[must_use]
pub fn credentials_in_address(text: &str) -> Vec<String> {
    let Ok(url) = Url::parse(text) else {
        return Vec::new();
    };
    // Without a password, the user name of a web address is a token.
    let alone = if matches!(url.scheme(), "http" | "https") {
        url.username()
    } else {
        ""
    };
    let written = url.password().unwrap_or(alone);
    // It is decoded, because it is sent decoded in `Authorization`.
    let read = ReadBack::of(written.as_bytes(), Encoding::Percent);
    let read = read.map_or_else(
        || written.to_owned(),
        |read| String::from_utf8_lossy(&read.bytes).into_owned(),
    );
    Some(read)
        .filter(|read| !read.is_empty())
        .into_iter()
        .collect()
}

/// Returns the parts of a sensitive text that are secret wherever they appear: the text itself; what follows the scheme in
/// `Bearer TOKEN`, and the password of `Basic`; and the credentials in an address. A scheme alone is no secret.
pub(super) fn secret_parts(text: &str) -> Vec<String> {
    let trimmed = text.trim();
    let (first, rest) = trimmed.split_once(' ').unwrap_or((trimmed, ""));
    let is_scheme = SCHEMES
        .iter()
        .any(|scheme| scheme.eq_ignore_ascii_case(first));
    if is_scheme && rest.is_empty() {
        return Vec::new();
    }
    let mut parts = vec![text.to_owned()];
    if is_scheme {
        let token = rest.trim();
        parts.push(token.to_owned());
        if first.eq_ignore_ascii_case(BASIC) {
            let decoded = BASE64_STANDARD.decode(token).unwrap_or_default();
            let pair = String::from_utf8(decoded).unwrap_or_default();
            parts.extend(
                pair.split_once(':')
                    .map(|(_, password)| password.to_owned()),
            );
        }
    }
    parts.extend(credentials_in_address(text));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_secrets() {
        for name in [
            "HR_TOKEN",
            "db_password",
            "AWS_SECRET_ACCESS_KEY",
            "api-key",
            "Proxy-Authorization",
            "WWW-Authenticate",
            "Set-Cookie",
            "X-Idempotency-Token-Key",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "HOME",
            "PATH",
            "MONKEY",
            "PWD",
            "NODE_ENV",
            "KEYBOARD",
            "Idempotency-Key",
            "X-Idempotency-Key",
            "Sec-WebSocket-Key",
            "x-ms-documentdb-partition-key",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn addresses_tell_credentials() {
        assert_eq!(
            credentials_in("DATABASE_URL", "postgres://app:p%40ss%2Fw@db/x"),
            ["p@ss/w"]
        );
        assert_eq!(
            credentials_in("HOOK", "https://only-token@example.com/"),
            ["only-token"]
        );
        assert_eq!(credentials_in("STAGE", "production"), [""; 0]);
        assert_eq!(credentials_in("SITE", "https://example.com/a%20b"), [""; 0]);
        assert_eq!(credentials_in("Accept-Language", "en"), [""; 0]);
        assert_eq!(credentials_in("X-Api-Key", "k-1"), ["k-1"]);
    }

    #[test]
    fn a_scheme_is_never_part_of_the_secret() {
        let cases: [(&str, &[&str]); 9] = [
            ("Bearer abc.def", &["Bearer abc.def", "abc.def"]),
            ("ApiKey  k-1 ", &["ApiKey  k-1 ", "k-1"]),
            (
                "Basic YW5uOmh1bnRlcjI=",
                &["Basic YW5uOmh1bnRlcjI=", "YW5uOmh1bnRlcjI=", "hunter2"],
            ),
            (
                "postgres://app:p%40ss@db/x",
                &["postgres://app:p%40ss@db/x", "p@ss"],
            ),
            ("correct horse battery", &["correct horse battery"]),
            ("k-1", &["k-1"]),
            ("Bearer ", &[]),
            ("digest", &[]),
            (" TOKEN", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(secret_parts(text), expected, "{text}");
        }
    }
}
