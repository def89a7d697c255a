//! Snapshots of plans are compatible with `insta`: the library reads the files of planrun, and the other way round.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

use planrun_lang::diag::render::Appearance;
use planrun_lang::sema::test::SnapshotOf as Kind;
use planrun_test::plantest::snapshot::{
    Kept, Mode, Place, Settled, SnapshotError, Store, Verdict, pending,
};
use planrun_tools::host::{Host, MemoryHost, RealHost};
use tempfile::TempDir;

/// Environment variable with the folder for tests that run as a separate process.
const FOLDER: &str = "PLANRUN_INSTA_FOLDER";
/// The input and the output of `plays_insta`: files in that folder.
const INPUT: &str = "asked.json";
const RESULTS: &str = "told.json";

/// Names of tests, and texts that file formats tend to damage.
const TEXTS: &[(&str, &str)] = &[
    ("nothing", ""),
    ("a line", "{\"hired\": true}"),
    ("blank ends", "\n\n  x\n\n \t\n"),
    ("lines of Windows", "a\r\nb\r\n"),
    ("its own marks", "---\nsource: x\n---\n---\n"),
    ("控制字符：颜色", "\u{1b}[31m入职\u{202e}\0"),
    ("- yes: 'quoted' \"#\"", "a\rb\n\nc"),
    ("no", "~"),
    ("1e3", "\u{feff}\u{a0}x\u{a0}"),
];

fn place(test: &str) -> Place<'_> {
    Place {
        test,
        row: None,
        kind: Kind::Reply,
        line: 4,
    }
}

/// Returns a project with an empty plan, and the path of the plan.
fn project() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plans/a.plan");
    fs::create_dir_all(plan.parent().unwrap()).unwrap();
    fs::write(&plan, "").unwrap();
    (folder, plan)
}

/// Settles every text, in the order of [`TEXTS`].
fn settled(folder: &Path, plan: &Path, mode: Mode, change: &str) -> Vec<Settled> {
    let store = Store::new(&RealHost, folder, mode);
    let shelf = store
        .open(plan, TEXTS.iter().map(|(test, _)| *test))
        .unwrap();
    TEXTS
        .iter()
        .map(|(test, text)| {
            shelf
                .settle(&place(test), &format!("{text}{change}"))
                .unwrap()
        })
        .collect()
}

/// Returns the input for insta: the test and its text, by the name of the snapshot.
fn asked(folder: &Path, plan: &Path, change: &str) -> BTreeMap<String, [String; 2]> {
    let named = settled(folder, plan, Mode::Check, "");
    let name = |settled: &Settled| {
        settled
            .path
            .file_stem()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    let one = |(settled, (test, text)): (&Settled, &(&str, &str))| {
        (
            name(settled),
            [(*test).to_owned(), format!("{text}{change}")],
        )
    };
    named.iter().zip(TEXTS).map(one).collect()
}

/// Compares texts with their snapshots with insta. Returns whether each passes, by name.
fn insta(
    folder: &Path,
    update: &str,
    asked: &BTreeMap<String, [String; 2]>,
) -> BTreeMap<String, bool> {
    fs::write(folder.join(INPUT), serde_json::to_string(asked).unwrap()).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["insta_files::plays_insta", "--exact", "--ignored"])
        .env(FOLDER, folder)
        .env("INSTA_UPDATE", update);
    command
        .env("INSTA_WORKSPACE_ROOT", folder)
        .env_remove("INSTA_FORCE_PASS");
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    serde_json::from_str(&fs::read_to_string(folder.join(RESULTS)).unwrap()).unwrap()
}

