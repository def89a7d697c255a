//! Coverage of plans: the goals, their counts, and the reports in every format.

mod generated;
mod plans;
mod tracefile;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use planrun_core::journal::SubmittedAnswer;
use planrun_core::run::{Outcome, Program, Setup};
use planrun_lang::protocol::Sent;
use planrun_lang::sema::{self, Files, Plan, Tools};
use planrun_lang::source::SourceFile;
use planrun_lang::value::Value;
use planrun_runs::driver::{self, Answering, Context, Silence};
use planrun_test::plantest::coverage::{
    Coverage, CoverageObserver, Goal, Goals, Kind, Seen, html, json, lcov, text,
};
use planrun_tools::host::{Host, MemoryHost};
use planrun_tools::tools::Catalog;
use serde_json::{Value as Json, json as object};

use crate::world::{Script, World, give};

/// Runs a plan on paused time, and adds the items that it covers.
fn watch(
    plan: &Arc<Plan>,
    inputs: &BTreeMap<Arc<str>, Value>,
    answers: Vec<SubmittedAnswer>,
    tools: Catalog,
    seen: &mut Seen,
) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let host: Arc<dyn Host> = Arc::new(MemoryHost::new(7));
        let mut silent = Silence;
        let mut watching = CoverageObserver {
            seen,
            inner: &mut silent,
        };
        let context = Context {
            root: PathBuf::from("/"),
            answering: Answering {
                answers,
                asker: None,
            },
            ..Context::new(host, Arc::new(tools), Setup::new("test-run"), &mut watching)
        };
        driver::run(&Arc::new(Program::new(plan.clone())), inputs, context).await
    })
}

struct SizeFile;

impl Files for SizeFile {
    fn read(&self, _: &str, path: &str) -> Result<SourceFile, String> {
        assert_eq!(path, "./size.plan");
        Ok(SourceFile::new("size.plan", SIZE))
    }
}

const SIZE: &str = r#"plan is_large(total: int) -> bool {
    ensure total > 0 else "nothing to pay"
    reply total > 100
}
"#;

const PLAN: &str = r#"use shop, mail
use "./size.plan" as sizes

tool shop.find(id: string) -> { total: int, items: string[], kind: string } read fails gone
tool shop.pay(cents: int) -> { paid: bool } effect fails declined
tool shop.refund(cents: int) -> { paid: bool } effect
tool mail.send(to: string) -> { id: string } effect

plan order(id: string) -> { sent: int, note: string } {
    policy { retry: { attempts: 1 } }

    step found = shop.find(id: id)
    step large = sizes.is_large(total: found.total)
    step who = input "Who pays?" -> { name: string }
        when found.total > 50
    step paid = shop.pay(cents: found.total)
        confirm "Pay ${found.total}?"
        retry { attempts: 2, delay: 1s, on: [transient] }
        recover tool.declined => { paid: false }
        undo shop.refund(cents: found.total)
    step sent = each item in found.items max 9 {
        step letter = mail.send(to: item)
        yield letter.id
    }
    step words = match found.kind {
        "gift" => "with love",
        "plain" | "other" => "with care",
        _ => "with nothing",
    }
    step rounds = repeat n = 0 max 3 {
        yield n
        next n < size(found.items) ? n + 1 : null
    }
    fail tool.failed "not for us" when found.kind == "bad"
    reply { sent: 0, note: "none" } when size(found.items) == 0
    reply { sent: size(sent), note: words }
}
"#;

struct Shop {
    file: Arc<SourceFile>,
    size_file: Arc<SourceFile>,
    plan: Arc<Plan>,
}

impl Shop {
    fn open() -> Self {
        let file = Arc::new(SourceFile::new("shop.plan", PLAN));
        let tools: Tools = world(&[]).into_catalog().signatures().cloned().collect();
        let checked = sema::check_without_rules(&file, &tools, &SizeFile);
        let errors: Vec<_> = checked
            .diagnostics
            .iter()
            .filter(|found| found.is_error())
            .collect();
        assert!(errors.is_empty(), "{errors:#?}");
        let size_file = Arc::new(SourceFile::new("size.plan", SIZE));
        Self {
            file,
            size_file,
            plan: checked.plans.last().unwrap().clone(),
        }
    }

