//! An effect that is announced, and not sent before its time is up, because the disk is slow.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use planrun_core::journal::{Event, ReplayState};
use planrun_core::run::{Command, Input, Moment, Outcome, Program, Run, Setup};
use planrun_lang::sema::{NoFiles, Tools, check_without_rules};
use planrun_lang::source::SourceFile;

const PLAN: &str = "use a
tool a.write() -> int effect

plan p() {
    step w = a.write() within 1s
}
";

#[test]
fn an_effect_that_is_not_sent_in_time_has_not_happened_for_those_who_look_at_the_run_either() {
    let source = SourceFile::new("held.plan", PLAN);
    let checked = check_without_rules(&source, &Tools::default(), &NoFiles);
    let program = Arc::new(Program::new(checked.plans[0].clone()));
    let (outcome, events) = drive(&program, None);
    let mut replay = ReplayState::default();
    for event in events {
        replay.take(event).unwrap();
    }
    let (seen, _) = drive(&program, Some(replay));
    let failed = |outcome: &Outcome| {
        let mut steps = outcome.steps().into_iter();
        let step = steps.find(|step| *step.path == *"w").unwrap();
        (
            step.error.unwrap().to_json()["class"].clone(),
            step.attempts,
        )
    };
    assert_eq!(failed(&outcome), ("transient.timeout".into(), 1));
    assert_eq!(failed(&seen), failed(&outcome));
}

/// Drives a run in which no event becomes durable and two seconds pass, or looks at one that has ended.
fn drive(program: &Arc<Program>, replay: Option<ReplayState>) -> (Outcome, Vec<Event>) {
    let replay_only = replay.is_some();
    let setup = Setup {
        replay,
        replay_only,
        durable: !replay_only,
        ..Setup::new("held")
    };
    let mut now = Moment {
        wall: 0,
        monotonic: Duration::ZERO,
    };
    let mut run = Run::new(program, &BTreeMap::new(), setup, now);
    let (mut commands, mut events) = (Vec::new(), Vec::new());
    for _ in 0..100 {
        let idle = !run.has_work();
        let input = if idle { Input::Idle } else { Input::Continue };
        run.handle(input, now, &mut commands);
        let (mut waits, mut is_over) = (false, false);
        for command in commands.drain(..) {
            match command {
                Command::Append(event) => events.push(event),
                Command::Call(call) => panic!("{} is sent", call.path),
                Command::Wait(_) => waits = true,
                Command::End => is_over = true,
                _ => {}
            }
        }
        if is_over {
            return (run.conclude(now, &mut Vec::new()), events);
        }
        if waits {
            (now.wall, now.monotonic) = (2_000_000_000, Duration::from_secs(2));
            run.handle(Input::Wake, now, &mut commands);
        }
    }
    panic!("the run does not end");
}