#[test]
#[ignore = "a process of its own, started by the tests here, since insta looks at its environment"]
fn plays_insta() {
    let folder =
        PathBuf::from(std::env::var_os(FOLDER).expect("the tests beside this one start it"));
    let asked: BTreeMap<String, [String; 2]> =
        serde_json::from_str(&fs::read_to_string(folder.join(INPUT)).unwrap()).unwrap();
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path(folder.join("plans/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    let mut results = BTreeMap::new();
    for (name, [description, text]) in asked {
        settings.set_description(description);
        let passes = settings.bind(|| {
            catch_unwind(AssertUnwindSafe(|| {
                insta::assert_snapshot!(name.clone(), text);
            }))
        });
        results.insert(name, passes.is_ok());
    }
    fs::write(
        folder.join(RESULTS),
        serde_json::to_string(&results).unwrap(),
    )
    .unwrap();
}

/// Returns the files in the folder of snapshots, with their texts.
fn files(plan: &Path) -> BTreeMap<String, String> {
    let Ok(folder) = fs::read_dir(plan.with_file_name("snapshots")) else {
        return BTreeMap::new();
    };
    let paths = folder.map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    paths
        .map(|path| (name(&path), fs::read_to_string(&path).unwrap()))
        .collect()
}

fn line<'a>(text: &'a str, key: &str) -> &'a str {
    text.lines()
        .find(|line| line.starts_with(key))
        .unwrap_or_default()
}

#[test]
fn insta_finds_what_was_stored_the_same_and_sees_what_changed() {
    let (folder, plan) = project();
    for settled in settled(folder.path(), &plan, Mode::Accept, "") {
        assert_eq!(
            (&settled.verdict, settled.kept),
            (&Verdict::New, Kept::Accepted),
            "{settled:?}"
        );
    }
    let stored = files(&plan);
    let same = insta(folder.path(), "no", &asked(folder.path(), &plan, ""));
    assert_eq!(same.len(), TEXTS.len());
    assert!(same.values().all(|passes| *passes), "{same:?}");
    let changed = insta(folder.path(), "no", &asked(folder.path(), &plan, "\nz"));
    assert!(!changed.values().any(|passes| *passes), "{changed:?}");
    assert_eq!(files(&plan), stored);
}

#[test]
fn what_insta_stored_is_the_same_and_what_it_writes_has_the_same_form() {
    let (folder, plan) = project();
    assert!(
        insta(folder.path(), "always", &asked(folder.path(), &plan, ""))
            .values()
            .all(|passes| *passes)
    );
    let theirs = files(&plan);
    for settled in settled(folder.path(), &plan, Mode::Check, "") {
        assert_eq!(settled.verdict, Verdict::Same, "{settled:?}");
    }
    for (settled, (_, text)) in settled(folder.path(), &plan, Mode::Check, "\nz")
        .iter()
        .zip(TEXTS)
    {
        let Verdict::Differs { old } = &settled.verdict else {
            panic!("{settled:?}")
        };
        assert_eq!(*old, text.trim_end().replace("\r\n", "\n"));
    }
    // Both write the description and the text in the same way.
    settled(folder.path(), &plan, Mode::Force, "");
    for (name, ours) in files(&plan) {
        let theirs = &theirs[&name];
        assert_eq!(line(&ours, "description"), line(theirs, "description"));
        assert_eq!(
            ours.split_once("\n---\n").unwrap().1,
            theirs.split_once("\n---\n").unwrap().1
        );
        assert_eq!(line(&ours, "source"), "source: plans/a.plan");
    }
}

#[test]
fn what_insta_left_for_review_is_accepted_as_insta_would() {
    let (folder, plan) = project();
    insta(folder.path(), "always", &asked(folder.path(), &plan, ""));
    let theirs = files(&plan);
    fs::remove_dir_all(plan.with_file_name("snapshots")).unwrap();
    assert!(
        !insta(folder.path(), "new", &asked(folder.path(), &plan, ""))
            .values()
            .any(|passes| *passes)
    );
    let waiting = pending(&RealHost, std::slice::from_ref(&plan)).unwrap();
    assert_eq!(waiting.len(), TEXTS.len());
    for one in &waiting {
        assert!(
            one.old.is_none() && one.metadata.assertion_line.is_some(),
            "{one:?}"
        );
        one.accept(&RealHost).unwrap();
    }
    assert_eq!(files(&plan), theirs);
}

