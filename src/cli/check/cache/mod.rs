//! What earlier checks found, so that a plan that has not changed is not checked again.
//!
//! One file for all plans of a project, beside its `planrun.yaml`. It is for this very program and these very contracts:
//! anything else in it is as good as nothing. `run` never reads it.

mod entry;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use planrun_lang::source::{MAX_FILE_BYTES, SourceFile};
use planrun_tools::host::{Host, Stamp};
use planrun_tools::project::{Location, make_own_folder, own_folder};

pub(super) use entry::{Entry, Used, hash};
use planrun_runs::runs::Workspace;

/// Where it is, in the project's own folder.
const FOLDER: &str = "cache";
const FILE: &str = "check";
/// A larger file is not read, and none is written.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// Clocks of file systems may be this coarse: what changed so shortly before it was looked at is read again.
const COARSEST_CLOCK: i64 = 2_000_000_000;

/// The entries of one project.
pub(super) struct Cache {
    /// The folder of the project.
    root: PathBuf,
    /// What entries depend on beside plans.
    key: String,
    entries: HashMap<String, Entry>,
}

/// What was found in a plan that is as it was.
pub(super) struct Hit {
    pub entry: Entry,
    /// The text, where it was read.
    pub source: Option<SourceFile>,
    /// Whether a later look could do without reading.
    pub look_again: bool,
}

impl Cache {
    /// The cache of a project; `None` where there is no `planrun.yaml`, and so no folder that is planrun's to write in.
    pub(super) fn open(workspace: &Workspace, location: &Location) -> Option<Self> {
        location.file.as_ref()?;
        let root = workspace.project.root.clone();
        let key = key(workspace)?;
        // A file that cannot be read is as good as none.
        let text = workspace
            .host
            .read_bounded(&own_folder(&root).join(FOLDER).join(FILE), MAX_BYTES as u64)
            .unwrap_or_default();
        let entries = entries(&text, &key).unwrap_or_default();
        Some(Self { root, key, entries })
    }

    /// What was found in a plan, if neither it nor what it uses has changed.
    pub(super) fn find(&self, host: &dyn Host, name: &str, path: &Path) -> Option<Hit> {
        let entry = self.entries.get(name)?;
        let mut source = None;
        let mut look_again = !certain(host, path, &entry.own, entry.looked);
        // Findings are shown in their lines, so the text is needed, and can be compared.
        if look_again || !entry.found.is_empty() {
            let text = host.read_bounded(path, MAX_FILE_BYTES as u64).ok()?;
            if hash(&text) != entry.own.hash.as_deref()? {
                return None;
            }
            source = Some(SourceFile::new(name, text));
        }
        for used in &entry.used {
            if certain(host, Path::new(&used.path), used, entry.looked) {
                continue;
            }
            let now = host
                .read_bounded(Path::new(&used.path), MAX_FILE_BYTES as u64)
                .ok();
            if now.map(|text| hash(&text)) != used.hash {
                return None;
            }
            look_again |= used.hash.is_some();
        }
        Some(Hit {
            entry: entry.clone(),
            source,
            look_again,
        })
    }

    /// Writes new entries over the older ones. Where that is not possible, the next check takes longer.
    pub(super) fn save(mut self, host: &dyn Host, new: Vec<Entry>) {
        for entry in new {
            self.entries.insert(entry.own.path.clone(), entry);
        }
        let mut entries: Vec<_> = self.entries.into_values().collect();
        // The latest first, so that the oldest go where there are too many.
        entries.sort_by(|one, other| {
            other
                .looked
                .cmp(&one.looked)
                .then_with(|| one.own.path.cmp(&other.own.path))
        });
        let mut body = String::new();
        for entry in entries {
            let line = entry.line();
            if body.len() + line.len() < MAX_BYTES / 2 {
                body.push_str(&line);
            }
        }
        let folder = own_folder(&self.root).join(FOLDER);
        let _ = make_own_folder(host, &self.root);
        let _ = host.make_private_folder(&folder);
        let content = format!("{} {}\n{body}", self.key, hash(&body));
        let _ = host.write_private_file(&folder.join(FILE), content.as_bytes());
    }
}

/// What the findings of every plan of the project depend on: this program, its contracts and its settings.
///
/// The program is known by the stamp of its file too, so that no cache that came with somebody's repository is believed.
fn key(workspace: &Workspace) -> Option<String> {
    let host = &*workspace.host;
    let program = host.stamp(&host.program().ok()?).ok()?;
    let root = host.canonical(&workspace.project.root).ok()?;
    let here = host.canonical(Path::new(".")).ok()?;
    let project = &workspace.project;
    let (root, here) = (root.display(), here.display());
    Some(hash(&format!(
        "{} {program:?} {root} {here} {project:?}",
        env!("CARGO_PKG_VERSION")
    )))
}

/// The entries of a cache file, if it is whole and for this key.
fn entries(text: &str, key: &str) -> Option<HashMap<String, Entry>> {
    let (head, body) = text.split_once('\n')?;
    let (found, sum) = head.split_once(' ')?;
    if found != key || sum != hash(body) {
        return None;
    }
    let entries = body.lines().map(Entry::read).collect::<Option<Vec<_>>>()?;
    Some(
        entries
            .into_iter()
            .map(|entry| (entry.own.path.clone(), entry))
            .collect(),
    )
}

