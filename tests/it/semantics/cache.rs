//! Section 5.4: cached results.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::value::Value;
use planrun_runs::journal::store::{Digest, JournalError};
use planrun_runs::journal::{CachedResult, MemoryCache, MemoryLog, ResultCache};
use planrun_tools::host::Host as _;
use serde_json::json;

use crate::world::{World, give};

const TOOLS: &str = "
use a
tool a.read(x?: any, y?: any) -> int read
tool a.write(x?: any) -> int effect
";

fn plan(body: &str) -> String {
    format!("{TOOLS}\nplan p() {{ {body} }}")
}

fn world(cache: &MemoryCache) -> World {
    let mut world = World::new().tool("a.read", [give(json!(1)), give(json!(2)), give(json!(3))]);
    world.cache = Some(Arc::new(cache.clone()));
    world
}

#[tokio::test(start_paused = true)]
async fn r5_4_the_same_call_is_made_once_and_counts_once() {
    let world = world(&MemoryCache::default());
    let body = "policy { budget: { calls: 2 } }
        step one = a.read(x: 1, y: \"é\") cache 1h
        step two = a.read(y: \"é\", x: one) after one cache 1h
        step three = a.read(x: 2) after two cache 1h
        reply [one, two, three]";
    let ran = world.run(&plan(body)).await;
    // The order of arguments does not matter, their values do.
    assert_eq!(ran.reply(), json!([1, 1, 2]));
    assert_eq!((ran.calls("a.read").len(), ran.outcome.usage.calls), (2, 2));
    let two = ran.step("two");
    assert_eq!((two.attributes, two.attempts), (vec!["cached"], 0));
    assert!(ran.step("one").attributes.is_empty());
}

#[tokio::test(start_paused = true)]
async fn r5_4_a_result_serves_other_runs_until_it_is_too_old() {
    let cache = MemoryCache::default();
    let text = plan("step one = a.read() cache 1h reply one");
    let world = world(&cache);
    assert_eq!(world.run(&text).await.reply(), json!(1));
    world.host.advance(Duration::from_hours(1));
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.reply(), ran.step("one").attributes),
        (json!(1), vec!["cached"])
    );
    world.host.advance(Duration::from_secs(1));
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.reply(), ran.step("one").attributes.len()),
        (json!(2), 0)
    );
    // From now on the newer result is used, also for a shorter cache time.
    let text = plan("step one = a.read() cache 1s reply one");
    assert_eq!(world.run(&text).await.reply(), json!(2));
    // A step without `cache` makes the call.
    assert_eq!(
        world
            .run(&plan("step one = a.read() reply one"))
            .await
            .reply(),
        json!(3)
    );
    assert!(world.host.now() > 0);
}

#[tokio::test(start_paused = true)]
async fn r5_4_another_contract_is_another_call_and_what_breaks_it_is_not_kept() {
    let cache = MemoryCache::default();
    let text = plan("step one = a.read() cache 1h reply one");
    let broken = {
        let mut world = World::new().tool("a.read", [give(json!("no number")), give(json!(7))]);
        world.cache = Some(Arc::new(cache.clone()));
        world
    };
    assert_eq!(broken.run(&text).await.class(), "validation.result");
    assert_eq!(broken.run(&text).await.reply(), json!(7));
    let wider = text.replace("-> int read", "-> int | string read");
    assert_eq!(world(&cache).run(&wider).await.reply(), json!(1));
}