#[test]
fn insta_rewrites_what_waited_as_it_would_be_accepted_here() {
    let (folder, plan) = project();
    settled(folder.path(), &plan, Mode::Pending, "");
    let waiting = files(&plan);
    assert_eq!(waiting.len(), TEXTS.len());
    for (name, text) in &waiting {
        assert!(
            name.ends_with(".snap.new") && line(text, "assertion_line") == "assertion_line: 4",
            "{name}: {text}"
        );
    }
    settled(folder.path(), &plan, Mode::Accept, "");
    let accepted = files(&plan);
    assert!(
        !accepted.keys().any(|name| name.ends_with(".snap.new")),
        "{accepted:?}"
    );
    for (name, text) in accepted {
        let waited = &waiting[&format!("{name}.new")];
        assert_eq!(text, waited.replace("assertion_line: 4\n", ""));
    }
}

#[test]
fn each_mode_writes_what_it_says() {
    let expected = [
        (Mode::Check, Kept::No, Kept::No),
        (Mode::Pending, Kept::Pending, Kept::Pending),
        (Mode::Unseen, Kept::Accepted, Kept::Pending),
        (Mode::Accept, Kept::Accepted, Kept::Accepted),
        (Mode::Force, Kept::Accepted, Kept::Accepted),
    ];
    for (mode, unknown, changed) in expected {
        let host = MemoryHost::new(0).with_file("/p/a.plan", "");
        let accept = |test: &str, text: &str| {
            let store = Store::new(&host, Path::new("/p"), Mode::Accept);
            store
                .open(Path::new("/p/a.plan"), [test])
                .unwrap()
                .settle(&place(test), text)
                .unwrap()
        };
        let same = accept("same", "1").path;
        accept("changed", "1");
        // A snapshot that was pending before this run.
        host.write_file(&same.with_extension("snap.new"), b"---\n---\n2\n")
            .unwrap();
        let before = host.list_folder(Path::new("/p/snapshots")).unwrap();
        let store = Store::new(&host, Path::new("/p"), mode);
        let shelf = store
            .open(Path::new("/p/a.plan"), ["same", "changed", "unknown"])
            .unwrap();
        let kept = |test: &str, text: &str| shelf.settle(&place(test), text).unwrap();
        assert_eq!(kept("same", "1\n").verdict, Verdict::Same);
        let (new, other) = (kept("unknown", "1"), kept("changed", "2"));
        assert_eq!((new.kept, other.kept), (unknown, changed), "{mode:?}");
        assert_eq!(new.verdict, Verdict::New);
        assert_eq!(other.verdict, Verdict::Differs { old: "1".into() });
        assert_eq!(
            (new.passes(), other.passes()),
            (unknown == Kept::Accepted, changed == Kept::Accepted)
        );
        let after = host.list_folder(Path::new("/p/snapshots")).unwrap();
        assert_eq!(after == before, mode == Mode::Check, "{mode:?}: {after:?}");
        let waits = host.kind(&same.with_extension("snap.new")).is_ok();
        assert_eq!(
            waits,
            mode == Mode::Check,
            "{mode:?}: what passes does not wait"
        );
        assert_eq!(
            host.kind(&new.path).is_ok(),
            unknown == Kept::Accepted,
            "{mode:?}"
        );
        let difference = "1   │- 1\n  1 │+ 2\n";
        assert_eq!(other.difference(Appearance::PLAIN), difference);
    }
}