/// Whether the stamp alone tells that a file is as it was: it is the same, and was old enough when it was looked at.
fn certain(host: &dyn Host, path: &Path, used: &Used, looked: i64) -> bool {
    let stamp = host.stamp(path).ok();
    let old =
        |stamp: Stamp| stamp.modified.max(stamp.changed) < looked.saturating_sub(COARSEST_CLOCK);
    match (stamp, used.stamp) {
        (Some(now), Some(then)) => now == then && old(now),
        // It was not there, and is not.
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use planrun_tools::host::MemoryHost;

    /// A host with a project of two plans, one of which uses the other, and the cache of a check of it.
    fn checked() -> (Arc<MemoryHost>, Workspace) {
        let host = MemoryHost::default()
            .with_file("/bin/planrun", "")
            .with_file("/planrun.yaml", "");
        let host = Arc::new(host.with_file("/a.plan", "abc").with_file("/b.plan", "def"));
        let workspace = Workspace::at(host.clone(), &location()).unwrap();
        (host, workspace)
    }

    fn location() -> Location {
        Location {
            folder: PathBuf::new(),
            file: Some(PathBuf::from("planrun.yaml")),
        }
    }

    fn used(host: &dyn Host, path: &str) -> Used {
        let hash = host.read_file(Path::new(path)).ok().map(|text| hash(&text));
        Used {
            path: path.to_owned(),
            stamp: host.stamp(Path::new(path)).ok(),
            hash,
        }
    }

    fn remember(host: &dyn Host, workspace: &Workspace) {
        let looked = i64::try_from(host.now()).unwrap();
        let using = vec![used(host, "b.plan"), used(host, "gone.plan")];
        let entry = Entry::new(used(host, "a.plan"), looked, using, 3, &[]).unwrap();
        Cache::open(workspace, &location())
            .unwrap()
            .save(host, vec![entry]);
    }

    /// What the cache knows of the first plan: nothing, or whether a text had to be read to be sure.
    fn look(host: &dyn Host, workspace: &Workspace) -> Option<bool> {
        let hit = Cache::open(workspace, &location()).unwrap().find(
            host,
            "a.plan",
            Path::new("a.plan"),
        )?;
        assert_eq!(hit.entry.unknown, 3);
        Some(hit.look_again)
    }

    fn write(host: &dyn Host, path: &str, text: &str) {
        host.write_file(Path::new(path), text.as_bytes()).unwrap();
    }

    #[test]
    fn what_changed_long_before_the_look_is_known_by_its_stamp() {
        let (host, workspace) = checked();
        assert_eq!(look(&*host, &workspace), None);
        remember(&*host, &workspace);
        assert_eq!(
            look(&*host, &workspace),
            Some(false),
            "the files are from 1970"
        );
        write(&*host, "b.plan", "def");
        assert_eq!(
            look(&*host, &workspace),
            Some(true),
            "another stamp and the same text"
        );
        remember(&*host, &workspace);
        assert_eq!(
            look(&*host, &workspace),
            Some(true),
            "written in the moment of the look"
        );
        host.advance(Duration::from_secs(5));
        remember(&*host, &workspace);
        assert_eq!(look(&*host, &workspace), Some(false));
    }

    #[test]
    fn a_change_within_the_same_tick_is_seen() {
        let (host, workspace) = checked();
        write(&*host, "a.plan", "one");
        remember(&*host, &workspace);
        write(&*host, "a.plan", "two");
        assert_eq!(
            look(&*host, &workspace),
            None,
            "same size, same time, another text"
        );
    }

    #[test]
    fn any_change_of_what_is_used_counts() {
        for (path, text) in [("b.plan", "xyz"), ("gone.plan", ""), ("a.plan", "abcd")] {
            let (host, workspace) = checked();
            remember(&*host, &workspace);
            host.advance(Duration::from_secs(5));
            write(&*host, path, text);
            assert_eq!(look(&*host, &workspace), None, "{path}");
        }
    }

    #[test]
    fn another_program_other_contracts_and_damage_make_it_worthless() {
        let app = "name: hr\ntools:\n  - name: find\n    description: Finds\n    endpoint: http://127.0.0.1/find\n";
        for (path, text) in [
            ("/bin/planrun", "new"),
            ("/planrun.yaml", "policy: { timeout: 3s }"),
            ("/apps/hr.yaml", app),
        ] {
            let (host, workspace) = checked();
            remember(&*host, &workspace);
            write(&*host, path, text);
            let workspace = Workspace::at(host.clone(), &location()).unwrap();
            assert_eq!(look(&*host, &workspace), None, "{path}");
        }
        let (host, workspace) = checked();
        remember(&*host, &workspace);
        let file = Path::new(".planrun/cache/check");
        let whole = host.read_file(file).unwrap();
        for end in (0..whole.len()).step_by(7) {
            write(&*host, ".planrun/cache/check", &whole[..end]);
            assert_eq!(look(&*host, &workspace), None, "cut at {end}");
        }
        write(
            &*host,
            ".planrun/cache/check",
            &whole.replace("\"unknown\":3", "\"unknown\":4"),
        );
        assert_eq!(look(&*host, &workspace), None);
        assert_eq!(
            host.read_file(Path::new(".planrun/.gitignore")).unwrap(),
            "*\n"
        );
    }
}
