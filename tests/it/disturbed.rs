//! The program with disks that are full or read-only, truncated journals and a clock that jumps: it exits with code 3
//! or is not affected, and afterwards the run ends with the same reply as without the disturbance.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use serde_json::Value as Json;

use crate::journal::mounts::Mount;
use crate::shop::{Shop, assert_one_key_each, command, start};
use crate::support::{Output, planrun};

/// Returns the reply of an undisturbed run.
fn undisturbed(folder: &Path) -> Json {
    let output = start(folder, "undisturbed").wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice::<Json>(&output.stdout).unwrap()["reply"].clone()
}

/// Extends the time limits of the plan, for tests that take longer or set the clock.
fn extend_time_limits(folder: &Path) {
    let path = folder.join("order.plan");
    let plan = fs::read_to_string(&path).unwrap();
    fs::write(&path, plan.replace("within 1m", "within 9000d")).unwrap();
}

/// Asserts that a command failed because of the journal, and returns its error message.
fn refused(output: &Output) -> &str {
    assert_eq!(output.status, 3, "{output:?}");
    let names_journal = output
        .stderr
        .lines()
        .any(|line| line.starts_with("error: ") && line.contains("the journal"));
    assert!(names_journal, "{}", output.stderr);
    &output.stderr
}

fn ended(child: Child) -> Output {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Output {
        status: output.status.code().unwrap_or(-1),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

fn runs(folder: &Path, arguments: &[&str]) -> Output {
    planrun([&["runs"], arguments].concat())
        .within(folder)
        .run()
}

fn assert_resumes(folder: &Path, run: &str, expected: &Json) {
    let output = runs(folder, &["resume", run, "--format", "json"]);
    assert_eq!(output.status, 0, "{run}: {}", output.stderr);
    assert_eq!(&output.json()["reply"], expected, "{run}");
}

/// Ends a process of this run with a signal once this number of calls have been made.
async fn ended_by(signal: &str, command: &mut Command, shop: &Shop, calls: usize) {
    let mut child = command.spawn().unwrap();
    while shop.calls().len() < calls {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let killed = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success() && !child.wait().unwrap().success());
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_disk_that_fills_up_at_any_call_stops_the_run_and_loses_nothing() {
    let shop = Shop::default();
    let files = shop.open().await;
    let expected = undisturbed(files.path());
    let calls = shop.calls().len();
    let at = files.path().join(".planrun");
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=2m", "tmpfs"], &at) else {
        return;
    };
    for call in 1..=calls {
        shop.forget();
        let (run, ballast) = (format!("full-{call}"), at.join("ballast"));
        let filled = ballast.clone();
        shop.disturb(call, move || fill(&filled));
        let stopped = ended(start(files.path(), &run));
        assert!(
            refused(&stopped).contains("no space is left for the journal"),
            "{}",
            stopped.stderr
        );
        assert!(
            stopped
                .stderr
                .contains(&format!("resume it with `planrun run --resume {run}`")),
            "{}",
            stopped.stderr
        );
        let told = stopped.json();
        assert_eq!(
            (&told["status"], &told["reply"]),
            (&Json::from("paused"), &Json::Null)
        );
        let before = shop.calls().len();
        // Fills the space that the ended process has freed.
        fill(&ballast);
        let still = runs(files.path(), &["resume", &run]);
        assert!(
            refused(&still).contains("no space is left"),
            "{}",
            still.stderr
        );
        fill(&ballast);
        let new = ended(start(files.path(), "new"));
        assert!(refused(&new).contains("no space is left"), "{}", new.stderr);
        assert_eq!(
            shop.calls().len(),
            before,
            "nothing goes out that cannot be written down"
        );
        fs::remove_file(&ballast).unwrap();
        assert_resumes(files.path(), &run, &expected);
        assert_one_key_each(&shop.calls(), &run);
    }
}

/// Extends this file until its disk is full.
fn fill(ballast: &Path) {
    use std::io::Write as _;
    let mut file = fs::File::options()
        .create(true)
        .append(true)
        .open(ballast)
        .unwrap();
    while file.write(&[0; 512]).is_ok_and(|written| written > 0) {}
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_disk_that_became_read_only_is_told_and_the_run_goes_on_when_it_is_writable_again() {
    let shop = Shop::default();
    let files = shop.open().await;
    let expected = undisturbed(files.path());
    let at = files.path().join(".planrun");
    for signal in ["-KILL", "-INT"] {
        shop.forget();
        let run = format!("read-only{signal}");
        ended_by(signal, &mut command(files.path(), &run), &shop, 3).await;
        let Some(mount) = Mount::new(&["--bind", at.to_str().unwrap()], &at) else {
            return;
        };
        let remounted = Command::new("mount")
            .args(["-o", "remount,ro,bind"])
            .arg(&at)
            .status()
            .unwrap();
        assert!(remounted.success());
        let before = shop.calls().len();
        let resumed = runs(files.path(), &["resume", &run]);
        assert!(
            refused(&resumed).contains("cannot be written"),
            "{}",
            resumed.stderr
        );
        let new = ended(start(files.path(), "new"));
        assert!(
            refused(&new).contains("cannot be written"),
            "{}",
            new.stderr
        );
        let list = runs(files.path(), &["list"]);
        assert!(
            list.status == 0 && list.stdout.contains(&run),
            "who may only read can still look: {}",
            list.stderr
        );
        assert_eq!(
            shop.calls().len(),
            before,
            "nothing goes out that cannot be written down"
        );
        drop(mount);
        assert_resumes(files.path(), &run, &expected);
        assert_one_key_each(&shop.calls(), &run);
    }
}

/// Returns the step between truncated lengths: every byte in CI, a few elsewhere.
fn some_bytes() -> usize {
    if std::env::var_os("CI").is_some() {
        1
    } else {
        173
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_journal_that_was_cut_in_its_last_page_is_told_and_left_as_it_is() {
    let shop = Shop::default();
    let files = shop.open().await;
    extend_time_limits(files.path());
    let expected = undisturbed(files.path());
    shop.forget();
    ended_by("-INT", &mut command(files.path(), "cut"), &shop, 4).await;
    let before = shop.calls().len();
    let path = files.path().join(".planrun/journal.db");
    let whole = fs::read(&path).unwrap();
    for length in (whole.len() - 4096..whole.len()).step_by(some_bytes()) {
        fs::write(&path, &whole[..length]).unwrap();
        let resumed = runs(files.path(), &["resume", "cut"]);
        assert!(
            refused(&resumed).contains("is damaged"),
            "{length}: {}",
            resumed.stderr
        );
        assert!(
            fs::read(&path).unwrap() == whole[..length],
            "{length}: it was written to"
        );
    }
    assert_eq!(
        shop.calls().len(),
        before,
        "nothing goes out on what is damaged"
    );
    fs::write(&path, &whole).unwrap();
    assert_resumes(files.path(), "cut", &expected);
    assert_one_key_each(&shop.calls(), "cut");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_run_whose_newest_page_was_cut_goes_on_from_a_whole_beginning() {
    let shop = Shop::default();
    let files = shop.open().await;
    let expected = undisturbed(files.path());
    shop.forget();
    ended_by("-KILL", &mut command(files.path(), "cut"), &shop, 7).await;
    let folder = files.path().join(".planrun");
    let (path, wal) = (folder.join("journal.db"), folder.join("journal.db-wal"));
    let (file, newest) = (fs::read(&path).unwrap(), fs::read(&wal).unwrap());
    let page = newest.len() - 4120;
    // The complete page comes last; it loses nothing.
    for length in (page..newest.len())
        .step_by(some_bytes().max(64) * 4)
        .chain([newest.len()])
    {
        let _ = fs::remove_file(folder.join("journal.db-shm"));
        fs::write(&path, &file).unwrap();
        fs::write(&wal, &newest[..length]).unwrap();
        assert_resumes(files.path(), "cut", &expected);
        assert_one_key_each(&shop.calls(), &format!("cut at {length}"));
    }
}

/// Replaces the system clock: it is shifted forward or back by some seconds every few calls.
const JUMPING: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    static long asked;
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int told = real(clock, at);
    if (clock == CLOCK_REALTIME) at->tv_sec += (asked++ / 5 % 3 - 1) * atol(getenv("JUMP_SECONDS"));
    return told;
}
"#;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_clock_that_jumps_changes_nothing_of_a_run_and_of_its_resume() {
    let shop = Shop::default();
    let files = shop.open().await;
    let (source, clock) = (files.path().join("clock.c"), files.path().join("clock.so"));
    fs::write(&source, JUMPING).unwrap();
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&clock, &source])
        .arg("-ldl")
        .status();
    if !built.is_ok_and(|built| built.success()) {
        return crate::support::left_out("no C compiler");
    }
    // Time limits follow the clock; nothing else may be affected.
    extend_time_limits(files.path());
    let expected = undisturbed(files.path());
    let jumping = |run: &str, seconds: i64| {
        let mut command = command(files.path(), run);
        command
            .env("LD_PRELOAD", &clock)
            .env("JUMP_SECONDS", seconds.to_string());
        command
    };
    for (run, seconds) in [
        ("hours", 7200),
        ("years", 3 * 365 * 86_400),
        ("back", -86_400),
    ] {
        shop.forget();
        for calls in [2, 5] {
            ended_by("-KILL", &mut jumping(run, seconds), &shop, calls).await;
        }
        let output = ended(jumping(run, -seconds).spawn().unwrap());
        assert_eq!(output.status, 0, "{run}: {}", output.stderr);
        assert_eq!(output.json()["reply"], expected, "{run}");
        assert_one_key_each(&shop.calls(), run);
    }
}

#[tokio::test]
async fn a_paused_run_costs_no_process() {
    let plan = "use sys\n\nplan asks() -> bool {\n    step soon = sys.now()\n    step sure = input \"Sure?\" -> { yes: bool }\n    reply sure.yes && soon == soon\n}\n";
    let files = crate::support::folder([("asks.plan", plan), ("planrun.yaml", "apps: []\n")]);
    let paused = planrun(["run", "asks.plan", "--run-id", "asks"])
        .within(files.path())
        .run();
    assert_eq!(paused.status, 4, "{}", paused.stderr);
    let folder = files.path().join(".planrun");
    let left: Vec<_> = fs::read_dir(folder.join("drivers")).unwrap().collect();
    assert!(
        left.is_empty(),
        "the process that drove it is gone: {left:?}"
    );
    assert!(
        !folder.join("journal.db-wal").exists(),
        "nobody has the journal open"
    );
    let listed = runs(files.path(), &["list", "--format", "json"]).json();
    assert_eq!(
        (&listed["runs"][0]["status"], &listed["runs"][0]["driven"]),
        (&"paused".into(), &false.into())
    );
    let answered = runs(
        files.path(),
        &["answer", "asks", "sure={\"yes\": true}", "--resume"],
    );
    assert_eq!(
        (answered.status, answered.stdout.as_str()),
        (0, "true\n"),
        "{}",
        answered.stderr
    );
}
