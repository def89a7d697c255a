//! Paths as plans write them, and the canonical ones that permissions are asked about.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use url::Url;

/// Where paths lead: all that has to be known of a file system to judge what a plan may reach.
pub trait PathResolver: Send + Sync {
    /// The one absolute path of something that exists, without links and `..`.
    ///
    /// # Errors
    /// Of kind `NotFound` where nothing stands there.
    fn canonical(&self, path: &Path) -> io::Result<PathBuf>;
}

/// The path of a file on this machine: of an address such as `file:///data/a%20b.txt` what it names, of anything without
/// a scheme the text itself. None for an address of something else.
#[must_use]
pub fn local_path(written: &str) -> Option<Cow<'_, str>> {
    let scheme = written.split_once("://").map(|(scheme, _)| scheme);
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|next| next.is_ascii_alphanumeric() || "+-.".contains(next))
    };
    if !scheme.is_some_and(is_scheme) {
        return Some(Cow::Borrowed(written));
    }
    let address = Url::parse(written).ok()?;
    if address.scheme() != "file" || address.query().is_some() || address.fragment().is_some() {
        return None;
    }
    address
        .to_file_path()
        .ok()?
        .into_os_string()
        .into_string()
        .ok()
        .map(Cow::Owned)
}

/// The canonical path that permissions are asked about where a plan says `written`; none where it names no file.
#[must_use]
pub fn reached_file(
    resolver: &dyn PathResolver,
    root: &Path,
    written: &str,
    writes: bool,
) -> Option<PathBuf> {
    let path = root.join(&*local_path(written)?);
    if let Ok(canonical) = resolver.canonical(&path) {
        return Some(canonical);
    }
    if !writes {
        return Some(expected(resolver, &path));
    }
    let (folder, name) = (path.parent()?, path.file_name()?);
    Some(expected(resolver, folder).join(name))
}

/// A program as a call names it, and the file that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReachedProgram {
    pub(super) written: String,
    /// None for a word, which the search path finds.
    pub(super) file: Option<ProgramFile>,
}

/// The file of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProgramFile {
    /// Its folder resolved, and the name that it is called by: some programs do what their name says.
    pub(super) called: PathBuf,
    /// Links followed.
    pub(super) canonical: PathBuf,
}

impl ReachedProgram {
    /// The program that is meant. Relative paths begin at `root`.
    #[must_use]
    pub fn of(resolver: &dyn PathResolver, root: &Path, written: &str) -> Self {
        let file = written.contains('/').then(|| {
            let path = root.join(written);
            let canonical = expected(resolver, &path);
            let called = match (path.parent(), path.file_name()) {
                (Some(folder), Some(name)) => expected(resolver, folder).join(name),
                _ => canonical.clone(),
            };
            ProgramFile { called, canonical }
        });
        Self {
            written: written.to_owned(),
            file,
        }
    }

    /// As the call names it.
    #[must_use]
    pub fn written(&self) -> &str {
        &self.written
    }

    /// What is started: the file that was judged, or the word.
    #[must_use]
    pub fn path(&self) -> &Path {
        match &self.file {
            Some(file) => &file.called,
            None => Path::new(&self.written),
        }
    }
}

/// Where a path that does not exist would be: its nearest existing ancestor, resolved, and the rest without `..`.
fn expected(resolver: &dyn PathResolver, path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut ancestor = path;
    loop {
        if let Ok(canonical) = resolver.canonical(ancestor) {
            return rest
                .iter()
                .rev()
                .fold(canonical, |path: PathBuf, name| path.join(name));
        }
        // A `..` behind something that does not exist leads nowhere, and so do names without parent.
        let (Some(parent), Some(name)) = (ancestor.parent(), ancestor.file_name()) else {
            return PathBuf::from("/");
        };
        rest.push(name.to_owned());
        ancestor = parent;
    }
}
