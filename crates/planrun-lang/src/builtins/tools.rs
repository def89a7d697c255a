//! Arguments that the built-in tools refuse, whatever the other arguments are. The tools apply these rules themselves;
//! the check applies them to the arguments that it knows.

use url::Url;

use crate::diag::closest;
use crate::types::ErrorClass;
use crate::value::Value;

/// Headers that belong to the connection, not to the request.
const OWN_HEADERS: [&str; 6] = [
    "connection",
    "content-length",
    "host",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// Returns why a built-in tool refuses the value of an argument; `None` if it accepts it, or is not built in.
#[must_use]
pub fn refused_argument(
    (namespace, tool): (&str, &str),
    argument: &str,
    value: &Value,
) -> Option<String> {
    match (namespace, tool, argument) {
        ("http", "fetch", "url") => refused_url(value.as_str()?),
        ("http", "fetch", "headers") => {
            let mut headers = value.as_map()?.iter();
            headers.find_map(|(name, value)| refused_header(&name.to_string(), value.as_str()?))
        }
        ("fs", _, "path") => refused_path(value.as_str()?),
        ("proc", _, "argv") => refused_words(value.as_list()?),
        ("proc", _, "env") => {
            let mut variables = value.as_map()?.iter();
            variables.find_map(|(name, value)| refused_variable(&name.to_string(), value.as_str()?))
        }
        ("sys", "fail", "class") => refused_class(value.as_str()?),
        _ => None,
    }
}

fn refused_url(written: &str) -> Option<String> {
    match Url::parse(written) {
        Err(problem) => Some(format!("`{written}` is not a valid URL: {problem}")),
        Ok(url) if matches!(url.scheme(), "http" | "https") => None,
        Ok(url) => Some(format!(
            "`{}:` is not a scheme that can be requested: the URL of a tool must begin with http or https",
            url.scheme()
        )),
    }
}

/// The characters of names and values are those of RFC 9110, sections 5.1 and 5.5, without obsolete ones.
fn refused_header(name: &str, value: &str) -> Option<String> {
    let in_name = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(in_name) {
        return Some(format!("`{name}` is not a valid header name"));
    }
    let name = name.to_ascii_lowercase();
    if OWN_HEADERS.contains(&&*name) {
        let message = format!("the header {name} is set by the connection, not by the call");
        return Some(message);
    }
    let in_value = |byte: u8| byte == b'\t' || (b' '..=b'~').contains(&byte);
    (!value.bytes().all(in_value))
        .then(|| format!("the header {name} contains characters that are not valid in a header"))
}

fn refused_path(written: &str) -> Option<String> {
    let refused = written.is_empty() || written.contains('\0');
    refused.then(|| "the path is empty or contains a zero byte".to_owned())
}

fn refused_words(words: &[Value]) -> Option<String> {
    let mut words = words.iter().map(|word| word.as_str().unwrap_or_default());
    if words.clone().next().is_none_or(str::is_empty) {
        return Some("argv does not name a program".to_owned());
    }
    let has_zero = words.any(|word| word.contains('\0'));
    has_zero.then(|| "argv contains a zero byte".to_owned())
}

fn refused_variable(name: &str, value: &str) -> Option<String> {
    let refused = name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
    refused.then(|| format!("the variable `{name}` cannot be set"))
}

fn refused_class(written: &str) -> Option<String> {
    if ErrorClass::find(written).is_some() {
        return None;
    }
    let nearest = closest(written, ErrorClass::names());
    let nearest = nearest.map(|name| format!("; did you mean `{name}`?"));
    let message = format!(
        "`{written}` is not an error class{}",
        nearest.unwrap_or_default()
    );
    Some(message)
}
