//! The host that accesses the operating system.

use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use planrun_lang::permission::PathResolver;
use planrun_lang::source::MAX_FILE_BYTES;

use super::{FileKind, Held, Host};

/// The operating system itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealHost;

impl PathResolver for RealHost {
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }
}

impl Host for RealHost {
    fn now(&self) -> i128 {
        jiff::Timestamp::now().as_nanosecond()
    }

    fn monotonic(&self) -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn random(&self) -> u64 {
        let (high, low) = uuid::Uuid::new_v4().as_u64_pair();
        // The bits that are fixed in a version 4 UUID are at different positions in its two halves.
        high ^ low
    }

    fn read_file(&self, path: &Path) -> io::Result<String> {
        self.read_bounded(path, MAX_FILE_BYTES as u64)
    }

    fn read_bounded(&self, path: &Path, max: u64) -> io::Result<String> {
        let file = open_file(path)?;
        let mut bytes = Vec::new();
        file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length > max) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
    }

    fn kind(&self, path: &Path) -> io::Result<FileKind> {
        Ok(if fs::metadata(path)?.is_dir() {
            FileKind::Folder
        } else {
            FileKind::File
        })
    }

    #[cfg(target_os = "linux")]
    fn hold(&self, canonical: &Path) -> io::Result<Option<Held>> {
        use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
        use rustix::io::Errno;
        use std::os::fd::AsRawFd as _;
        let (flags, resolve) = (OFlags::PATH | OFlags::CLOEXEC, ResolveFlags::NO_SYMLINKS);
        let open = match openat2(CWD, canonical, flags, Mode::empty(), resolve) {
            Ok(open) => File::from(open),
            Err(Errno::LOOP) => return Ok(None),
            // The system call does not exist, or is forbidden to this process.
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {
                let path = canonical.to_owned();
                return Ok(Some(Held { path, _open: None }));
            }
            Err(error) => return Err(error.into()),
        };
        let through = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
        let path = if through.exists() {
            through
        } else {
            canonical.to_owned()
        };
        Ok(Some(Held {
            path,
            _open: Some(open),
        }))
    }

    #[cfg(unix)]
    fn is_of_another_user(&self, path: &Path) -> io::Result<bool> {
        let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(path)?);
        Ok(owner != 0 && owner != rustix::process::geteuid().as_raw())
    }

    fn version(&self, path: &Path) -> io::Result<u64> {
        let known = fs::metadata(path)?;
        let mut hasher = DefaultHasher::new();
        (known.modified()?, known.len()).hash(&mut hasher);
        Ok(hasher.finish())
    }

    fn write_file(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        replace(path, content, Access::AsBefore, self.random())
    }

    fn write_private_file(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        replace(path, content, Access::Private, self.random())
    }

    fn append_file(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)?
            .write_all(content)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn make_private_folder(&self, path: &Path) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path)
    }

    fn list_folder(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let mut paths = fs::read_dir(path)?
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<Vec<_>>>()?;
        paths.sort();
        Ok(paths)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<File>> {
        let file = open_lock(path)?;
        file.lock()?;
        Ok(Some(file))
    }

    fn try_lock(&self, path: &Path) -> io::Result<Option<File>> {
        let file = open_lock(path)?;
        file.try_lock()?;
        Ok(Some(file))
    }
}

/// Opens the file of a lock, which only the user can access, and creates it if it does not exist.
fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Opens a regular file. Pipes are refused because reading would wait for a writer, devices because they may never end.
fn open_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    let file = options.open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        return Err(io::Error::other("it is a pipe or a device, not a file"));
    }
    Ok(file)
}

/// The access rights of a file after it was replaced.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// The permissions of the replaced file; for a new file, the default of the system.
    AsBefore,
    /// The user only.
    Private,
}

/// Maximum length, in bytes, of a name that the name of its temporary file contains. File systems allow 255.
const MAX_NAME: usize = 200;

fn replace(path: &Path, content: &[u8], access: Access, suffix: u64) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut temporary = std::ffi::OsString::from(".");
    // A name may already have the maximum length.
    if name.len() <= MAX_NAME {
        temporary.push(name);
        temporary.push(".");
    }
    temporary.push(format!("{suffix:016x}.new"));
    let new = path.with_file_name(temporary);
    let result = fill(&new, path, content, access);
    if result.is_err() {
        // The file may not even exist; the first failure is the one to report.
        let _ = fs::remove_file(&new);
    }
    result
}