#[test]
fn a_test_that_runs_again_must_come_to_the_same() {
    let host = MemoryHost::new(0).with_file("a.plan", "");
    let store = Store::new(&host, Path::new(""), Mode::Accept);
    let shelf = store.open(Path::new("a.plan"), ["x"]).unwrap();
    assert!(shelf.settle(&place("x"), "1").unwrap().passes());
    assert!(shelf.settle(&place("x"), "1\n").unwrap().passes());
    let other = shelf.settle(&place("x"), "2").unwrap();
    assert_eq!(
        (other.passes(), other.verdict),
        (false, Verdict::Differs { old: "1".into() })
    );
    let text = host.read_file(&shelf.path(&place("x"))).unwrap();
    assert_eq!(
        text,
        "---\nsource: a.plan\ndescription: x\nexpression: snapshot reply\n---\n1\n"
    );
}

#[test]
fn what_no_test_names_is_told_and_goes_only_when_asked() {
    let others = [
        "a__lib__tests__x.snap",
        "a__gone.snap",
        "b__gone__reply.snap",
        "notes.txt",
        "a__gone__names.snap",
    ];
    let stray = [
        "a__gone__reply.snap",
        "a__gone__reply.snap.new",
        "a__table__3__reply.snap",
        "a__x__trace.snap",
    ];
    let kept = [
        "a__b__gone__reply.snap",
        "a__failed__reply.snap",
        "a__left_out__reply.snap",
        "a__x__reply.snap",
    ];
    let host = [others.as_slice(), &stray, &kept].concat().iter().fold(
        MemoryHost::new(0)
            .with_file("p/a.plan", "")
            .with_file("p/a__b.plan", ""),
        |host, name| host.with_file(Path::new("p/snapshots").join(name), "---\n---\n1\n"),
    );
    let store = Store::new(&host, Path::new("p"), Mode::Check);
    let shelf = store
        .open(Path::new("p/a.plan"), ["x", "table", "failed", "left out"])
        .unwrap();
    let longer = store.open(Path::new("p/a__b.plan"), ["gone"]).unwrap();
    assert!(shelf.settle(&place("x"), "1").unwrap().passes());
    shelf.finished("x");
    for row in 1..3 {
        shelf
            .settle(
                &Place {
                    row: Some(row),
                    ..place("table")
                },
                "1",
            )
            .unwrap();
    }
    shelf.finished("table");
    let expected: Vec<PathBuf> = stray
        .iter()
        .map(|name| Path::new("p/snapshots").join(name))
        .collect();
    let names = |paths: Vec<PathBuf>| {
        paths
            .iter()
            .map(|path| path.display().to_string())
            .collect::<Vec<_>>()
    };
    let unreferenced = names(store.unreferenced().unwrap());
    let expected: Vec<String> = names(expected);
    assert_eq!(
        unreferenced
            .iter()
            .map(|path| path.trim_start_matches('/'))
            .collect::<Vec<_>>(),
        expected
    );
    longer.finished("gone");
    assert!(names(store.unreferenced().unwrap())[0].ends_with("a__b__gone__reply.snap"));
    assert_eq!(store.remove_unreferenced().unwrap().len(), stray.len() + 1);
    assert_eq!(store.unreferenced().unwrap(), Vec::<PathBuf>::new());
    assert_eq!(
        host.list_folder(Path::new("p/snapshots")).unwrap().len(),
        others.len() + kept.len() - 1
    );
}

#[test]
fn two_snapshots_are_never_one_file() {
    let host = MemoryHost::new(0)
        .with_file("a.plan", "")
        .with_file("A.plan", "")
        .with_file("a__b.plan", "");
    let store = Store::new(&host, Path::new(""), Mode::Accept);
    let shelf = store
        .open(Path::new("a.plan"), ["b", "hires three", "Hires: three"])
        .unwrap();
    let clash = store
        .open(Path::new("A.plan"), ["x"])
        .err()
        .unwrap()
        .to_string();
    assert_eq!(
        clash,
        "`snapshots/A.snap` would hold two snapshots, of `a` and of `A.plan`: rename one of the tests or files"
    );
    let longer = store.open(Path::new("a__b.plan"), ["3"]).unwrap();
    shelf
        .settle(
            &Place {
                row: Some(3),
                ..place("b")
            },
            "1",
        )
        .unwrap();
    let clash = longer.settle(&place("3"), "1").unwrap_err().to_string();
    assert!(
        clash.contains("of test \"b\", row 3 in `a.plan` and of test \"3\" in `a__b.plan`"),
        "{clash}"
    );
    assert_ne!(
        shelf.path(&place("hires three")),
        shelf.path(&place("Hires: three"))
    );
}

