//! Recovery from failures, on every kind of step, and failures that can never be recovered.

use serde_json::json;

use crate::support::{folder, planrun};
use crate::world::Script::Fail;
use crate::world::{World, give};
use planrun_lang::protocol::Sent::{Answered, Maybe, Refused};

const TOOLS: &str = "
use a, sys
tool a.good(x?: any) -> int read fails busy
tool a.bad(x?: any) -> int read fails busy
";

fn world() -> World {
    World::new()
        .tool("a.good", [give(json!(1))])
        .tool("a.bad", [Fail("tool.busy", Answered)])
}

#[tokio::test(start_paused = true)]
async fn r10_12_a_step_of_any_kind_may_recover() {
    let steps = [
        "a.bad()",
        "do { step b = a.bad() yield b }",
        "each v in [1, 2] max 2 { step b = a.bad(x: v) yield b }",
        "repeat v = 1 max 2 { step b = a.bad(x: v) yield b next null }",
        "race { one: a.bad(x: 1), two: a.bad(x: 2) }",
        "match n { 1 => a.bad(), _ => a.good() }",
    ];
    for step in steps {
        let text = format!(
            "{TOOLS}
plan p(n: int = 1) -> any {{ step x = {step} recover tool.busy as e => \"caught ${{e.class}}\" reply x }}"
        );
        let ran = world().run(&text).await;
        assert_eq!(ran.reply(), json!("caught tool.busy"), "{step}");
    }
}

/// Returns the codes found in plans with these statements, without those about unused names.
fn found(statements: &[&str]) -> Vec<Vec<String>> {
    let plan = |statement: &str| {
        format!("{TOOLS}\nplan p(n: int, t: timestamp) -> any {{\n{statement}\n}}\n")
    };
    let files = statements
        .iter()
        .enumerate()
        .map(|(index, text)| (format!("{index}.plan"), plan(text)));
    let folder = folder(files.collect::<Vec<_>>());
    let output = planrun(["check", "--format", "json"])
        .within(folder.path())
        .run()
        .json();
    let all = output["diagnostics"].as_array().unwrap();
    let of = |index: usize| {
        let file = format!("{index}.plan");
        let own = all.iter().filter(|one| one["file"] == file.as_str());
        let codes = own.map(|one| one["code"].as_str().unwrap().to_owned());
        codes.filter(|code| !code.starts_with("unused-")).collect()
    };
    (0..statements.len()).map(of).collect()
}

#[test]
fn b11_an_arm_for_what_cannot_occur_is_told_on_every_kind_of_step() {
    let never = [
        "step x = input \"q\" -> { a: int } recover tool.busy => { a: 1 }\nreply x",
        "step x = input \"q\" -> { a: int } recover transient.timeout => { a: 1 }\nreply x",
        "step x = wait 5m recover transient => null\nreply x",
        "step x = wait until t recover denied.human => null\nreply x",
        "step x = wait for signal \"go\" -> int within 1h recover tool.busy => 1\nreply x",
        "step x = a.bad() recover denied.human => 1\nreply x",
        "step x = a.bad() recover unknown_outcome => 1\nreply x",
        "step x = a.bad() recover budget.calls => 1\nreply x",
        "step x = a.bad() recover validation.ensure => 1\nreply x",
        "step x = a.bad() recover tool.gone => 1\nreply x",
        "step x = do { step b = a.bad() yield b } recover validation.ensure => 1\nreply x",
        "step x = each v in [1] max 1 { step b = a.bad(x: v) recover tool => 1 yield b } recover tool.busy => []\nreply x",
        "step x = race { one: a.bad(), two: a.good() } recover tool.gone => 1\nreply x",
    ];
    for (text, codes) in never.iter().zip(found(&never)) {
        assert_eq!(codes, ["unreachable-recover"], "{text}");
    }
    let may = [
        "step x = input \"q\" -> { a: int } recover denied.human => { a: 1 }\nreply x",
        "step x = wait 5m recover _ => null\nreply x",
        "step x = a.bad() recover tool.busy, transient => 1\nreply x",
        "step x = a.bad() confirm \"ok?\" recover denied.human => 1\nreply x",
        "step x = a.bad() until x > 3 every 1s within 5s recover validation.until => 1\nreply x",
        "step x = do { step b = a.bad() yield b } recover tool.busy => 1\nreply x",
        "step x = do { step b = a.bad() yield b } within 5s recover transient.timeout => 1\nreply x",
        "step x = do { ensure n > 1 else \"m\" yield n } recover validation.ensure => 1\nreply x",
        "step x = do { fail tool.mine \"m\" when n > 1 yield n } recover tool.mine => 1\nreply x",
    ];
    for (text, codes) in may.iter().zip(found(&may)) {
        assert!(codes.is_empty(), "{text}\n{codes:?}");
    }
}

#[test]
fn b10_a_default_that_is_no_choice_of_its_field_is_told() {
    let texts = [
        "step x = input \"q\" -> { a: string in [\"u\"] = \"zz\" }\nreply x",
        "let all = [\"u\", \"v\"]\nlet first = \"zz\"\nstep x = input \"q\" -> { a: string in all = first }\nreply x",
        "step x = input \"q\" -> { a: string in [\"u\", \"zz\"] = \"zz\" }\nreply x",
    ];
    assert_eq!(
        found(&texts),
        [
            vec!["default-type".to_owned()],
            vec!["default-type".to_owned()],
            Vec::new()
        ]
    );
}

#[test]
fn b13_models_are_asked_in_branches_and_a_method_that_only_reads_may_race() {
    let texts = [
        "step x = race { a: a.good(), b: infer(\"how many?\") -> int }\nreply x",
        "step x = match n { 1 => infer(\"how many?\", model: \"m\") -> int, _ => a.good() }\nreply x",
        "step x = a.bad() recover tool => infer(\"how many?\") -> int\nreply x",
    ];
    let none: [Vec<String>; 3] = Default::default();
    assert_eq!(found(&texts), none);
    let ask = found(&["step x = race { a: a.good(), b: ask a(\"how many?\") -> int }\nreply x"]);
    assert_eq!(ask, [Vec::<String>::new()], "its tools only read");
    let text = "use a, desk\ntool a.good() -> int read\ntool desk.clear() -> int effect\n\
        plan p() -> int {\n    step x = race { a: a.good(), b: ask desk(\"how many?\") -> int }\n    reply x\n}\n";
    let folder = folder([("p.plan", text)]);
    let output = planrun(["check", "p.plan"]).within(folder.path()).run();
    assert!(
        output.stdout.contains("race-with-effect"),
        "{}",
        output.stdout
    );
}

#[test]
fn b13_the_class_of_a_fetch_is_that_of_the_methods_it_may_have() {
    let plan = |methods: &str| {
        format!(
            "use http
plan p(g: {methods}, u: string) -> any {{
    step x = race {{ a: http.fetch(url: u, method: g), b: http.fetch(url: u) }}
    reply x
}}
"
        )
    };
    let folder = folder([
        ("reads.plan", plan("\"GET\" | \"HEAD\"")),
        ("acts.plan", plan("\"GET\" | \"POST\"")),
    ]);
    let output = planrun(["check", "--format", "json"])
        .within(folder.path())
        .run()
        .json();
    let all = output["diagnostics"].as_array().unwrap();
    let racing = all.iter().filter(|one| one["code"] == "race-with-effect");
    assert_eq!(
        racing
            .map(|one| one["file"].as_str().unwrap())
            .collect::<Vec<_>>(),
        ["acts.plan"]
    );
}

#[tokio::test(start_paused = true)]
async fn r3_5_an_arm_whose_answer_is_lost_does_not_put_its_step_in_doubt() {
    let text = "
use a
tool a.pay() -> int effect fails busy
tool a.mail() -> int effect
tool a.refund() -> int effect
plan p() {
    step paid = a.pay() recover tool.busy => do {
        step sorry = a.mail()
        fail tool.busy \"no\"
    } undo a.refund()
}
";
    let ran = World::new()
        .tool("a.pay", [Fail("tool.busy", Refused)])
        .tool("a.mail", [Fail("transient.timeout", Maybe)])
        .tool("a.refund", [give(json!(1))])
        .run(text)
        .await;
    assert_eq!(ran.class(), "unknown_outcome");
    assert_eq!(ran.status("paid"), "failed");
    assert_eq!(ran.status("paid.recover.sorry"), "unknown");
    assert!(ran.calls("a.refund").is_empty(), "nothing was paid");
}