    fn goals(&self) -> Vec<Goals> {
        vec![
            Goals::of(&self.file, &self.plan),
            Goals::of(&self.size_file, &self.plan.plans[0]),
        ]
    }

    /// Runs the plan with an answer to each question.
    fn run(&self, found: &Json, pay: &[Script], agreed: bool, seen: &mut Seen) -> Outcome {
        let scripts = [
            ("shop.find", vec![give(found.clone())]),
            ("shop.pay", pay.to_vec()),
        ];
        self.run_in(world(&scripts), agreed, seen)
    }

    fn run_in(&self, world: World, agreed: bool, seen: &mut Seen) -> Outcome {
        let inputs = BTreeMap::from([(Arc::from("id"), Value::from("1"))]);
        let given = |path: &str, value: Json| SubmittedAnswer {
            path: path.into(),
            value,
            by: None,
            note: None,
        };
        let answers = vec![
            given("who", object!({"name": "Ana"})),
            given("paid.confirm", object!(agreed)),
        ];
        watch(&self.plan, &inputs, answers, world.into_catalog(), seen)
    }
}

fn world(scripts: &[(&str, Vec<Script>)]) -> World {
    let usual = [
        (
            "shop.find",
            object!({"total": 60, "items": ["a"], "kind": "gift"}),
        ),
        ("shop.pay", object!({"paid": true})),
        ("shop.refund", object!({"paid": true})),
        ("mail.send", object!({"id": "m"})),
    ];
    usual.into_iter().fold(World::new(), |world, (tool, json)| {
        let own = scripts.iter().find(|(name, _)| *name == tool);
        let own = own.map(|(_, scripts)| scripts.clone());
        world.tool(tool, own.unwrap_or_else(|| vec![give(json)]))
    })
}

fn found(total: i64, items: &[&str], kind: &str) -> Json {
    object!({"total": total, "items": items, "kind": kind})
}

fn paid() -> [Script; 1] {
    [give(object!({"paid": true}))]
}

#[test]
fn what_no_test_reaches_is_told_in_plain_words() {
    let shop = Shop::open();
    let goals = shop.goals();
    insta::assert_snapshot!("nothing_ran", text(&Coverage::of(&goals, &Seen::default())));
    let mut seen = Seen::default();
    let outcome = shop.run(&found(60, &["a", "b"], "gift"), &paid(), true, &mut seen);
    assert_eq!(outcome.state.name(), "completed", "{:?}", outcome.error);
    insta::assert_snapshot!("one_run", text(&Coverage::of(&goals, &seen)));
    insta::assert_snapshot!("one_run.lcov", lcov(&Coverage::of(&goals, &seen)));
    insta::assert_snapshot!("one_run.html", html(&Coverage::of(&goals, &seen)));
    insta::assert_snapshot!(
        "one_run.json",
        serde_json::to_string_pretty(&json(&Coverage::of(&goals, &seen))).unwrap()
    );
}