/// A repository must not make planrun read or write other files through links.
#[cfg(unix)]
#[test]
fn no_link_leads_out_of_the_folder() {
    use std::os::unix::fs::symlink;
    let (folder, plan) = project();
    let outside = folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "---\n---\nsecret\n").unwrap();
    let settle = |mode: Mode| {
        let store = Store::new(&RealHost, folder.path(), mode);
        store
            .open(&plan, ["x"])
            .unwrap()
            .settle(&place("x"), "secret")
    };
    let snapshots = plan.with_file_name("snapshots");
    symlink(&outside, &snapshots).unwrap();
    for mode in [Mode::Check, Mode::Pending, Mode::Accept] {
        assert!(
            matches!(settle(mode), Err(SnapshotError::Outside { .. })),
            "{mode:?}"
        );
    }
    assert!(matches!(
        pending(&RealHost, std::slice::from_ref(&plan)),
        Err(SnapshotError::Outside { .. })
    ));
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);

    fs::remove_file(&snapshots).unwrap();
    fs::create_dir(&snapshots).unwrap();
    symlink(outside.join("secret"), snapshots.join("a__x__reply.snap")).unwrap();
    for mode in [Mode::Check, Mode::Pending, Mode::Accept] {
        assert!(
            matches!(settle(mode), Err(SnapshotError::Outside { .. })),
            "{mode:?}"
        );
    }
    // A dangling link is replaced, and its target is not created.
    fs::remove_file(outside.join("secret")).unwrap();
    assert_eq!(settle(Mode::Accept).unwrap().kept, Kept::Accepted);
    assert!(!outside.join("secret").exists() && !snapshots.join("a__x__reply.snap").is_symlink());
}

#[test]
fn what_cannot_be_read_fails_and_can_be_replaced() {
    let bad: [(&str, &[u8]); 2] = [
        ("is not UTF-8", b"---\n---\n\xff"),
        (
            "is not text",
            b"---\nextension: png\nsnapshot_kind: binary\n---\n",
        ),
    ];
    for (why, bytes) in bad {
        let host = MemoryHost::new(0)
            .with_file("a.plan", "")
            .with_file("snapshots/a__x__reply.snap", bytes);
        let settle = |mode: Mode| {
            let store = Store::new(&host, Path::new(""), mode);
            store
                .open(Path::new("a.plan"), ["x"])
                .unwrap()
                .settle(&place("x"), "1")
        };
        let error = settle(Mode::Pending).unwrap_err().to_string();
        let path = "snapshots/a__x__reply.snap";
        assert_eq!(
            error,
            format!("the snapshot `{path}` {why}: remove it, or replace it with `--accept`")
        );
        assert!(settle(Mode::Accept).unwrap().passes());
        assert_eq!(settle(Mode::Check).unwrap().verdict, Verdict::Same);
    }
}

/// Writes snapshots for a review with `cargo insta`; `tests/peers/insta.sh` starts it.
#[test]
#[ignore = "writes into the folder that its caller names"]
fn leaves_snapshots_for_review() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("the folder to write to"));
    let plan = folder.join("plans/a.plan");
    fs::create_dir_all(plan.parent().unwrap()).unwrap();
    fs::write(&plan, "").unwrap();
    settled(&folder, &plan, Mode::Accept, "");
    settled(&folder, &plan, Mode::Pending, "\nz");
}