/// Writes `new` completely before it replaces `path`.
fn fill(new: &Path, path: &Path, content: &[u8], access: Access) -> io::Result<()> {
    let old = fs::metadata(path)
        .ok()
        .filter(|_| access == Access::AsBefore);
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        return Err(io::Error::other(
            "it is not a regular file, so it cannot be replaced",
        ));
    }
    let mut file = create(new, old.is_some() || access == Access::Private)?;
    file.write_all(content)?;
    if let Some(old) = old {
        file.set_permissions(old.permissions())?;
    }
    file.sync_all()?;
    fs::rename(new, path)
}

/// Creates a file that must not exist yet. A private file can be opened only by the user; it stays so until it gets the
/// permissions of the file that it replaces.
fn create(path: &Path, private: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_the_longest_name_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("n".repeat(255));
        RealHost.write_file(&path, b"one").unwrap();
        RealHost.write_file(&path, b"two").unwrap();
        assert_eq!(RealHost.read_file(&path).unwrap(), "two");
        assert_eq!(RealHost.list_folder(folder.path()).unwrap(), [path]);
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("名字.txt");
        RealHost.write_file(&path, b"one").unwrap();
        RealHost.write_file(&path, "zwei ü".as_bytes()).unwrap();
        assert_eq!(RealHost.read_file(&path).unwrap(), "zwei ü");
        assert_eq!(
            RealHost.list_folder(folder.path()).unwrap(),
            std::slice::from_ref(&path)
        );
        assert_eq!(RealHost.kind(folder.path()).unwrap(), FileKind::Folder);
        assert_eq!(
            RealHost.read_bounded(&path, 3).unwrap_err().kind(),
            io::ErrorKind::FileTooLarge
        );
        fs::write(&path, [0xff]).unwrap();
        assert_eq!(
            RealHost.read_bounded(&path, 9).unwrap_err().kind(),
            io::ErrorKind::InvalidData
        );
        assert!(
            RealHost
                .write_file(&folder.path().join("absent/file"), b"")
                .is_err()
        );
        RealHost.remove_file(&path).unwrap();
        assert_eq!(
            RealHost.remove_file(&path).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }

    #[cfg(unix)]
    #[test]
    fn f14_pipes_and_devices_are_no_files() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        for path in [
            pipe.as_path(),
            Path::new("/dev/zero"),
            Path::new("/dev/null"),
        ] {
            for read in [RealHost.read_file(path), RealHost.read_bounded(path, 10)] {
                let message = read.unwrap_err().to_string();
                assert_eq!(message, "it is a pipe or a device, not a file");
            }
        }
        let written = RealHost.write_file(&pipe, b"x").unwrap_err();
        assert_eq!(
            written.to_string(),
            "it is not a regular file, so it cannot be replaced"
        );
    }

    #[cfg(unix)]
    #[test]
    fn f23_what_takes_the_place_of_a_private_file_is_private_from_its_first_byte() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        create(&path, true).unwrap();
        assert_eq!(mode(&path), 0o600);
        for expected in [0o600, 0o640, 0o755] {
            fs::set_permissions(&path, fs::Permissions::from_mode(expected)).unwrap();
            RealHost.write_file(&path, b"new").unwrap();
            assert_eq!(mode(&path), expected);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_held_stays_the_same_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir_all(root.join("d")).unwrap();
        fs::create_dir_all(root.join("outside")).unwrap();
        fs::write(root.join("d/x"), "inside").unwrap();
        fs::write(root.join("outside/x"), "outside").unwrap();
        let file = RealHost.hold(&root.join("d/x")).unwrap().unwrap();
        let within = RealHost.hold(&root.join("d")).unwrap().unwrap();
        if file.path().starts_with(&root) {
            return; // This system cannot hold files.
        }
        fs::rename(root.join("d"), root.join("moved")).unwrap();
        std::os::unix::fs::symlink("outside", root.join("d")).unwrap();
        assert_eq!(RealHost.read_file(file.path()).unwrap(), "inside");
        assert_eq!(RealHost.list_folder(within.path()).unwrap().len(), 1);
        RealHost
            .write_file(&within.path().join("y"), b"new")
            .unwrap();
        assert_eq!(fs::read(root.join("moved/y")).unwrap(), b"new");
        assert!(!root.join("outside/y").exists());
        for path in ["d/x", "d"] {
            assert!(RealHost.hold(&root.join(path)).unwrap().is_none(), "{path}");
        }
        let absent = RealHost.hold(&root.join("no")).unwrap_err();
        assert_eq!(absent.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn time_goes_on_and_chance_differs() {
        assert!(RealHost.now() > 1_700_000_000_000_000_000);
        let before = RealHost.monotonic();
        assert!(RealHost.monotonic() >= before);
        assert_ne!(RealHost.random(), RealHost.random());
    }
}
