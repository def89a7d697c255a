//! Resolves paths from plans to the canonical paths for which permissions are checked.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use url::Url;

/// Resolves paths: all the file system access that is needed to decide what a plan may reach.
pub trait PathResolver: Send + Sync {
    /// Returns the absolute path of an existing file without links and `..`.
    ///
    /// # Errors
    /// Of kind `NotFound` if the file does not exist.
    fn canonical(&self, path: &Path) -> io::Result<PathBuf>;
}

/// Returns the path of a local file: the path of a URL such as `file:///data/a%20b.txt`, or the text itself if it has
/// no scheme. `None` for any other URL.
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

/// Returns the canonical path for which permissions are checked when a plan names `written`. `None` if it does not name
/// a file.
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

/// A program as a call names it, and the file it resolves to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReachedProgram {
    pub(super) written: String,
    /// `None` for a word that is looked up in the search path.
    pub(super) file: Option<ProgramFile>,
}

/// The file of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProgramFile {
    /// The path with its folder resolved and its own name kept, because some programs act on the name by which they are
    /// called.
    pub(super) called: PathBuf,
    /// The path with all links resolved.
    pub(super) canonical: PathBuf,
}

impl ReachedProgram {
    /// Resolves a program. Relative paths start at `root`.
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

    /// Returns the program as the call names it.
    #[must_use]
    pub fn written(&self) -> &str {
        &self.written
    }

    /// Returns what is executed: the checked file, or the word.
    #[must_use]
    pub fn path(&self) -> &Path {
        match &self.file {
            Some(file) => &file.called,
            None => Path::new(&self.written),
        }
    }
}

/// Returns the path at which a missing file would be: its nearest existing ancestor, resolved, and the remaining
/// components. `/` if no ancestor can be resolved.
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
        // A `..` after something that does not exist cannot be resolved, nor can a name without a parent.
        let (Some(parent), Some(name)) = (ancestor.parent(), ancestor.file_name()) else {
            return PathBuf::from("/");
        };
        rest.push(name.to_owned());
        ancestor = parent;
    }
}
