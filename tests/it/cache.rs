//! `planrun check` with what earlier checks found: the same words as without, whatever has changed.

use std::path::Path;

use crate::support::{Output, folder, planrun};

const USED: &str = "plan count(n: int) -> int {\n    reply n\n}\n";
const USER: &str = "use \"./used.plan\" as used\n\nplan p() -> int {\n    let idle = 1\n    step a = used.count(n: 1)\n    reply a\n}\n";

fn check(folder: &Path, arguments: &[&str]) -> Output {
    planrun(["check", "--format", "json"].iter().chain(arguments))
        .within(folder)
        .run()
}

/// Checks with the cache, with it again, and without; all say the same.
fn same(folder: &Path, what: &str) -> String {
    let outputs = [&[][..], &[], &["--no-cache"]].map(|arguments| check(folder, arguments));
    for output in &outputs {
        assert_eq!(output.stdout, outputs[2].stdout, "{what}");
        assert_eq!(output.status, outputs[2].status, "{what}");
    }
    outputs[0].stdout.clone()
}

#[test]
fn it_never_shows() {
    let folder = folder([
        ("planrun.yaml", ""),
        ("a.plan", USER),
        ("used.plan", USED),
        ("b.plan", USED),
    ]);
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let first = same(folder.path(), "at first");
    assert!(first.contains("unused-let"), "{first}");
    write("used.plan", &USED.replace("n: int", "m: int"));
    assert!(same(folder.path(), "a plan that is used").contains("unresolved-use"));
    write("used.plan", USED);
    assert_eq!(same(folder.path(), "back again"), first);
    std::fs::remove_file(folder.path().join("used.plan")).unwrap();
    assert!(same(folder.path(), "a plan that is gone").contains("there is no file"));
    write("used.plan", USED);
    write("planrun.yaml", "check: { deny: [warnings] }\n");
    assert!(same(folder.path(), "the settings").contains("\"error\""));
    let cache = folder.path().join(".planrun/cache/check");
    std::fs::write(&cache, [0xff, 0, b'\n', b'{']).unwrap();
    same(folder.path(), "a damaged cache");
    assert_eq!(
        std::fs::read_to_string(folder.path().join(".planrun/.gitignore")).unwrap(),
        "*\n"
    );
}

#[test]
fn it_is_read_and_only_where_there_is_a_project() {
    let folder = folder([
        ("a.plan", USER.replacen("use", "// use", 1)),
        ("used.plan", USED.to_owned()),
    ]);
    check(folder.path(), &[]);
    assert!(
        !folder.path().join(".planrun").exists(),
        "no project, no folder to write in"
    );
    std::fs::write(folder.path().join("planrun.yaml"), "").unwrap();
    check(folder.path(), &["--no-cache"]);
    assert!(!folder.path().join(".planrun").exists());
    check(folder.path(), &[]);
    let cache = folder.path().join(".planrun/cache/check");
    let text = std::fs::read_to_string(&cache).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    // A word that no checker would say, in an entry that is whole.
    let (head, body) = text.split_once('\n').unwrap();
    let body = body.replace("nothing reads", "nobody minds");
    let key = head.split_once(' ').unwrap().0;
    std::fs::write(
        &cache,
        format!("{key} {}\n{body}", blake3::hash(body.as_bytes()).to_hex()),
    )
    .unwrap();
    assert!(check(folder.path(), &[]).stdout.contains("nobody minds"));
    assert!(
        !check(folder.path(), &["--no-cache"])
            .stdout
            .contains("nobody minds")
    );
    let run = planrun(["run", "a.plan"]).within(folder.path()).run();
    assert!(!run.stderr.contains("nobody minds"), "{run:?}");
}

#[test]
fn many_at_once_do_not_disturb_each_other() {
    let plans = (0..40).map(|number| (format!("{number}.plan"), USER.to_owned()));
    let folder = folder(plans.chain([
        ("planrun.yaml".to_owned(), String::new()),
        ("used.plan".to_owned(), USED.to_owned()),
    ]));
    let expected = check(folder.path(), &["--no-cache"]).stdout;
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| assert_eq!(check(folder.path(), &[]).stdout, expected));
        }
    });
    assert_eq!(check(folder.path(), &[]).stdout, expected);
    assert_eq!(
        std::fs::read_dir(folder.path().join(".planrun/cache"))
            .unwrap()
            .count(),
        1,
        "nothing is left beside it"
    );
}