#[test]
fn many_runs_reach_everything() {
    let shop = Shop::open();
    let goals = shop.goals();
    let (declined, busy) = (
        Script::Fail("tool.declined", Sent::Answered),
        Script::Fail("transient.unavailable", Sent::No),
    );
    let runs: [(Json, Vec<Script>, bool); 5] = [
        (found(60, &["a", "b"], "gift"), paid().into(), true),
        (found(120, &["a"], "plain"), vec![declined], true),
        (
            found(20, &[], "strange"),
            vec![busy, give(object!({"paid": true}))],
            true,
        ),
        (found(20, &["a"], "gift"), paid().into(), false),
        (found(0, &["a"], "gift"), paid().into(), true),
    ];
    let mut all = Seen::default();
    let mut add = |seen: &Seen, what: &str| {
        let before = Coverage::of(&goals, &all).share();
        all.merge(seen);
        let after = Coverage::of(&goals, &all).share();
        assert!(after.reached > before.reached, "{what} reaches nothing new");
    };
    for (answer, pay, agreed) in runs {
        let mut seen = Seen::default();
        shop.run(&answer, &pay, agreed, &mut seen);
        add(&seen, &answer.to_string());
    }
    for (tool, class) in [("shop.find", "tool.gone"), ("mail.send", "tool.failed")] {
        let mut seen = Seen::default();
        shop.run_in(
            world(&[(tool, vec![Script::Fail(class, Sent::Answered)])]),
            true,
            &mut seen,
        );
        add(&seen, tool);
    }
    let mut seen = Seen::default();
    shop.run(&found(20, &["a"], "bad"), &paid(), true, &mut seen);
    add(&seen, "bad");
    let coverage = Coverage::of(&goals, &all);
    let open: Vec<&str> = coverage
        .plans
        .iter()
        .flat_map(|plan| {
            plan.goals()
                .filter(|(_, count)| *count == 0)
                .map(|(goal, _)| goal.missing.as_str())
        })
        .collect();
    assert_eq!(open, Vec::<&str>::new());
    assert_eq!(coverage.share().percent(), 100);
    for kind in [
        Kind::Step,
        Kind::Condition,
        Kind::Ensure,
        Kind::Arm,
        Kind::Recover,
        Kind::Loop,
        Kind::Error,
    ] {
        assert!(
            coverage
                .plans
                .iter()
                .any(|plan| plan.share_of(&|own| own == kind).all > 0),
            "{kind:?}"
        );
    }
}

#[test]
fn the_order_of_runs_does_not_matter_and_counts_add_up() {
    let shop = Shop::open();
    let (mut one, mut other) = (Seen::default(), Seen::default());
    shop.run(&found(60, &["a"], "gift"), &paid(), true, &mut one);
    shop.run(&found(20, &[], "plain"), &paid(), false, &mut other);
    let (mut left, mut right) = (one.clone(), other.clone());
    left.merge(&other);
    right.merge(&one);
    assert_eq!(left, right);
    let goals = shop.goals();
    let counts = |seen: &Seen| {
        Coverage::of(&goals, seen).plans[0]
            .counts
            .iter()
            .sum::<u64>()
    };
    assert_eq!(counts(&left), counts(&one) + counts(&other));
}

const WATCHMEN: &str = r"use a

tool a.write(x: int) -> { n: int } effect fails full
tool a.read(x: int) -> { n: int } read

plan watch(x: int) -> int {
    step done = a.write(x: x)
        verify a.read(x: x) as v => v.n > 0
    step told = a.read(x: x)
    listener alarm on told is failed {
        step help = a.write(x: 9)
    }
    listener quiet on done when done.n > 5 {
        step more = a.write(x: 8)
    }
    reply done.n
}
";

#[test]
fn listeners_and_what_looks_again_are_goals_too() {
    let file = Arc::new(SourceFile::new("watch.plan", WATCHMEN));
    let world = |answer: Script| {
        World::new()
            .tool("a.write", [give(object!({"n": 3}))])
            .tool("a.read", [answer, give(object!({"n": 3}))])
    };
    let usual = || give(object!({"n": 3}));
    let tools: Tools = world(usual())
        .into_catalog()
        .signatures()
        .cloned()
        .collect();
    let checked = sema::check_without_rules(&file, &tools, &SizeFile);
    let errors: Vec<_> = checked
        .diagnostics
        .iter()
        .filter(|found| found.is_error())
        .map(|found| &found.message)
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let plan = checked.plans.last().unwrap();
    let goals = [Goals::of(&file, plan)];
    let inputs = BTreeMap::from([(Arc::from("x"), Value::Int(1))]);
    let mut seen = Seen::default();
    watch(
        plan,
        &inputs,
        Vec::new(),
        world(usual()).into_catalog(),
        &mut seen,
    );
    insta::assert_snapshot!("watchmen", text(&Coverage::of(&goals, &seen)));
    let answer = Coverage::of(&goals, &seen).share().reached;
    watch(
        plan,
        &inputs,
        Vec::new(),
        world(Script::Fail("auth.authorization", Sent::Answered)).into_catalog(),
        &mut seen,
    );
    assert!(Coverage::of(&goals, &seen).share().reached > answer);
    let fired = |goal: &str| {
        Coverage::of(&goals, &seen).plans[0]
            .goals()
            .any(|(own, count)| own.name == goal && count > 0)
    };
    assert!(fired("alarm") && !fired("quiet"));
}

