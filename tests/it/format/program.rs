//! `planrun fmt`: its files, output and exit codes.

use std::fs;

use crate::support::planrun;

const LOOSE: &str = "plan a( ) -> int {reply   1}";
const FORMED: &str = "plan a() -> int {\n    reply 1\n}\n";

#[test]
fn files_are_written_in_place_and_named_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("loose.plan"), LOOSE).unwrap();
    fs::write(path("formed.plan"), FORMED).unwrap();
    let check = planrun(["fmt", "--check"]).within(folder.path()).run();
    assert_eq!((check.status, check.stdout.as_str()), (1, "loose.plan\n"));
    assert_eq!(
        check.stderr,
        "1 file would change, 1 file already formatted\n"
    );
    let diff = planrun(["fmt", "--diff", "loose.plan"])
        .within(folder.path())
        .run();
    assert_eq!(diff.status, 1);
    assert_eq!(
        diff.stdout,
        "--- a/loose.plan\n+++ b/loose.plan\n@@ -1 +1,3 @@\n-plan a( ) -> int {reply   1}\n\\ No newline at end of file\n+plan a() -> int {\n+    reply 1\n+}\n"
    );
    assert_eq!(fs::read_to_string(path("loose.plan")).unwrap(), LOOSE);
    let write = planrun(["fmt"]).within(folder.path()).run();
    assert_eq!((write.status, write.stdout.as_str()), (0, ""));
    assert_eq!(write.stderr, "1 file formatted, 1 file already formatted\n");
    assert_eq!(fs::read_to_string(path("loose.plan")).unwrap(), FORMED);
    assert_eq!(
        planrun(["fmt", "--check"])
            .within(folder.path())
            .run()
            .status,
        0
    );
}

#[test]
fn standard_input_goes_to_standard_output() {
    let output = planrun(["fmt", "-"]).stdin(LOOSE).run();
    assert_eq!((output.status, output.stdout.as_str()), (0, FORMED));
    let again = planrun(["fmt", "-q", "-"]).stdin(FORMED).run();
    assert_eq!(
        (again.status, again.stdout.as_str(), again.stderr.as_str()),
        (0, FORMED, "")
    );
}

#[test]
fn what_cannot_be_read_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broken.plan");
    fs::write(&path, "plan a( {\n").unwrap();
    fs::write(folder.path().join("loose.plan"), LOOSE).unwrap();
    let output = planrun(["fmt"]).within(folder.path()).run();
    assert_eq!(output.status, 1);
    assert!(output.stderr.contains("broken.plan:1"), "{}", output.stderr);
    assert!(
        output
            .stderr
            .ends_with("1 file formatted, 1 file skipped because of errors\n"),
        "{}",
        output.stderr
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "plan a( {\n");
    let absent = planrun(["fmt", "absent.plan"]).within(folder.path()).run();
    assert_eq!(absent.status, 3);
}

/// The plans and examples of the project are formatted.
#[test]
fn the_plans_of_the_project_are_in_form() {
    let output = planrun(["fmt", "--check", "plans", "examples"]).run();
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (0, ""),
        "run `planrun fmt plans examples`"
    );
}

#[cfg(unix)]
#[test]
fn permissions_and_links_stay() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (
        folder.path().join("real.plan"),
        folder.path().join("link.plan"),
    );
    fs::write(&path, LOOSE).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&path, &link).unwrap();
    let output = planrun(["fmt", "link.plan"]).within(folder.path()).run();
    assert_eq!(output.status, 0, "{}", output.stderr);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&path).unwrap(), FORMED);
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o640
    );
}
