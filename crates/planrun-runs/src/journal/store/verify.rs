//! Verifies an exported run. Missing or altered parts are reported by their line.

use std::io::BufRead;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::de::DeserializeOwned;

use super::digest::{Digest, Origin, link};
use super::export::{EVENT, Exported, FORMAT, Footer, Header, VERSION, ValueLine};
use super::nanos;
use planrun_core::journal::deep;

/// A fault of an export, with its line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the export: {why}")]
pub struct ExportFault {
    /// Line number, from 1.
    pub line: u64,
    pub why: String,
}

/// Reads an export from its first line to its footer and verifies all of it.
///
/// # Errors
/// Returns the first line that is wrong.
pub fn verify_export(reader: impl BufRead) -> Result<Exported, ExportFault> {
    let mut verifier = Verifier {
        reader,
        line: Vec::new(),
        number: 0,
        before: blake3::Hasher::new(),
    };
    verifier.verify().map_err(|why| ExportFault {
        line: verifier.number,
        why,
    })
}

/// The state of verifying an export.
struct Verifier<R> {
    reader: R,
    /// The current line, without its line feed.
    line: Vec<u8>,
    number: u64,
    /// The hash of all lines before this one.
    before: blake3::Hasher,
}

impl<R: BufRead> Verifier<R> {
    fn verify(&mut self) -> Result<Exported, String> {
        self.next()?;
        let (header, origin) = self.header()?;
        let mut exported = Exported {
            run: header.run,
            plan: header.plan,
            events: 0,
            values: 0,
            head: origin,
        };
        self.next()?;
        while self.line.starts_with(b"{\"value\":") {
            let digest = self.value()?;
            if exported.values == 0 && digest.to_string() != header.pinned {
                return Err("it is not the pinned document that the header names".into());
            }
            exported.values += 1;
            self.next()?;
        }
        while self.line.starts_with(EVENT[0].as_bytes()) {
            self.event(&mut exported)?;
            self.next()?;
        }
        self.footer(&exported)?;
        let end = self.reader.fill_buf().map_err(|error| error.to_string())?;
        if end.is_empty() {
            return Ok(exported);
        }
        self.number += 1;
        Err("it comes after the footer".into())
    }

    /// Reads the next line.
    fn next(&mut self) -> Result<(), String> {
        if self.number > 0 {
            self.before.update(&self.line);
            self.before.update(b"\n");
        }
        self.number += 1;
        self.line.clear();
        self.reader
            .read_until(b'\n', &mut self.line)
            .map_err(|error| error.to_string())?;
        if self.line.pop() == Some(b'\n') {
            return Ok(());
        }
        Err("the export ends here, without a footer".into())
    }

    /// Parses the header. Also returns the value of the chain before the first event.
    fn header(&self) -> Result<(Header, Digest), String> {
        let header: Header = self.json("the header of an exported run")?;
        if header.format != FORMAT {
            return Err(format!("it is `{}`, not an export of a run", header.format));
        }
        if header.version > VERSION {
            let found = header.version;
            return Err(format!(
                "it has version {found}, but this planrun supports versions up to {VERSION}; use a newer planrun"
            ));
        }
        let created_at: jiff::Timestamp = header
            .created_at
            .parse()
            .map_err(|_| "`created_at` is not a timestamp".to_owned())?;
        let origin = Origin {
            run: &header.run,
            plan: &header.plan,
            digest: digest(&header.digest)?,
            pinned: digest(&header.pinned)?,
            created_at: nanos(created_at.as_nanosecond()),
        };
        let head = origin.head();
        Ok((header, head))
    }

    fn value(&self) -> Result<Digest, String> {
        let line: ValueLine = self.json("a value")?;
        let bytes = match (line.text, line.base64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(text)) => BASE64_STANDARD
                .decode(text)
                .map_err(|_| "its base64 is invalid".to_owned())?,
            (Some(_), Some(_)) | (None, None) => {
                return Err("it must have either `text` or `base64`".into());
            }
        };
        let digest = digest(&line.value)?;
        if Digest::of(&bytes) == digest {
            Ok(digest)
        } else {
            Err("the value does not match its hash".into())
        }
    }

    fn event(&self, exported: &mut Exported) -> Result<(), String> {
        let number = exported.events + 1;
        let [before, behind_number, before_chain, behind] = EVENT;
        let broken = || format!("it is not event {number} of the exported run");
        let text = str::from_utf8(&self.line).map_err(|_| broken())?;
        let rest = text
            .strip_prefix(before)
            .and_then(|rest| rest.strip_prefix(&number.to_string()));
        let rest = rest
            .and_then(|rest| rest.strip_prefix(behind_number))
            .and_then(|rest| rest.strip_suffix(behind));
        let (event, chain) = rest
            .and_then(|rest| rest.rsplit_once(before_chain))
            .ok_or_else(broken)?;
        let head = link(&exported.head, event);
        if digest(chain)? != head {
            return Err(format!(
                "event {number} was altered, or one before it is missing"
            ));
        }
        (exported.events, exported.head) = (number, head);
        Ok(())
    }

    fn footer(&self, exported: &Exported) -> Result<(), String> {
        let footer: Footer = self.json("an event or the footer")?;
        if footer.events != exported.events {
            return Err(format!(
                "the footer states {} events, but there are {}",
                footer.events, exported.events
            ));
        }
        if footer.values != exported.values {
            return Err(format!(
                "the footer states {} values, but there are {}",
                footer.values, exported.values
            ));
        }
        if digest(&footer.head)? != exported.head {
            return Err(
                "the footer does not match the end of the hash chain: the run was altered".into(),
            );
        }
        if digest(&footer.lines)? != Digest::from(self.before.finalize()) {
            return Err("the lines above were altered".into());
        }
        let exact = serde_json::to_vec(&footer).is_ok_and(|text| text == self.line);
        if exact {
            Ok(())
        } else {
            Err("the footer was altered".into())
        }
    }

    fn json<T: DeserializeOwned + Send>(&self, what: &str) -> Result<T, String> {
        deep::from_slice(&self.line).map_err(|_| format!("it is not {what}"))
    }
}

fn digest(text: &str) -> Result<Digest, String> {
    text.parse().map_err(|error| format!("`{text}` is {error}"))
}
