//! The program killed with SIGKILL at any moment, against a server that records every call with its idempotency key.

use std::path::Path;
use std::time::Duration;

use serde_json::Value as Json;

use crate::shop::{Shop, assert_one_key_each, command_of, start};
use crate::support::planrun;

/// Number of kills in CI, and a tenth of it elsewhere. `PLANRUN_KILLS` overrides it.
const KILLS: usize = 300;

/// Returns a pseudorandom number below `below` that depends only on `place`.
fn pseudorandom(place: usize, below: u64) -> u64 {
    let hash = blake3::hash(&place.to_le_bytes());
    u64::from_le_bytes(hash.as_bytes()[..8].try_into().unwrap()) % below
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_program_killed_at_any_moment_goes_on_and_no_effect_has_two_keys() {
    kills_of("order.plan", 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_program_with_every_kind_of_step_killed_at_any_moment_goes_on() {
    kills_of("every.plan", 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_program_killed_while_it_takes_back_what_it_did_goes_on_with_that() {
    kills_of("undone.plan", 1).await;
}

/// Kills runs of a plan, and resumes each until it ends like the undisturbed run: with this exit code, the same reply,
/// and the same state of every step.
async fn kills_of(plan: &str, exit: i32) {
    let total = std::env::var("PLANRUN_KILLS")
        .ok()
        .and_then(|count| count.parse().ok());
    let total: usize = total.unwrap_or(if std::env::var_os("CI").is_some() {
        KILLS
    } else {
        KILLS / 10
    }) / 3;
    let server = Shop::default();
    let files = server.open().await;
    let begun = std::time::Instant::now();
    let undisturbed = command_of(files.path(), plan, "undisturbed")
        .output()
        .unwrap();
    let usual = begun.elapsed();
    let stderr = String::from_utf8_lossy(&undisturbed.stderr).into_owned();
    assert_eq!(
        undisturbed.status.code(),
        Some(exit),
        "{stderr}{}",
        String::from_utf8_lossy(&undisturbed.stdout)
    );
    let expected = result_of(&undisturbed.stdout);
    let (mut kills, mut runs) = (0, 0);
    while kills < total {
        runs += 1;
        let run = format!("run-{runs}");
        server.forget();
        let reply = loop {
            let mut child = command_of(files.path(), plan, &run).spawn().unwrap();
            let limit = u64::try_from(usual.as_micros()).unwrap().max(1000) * 5 / 4;
            tokio::time::sleep(Duration::from_micros(pseudorandom(kills + runs, limit))).await;
            if child.try_wait().unwrap().is_none() && kills < total {
                child.kill().unwrap();
                child.wait().unwrap();
                kills += 1;
                continue;
            }
            let output = tokio::task::spawn_blocking(move || child.wait_with_output())
                .await
                .unwrap()
                .unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            if output.status.code() == Some(4) {
                assert!(stderr.contains("died 3 times"), "{stderr}");
                // The process was killed three times at one place, so the run is paused. It is not counted.
                break None;
            }
            assert_eq!(
                output.status.code(),
                Some(exit),
                "{run} after {kills} kills: {stderr}{}",
                String::from_utf8_lossy(&output.stdout)
            );
            break Some(result_of(&output.stdout));
        };
        if let Some(reply) = reply {
            assert_eq!(reply, expected, "{run}");
        }
        assert_one_key_each(&server.calls(), &run);
    }
    println!("{plan}: {kills} kills in {runs} runs");
    let listed = planrun(["runs", "list", "--format", "json", "--limit", "1000"])
        .within(files.path())
        .run();
    assert_eq!(
        listed.json()["runs"].as_array().unwrap().len(),
        runs + 1,
        "{}",
        listed.stderr
    );
}

/// Returns the reply and the state of every step, except `verify` calls, of which a lost answer adds one more, and the
/// branches of a race.
fn result_of(stdout: &[u8]) -> (Json, Vec<(Json, Json)>) {
    let outcome: Json = serde_json::from_slice(stdout).unwrap();
    let steps = outcome["steps"].as_array().unwrap().iter();
    let free = |path: &str| path.contains(".verify") || path.starts_with("fast.");
    let steps = steps.filter(|step| !free(step["path"].as_str().unwrap()));
    (
        outcome["reply"].clone(),
        steps
            .map(|step| (step["path"].clone(), step["status"].clone()))
            .collect(),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn three_deaths_at_one_place_pause_the_run_until_a_person_wants_it_again() {
    let shop = Shop::default();
    let files = shop.open().await;
    let undisturbed = reply(
        &start(files.path(), "undisturbed")
            .wait_with_output()
            .unwrap()
            .stdout,
    );
    shop.forget();
    dies(&shop, files.path(), 3).await;
    let runs = |arguments: &[&str]| {
        planrun([&["runs"], arguments].concat())
            .within(files.path())
            .run()
    };
    assert!(runs(&["list"]).stdout.contains("interrupted"));
    for arguments in [["resume", "dying"], ["resume", "dying"]] {
        let paused = runs(&arguments);
        assert_eq!(
            (paused.status, paused.stdout.as_str()),
            (4, ""),
            "{}",
            paused.stderr
        );
        assert!(
            paused
                .stderr
                .contains("the run dying is paused: its process died 3 times at event"),
            "{}",
            paused.stderr
        );
        assert!(
            paused
                .stderr
                .contains("`planrun runs resume dying --again`"),
            "{}",
            paused.stderr
        );
    }
    // The document of the paused run.
    let paused = planrun(["run", "--resume", "dying", "--format", "json"])
        .within(files.path())
        .run();
    assert_eq!(
        (paused.status, &paused.json()["status"]),
        (4, &Json::from("paused"))
    );
    let again = start(files.path(), "dying").wait_with_output().unwrap();
    assert_eq!(
        again.status.code(),
        Some(4),
        "the same id goes on with the same run"
    );
    let due = runs(&["resume", "--due"]);
    assert_eq!(due.status, 0, "{}", due.stderr);
    assert_eq!(
        shop.calls().len(),
        3,
        "nothing is called while it is paused"
    );
    let listed = runs(&["list", "--waiting"]).stdout;
    assert!(
        listed.contains("dying") && listed.contains("paused") && listed.contains("died 3 times"),
        "{listed}"
    );

    let output = runs(&["resume", "dying", "--again", "--format", "json"]);
    assert_eq!(
        (output.status, &output.json()["reply"]),
        (0, &undisturbed),
        "{}",
        output.stderr
    );
    assert_one_key_each(&shop.calls(), "again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_run_whose_process_died_is_due() {
    let shop = Shop::default();
    let files = shop.open().await;
    let undisturbed = reply(
        &start(files.path(), "undisturbed")
            .wait_with_output()
            .unwrap()
            .stdout,
    );
    shop.forget();
    dies(&shop, files.path(), 1).await;
    let due = planrun(["runs", "resume", "--due", "--format", "json"])
        .within(files.path())
        .run();
    assert_eq!(
        (due.status, &due.json()["runs"][0]["reply"]),
        (0, &undisturbed),
        "{}",
        due.stderr
    );
    assert_one_key_each(&shop.calls(), "due");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_run_at_which_processes_die_can_be_ended() {
    let shop = Shop::default();
    let files = shop.open().await;
    dies(&shop, files.path(), 3).await;
    let cancelled = planrun(["runs", "cancel", "dying"])
        .within(files.path())
        .run();
    assert_eq!(cancelled.status, 0, "{}", cancelled.stderr);
    let listed = planrun(["runs", "list"]).within(files.path()).run();
    assert!(listed.stdout.contains("cancelled"), "{}", listed.stdout);
    assert_eq!(shop.calls().len(), 3, "nothing is called to end it");
}

/// Kills the run `dying` this number of times, each time during its first call, so that no process gets further than
/// the one before.
async fn dies(shop: &Shop, folder: &Path, times: usize) {
    for death in 1..=times {
        let mut child = start(folder, "dying");
        while shop.calls().len() < death {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

fn reply(stdout: &[u8]) -> Json {
    serde_json::from_slice::<Json>(stdout).unwrap()["reply"].clone()
}