#[tokio::test(start_paused = true)]
async fn r5_4_a_run_that_goes_on_has_the_result_it_had_whatever_is_cached_now() {
    let cache = MemoryCache::default();
    let text = plan(
        "step one = a.read() cache 1h
         step put = a.write(x: one)
         reply one",
    );
    let mut world = world(&cache).tool("a.write", [give(json!(9))]);
    assert_eq!(world.run(&text).await.reply(), json!(1));
    let log = MemoryLog::default();
    log.dies_at(|line| {
        let line = String::from_utf8_lossy(line);
        line.contains("step.running") && line.contains("put")
    });
    world.journal = Some(log.clone());
    assert!(
        world
            .run_until_it_dies(&text, BTreeMap::new())
            .await
            .is_none()
    );
    let log = log.revived();
    world.journal = Some(log.clone());
    world.cache = None;
    // The outcome of the effect is unknown, so an answer reports it.
    log.send(r#"{"answer": "put", "value": {"happened": true, "value": 9}}"#);
    let mut ran = world.run(&text).await;
    if ran.outcome.interruption.is_some() {
        log.send(r#"{"answer": "put", "value": {"happened": true, "value": 9}}"#);
        ran = world.run(&text).await;
    }
    assert_eq!(
        (ran.reply(), ran.step("one").attributes),
        (json!(1), vec!["reused", "cached"])
    );
    let count = |what: &str| {
        log.lines()
            .iter()
            .filter(|line| line.contains(what))
            .count()
    };
    assert_eq!(
        (count("\"cached\":true"), ran.calls("a.read").len()),
        (1, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn r5_4_what_a_plan_may_not_reach_it_does_not_get_from_the_cache() {
    let cache = MemoryCache::default();
    let world = world(&cache).file("/notes.txt", "secret");
    world
        .host
        .write_file("/notes.txt".as_ref(), b"secret")
        .unwrap();
    let text = |allow: &str| {
        format!(
            "use fs, sys\nplan p() {{ {allow} step at = sys.echo(value: \"/notes.txt\") \
             step one = fs.read(path: at) cache 1h reply one }}"
        )
    };
    let allowed = text("allow { read: [\"/\"] }");
    assert_eq!(
        world.run(&allowed).await.step("one").status.name(),
        "completed"
    );
    let again = world.run(&allowed).await;
    assert_eq!(again.step("one").attributes, ["cached"]);
    assert_eq!(world.run(&text("")).await.class(), "denied.policy");
}

/// A cache that is slow to store a result.
struct SlowCache(MemoryCache);

impl ResultCache for SlowCache {
    fn secret(&self) -> Result<[u8; 32], JournalError> {
        self.0.secret()
    }

    fn recall(&self, key: Digest, not_before: i128) -> Result<Option<CachedResult>, JournalError> {
        self.0.recall(key, not_before)
    }

    fn remember(&self, key: Digest, result: &CachedResult) -> Result<(), JournalError> {
        std::thread::sleep(Duration::from_millis(20));
        self.0.remember(key, result)
    }
}

#[tokio::test(start_paused = true)]
async fn r5_4_a_result_is_found_at_once_however_long_it_takes_to_keep_it() {
    let mut world = world(&MemoryCache::default());
    world.cache = Some(Arc::new(SlowCache(MemoryCache::default())));
    let body = "step one = a.read() cache 1h
        step two = a.read() after one cache 1h
        reply [one, two]";
    let ran = world.run(&plan(body)).await;
    assert_eq!((ran.reply(), ran.calls("a.read").len()), (json!([1, 1]), 1));
}

/// A cache that was tampered with.
struct TamperedCache;

impl ResultCache for TamperedCache {
    fn secret(&self) -> Result<[u8; 32], JournalError> {
        Ok([0; 32])
    }

    fn recall(&self, _: Digest, _: i128) -> Result<Option<CachedResult>, JournalError> {
        let (at, run) = (0, "r1".into());
        let value = Value::from("no number");
        Ok(Some(CachedResult { at, run, value }))
    }

    fn remember(&self, _: Digest, _: &CachedResult) -> Result<(), JournalError> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn r5_4_a_result_that_does_not_have_its_type_is_none() {
    let mut world = world(&MemoryCache::default());
    world.cache = Some(Arc::new(TamperedCache));
    let ran = world
        .run(&plan("step one = a.read() cache 1h reply one"))
        .await;
    assert_eq!((ran.reply(), ran.calls("a.read").len()), (json!(1), 1));
}