const ASKED: &str = r#"use desk, mail

tool desk.find(id: int) -> string read
tool desk.close(id: int) -> string effect
tool mail.send(to: string) -> string effect

plan p(both: bool) -> string {
    policy { verify: agents }
    step first = desk.close(id: 7) when both
    step second = desk.close(id: 8)
    step told = mail.send(to: "li")
    reply second
}
"#;

/// Runs the plan with these answers of the agent `desk`. Returns the count of each goal of agents, and the report.
fn asked(runs: &[(bool, Script)]) -> (BTreeMap<String, u64>, String) {
    let file = Arc::new(SourceFile::new("asked.plan", ASKED));
    let world = |answer: Script| {
        let tools = ["desk.find", "desk.close", "mail.send"];
        let world = World::new().prompted([answer]);
        let usual = || [give(object!("x")), give(object!("x"))];
        tools
            .into_iter()
            .fold(world, |world, tool| world.tool(tool, usual()))
    };
    let tools: Tools = world(give(object!(0)))
        .into_catalog()
        .signatures()
        .cloned()
        .collect();
    let checked = sema::check_without_rules(&file, &tools, &SizeFile);
    let plan = checked.plans.last().unwrap();
    let mut seen = Seen::default();
    for (both, answer) in runs {
        let inputs = BTreeMap::from([(Arc::from("both"), Value::Bool(*both))]);
        let catalog = world(answer.clone()).into_catalog();
        watch(plan, &inputs, Vec::new(), catalog, &mut seen);
    }
    let goals = [Goals::of(&file, plan)];
    let coverage = Coverage::of(&goals, &seen);
    let of_agents = coverage.plans[0].goals();
    let of_agents = of_agents.filter(|(goal, _)| goal.kind == Kind::Verify);
    let name = |goal: &Goal| format!("{} {}", goal.name, goal.item.what.word());
    let counts = of_agents.map(|(goal, count)| (name(goal), count));
    (counts.collect(), text(&coverage))
}

#[test]
fn what_agents_say_that_the_policy_asks_are_goals_of_the_agent() {
    let verdict = |verified: Json| give(object!({ "verified": verified, "why": "seen" }));
    insta::assert_snapshot!("agents_never_asked", asked(&[]).1);
    for (answer, reached) in [
        (verdict(object!(true)), [1, 0, 0, 1]),
        (verdict(object!(false)), [0, 1, 0, 1]),
        (verdict(Json::Null), [0, 0, 1, 1]),
        (
            Script::Fail("transient.unavailable", Sent::No),
            [0, 0, 1, 1],
        ),
    ] {
        // The agent is asked once, whichever of its steps runs first.
        for both in [true, false] {
            let (counts, _) = asked(&[(both, answer.clone())]);
            let names = [
                "desk verified",
                "desk failed",
                "desk inconclusive",
                "mail inconclusive",
            ];
            let expected = names.map(str::to_owned).into_iter().zip(reached);
            assert_eq!(counts, expected.collect(), "{both}");
        }
    }
}

#[test]
fn who_does_not_watch_is_told_nothing() {
    struct UnwatchedObserver;
    impl driver::Observer for UnwatchedObserver {
        fn observe(&mut self, _: &planrun_core::journal::Event) {}
        fn reached(
            &mut self,
            _: &Plan,
            _: sema::BlockId,
            _: sema::NodeId,
            what: &planrun_core::run::Reached,
        ) {
            panic!("{what:?}");
        }
    }
    let shop = Shop::open();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let outcome = runtime.block_on(async {
        let host: Arc<dyn Host> = Arc::new(MemoryHost::new(7));
        let mut observer = UnwatchedObserver;
        let context = Context::new(
            host,
            Arc::new(world(&[]).into_catalog()),
            Setup::new("test-run"),
            &mut observer,
        );
        let inputs = BTreeMap::from([(Arc::from("total"), Value::Int(3))]);
        driver::run(
            &Arc::new(Program::new(shop.plan.plans[0].clone())),
            &inputs,
            context,
        )
        .await
    });
    assert_eq!(outcome.state.name(), "completed");
}
