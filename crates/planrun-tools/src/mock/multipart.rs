//! Parses `multipart/form-data` bodies.

/// Maximum number of parts that are read.
const MAX_PARTS: usize = 10_000;

/// One part of a form.
pub(super) struct Part {
    pub name: String,
    pub is_file: bool,
    pub content: Vec<u8>,
}

/// Returns the parts of a body; `None` if it is not `multipart/form-data`.
pub(super) fn parts(media_type: &str, body: &[u8]) -> Option<Vec<Part>> {
    let boundary = parameter(media_type, "boundary")?;
    let mark = format!("--{boundary}").into_bytes();
    let mut rest = body.get(find(body, &mark)? + mark.len()..)?;
    let mut parts = Vec::new();
    while !rest.starts_with(b"--") && parts.len() < MAX_PARTS {
        let own = rest.strip_prefix(b"\r\n")?;
        let end = find(own, &[b"\r\n", mark.as_slice()].concat())?;
        parts.push(part(own.get(..end)?)?);
        rest = own.get(end + 2 + mark.len()..)?;
    }
    Some(parts)
}

fn part(text: &[u8]) -> Option<Part> {
    // A part may have an empty body, but it always has headers.
    let end = find(text, b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(text.get(..end)?).into_owned();
    let lines = head.split("\r\n");
    let mut lines = lines.filter_map(|line| line.split_once(':'));
    let (_, disposition) =
        lines.find(|(name, _)| name.eq_ignore_ascii_case("content-disposition"))?;
    Some(Part {
        name: parameter(disposition, "name")?,
        is_file: parameter(disposition, "filename").is_some(),
        content: text.get(end + 4..)?.to_vec(),
    })
}

/// Returns a parameter of a header, such as `boundary`.
fn parameter(line: &str, name: &str) -> Option<String> {
    let own = line.split(';').skip(1).find_map(|part| {
        let (known, value) = part.trim().split_once('=')?;
        known.eq_ignore_ascii_case(name).then_some(value)
    })?;
    Some(own.trim_matches('"').to_owned())
}

fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len().max(1))
        .position(|window| window == needle)
}
