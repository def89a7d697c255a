use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::*;
use crate::sema::{NoFiles, Tools, check_without_rules};
use crate::source::SourceFile;

const TOOLS: &str = "use t
tool t.list(n?: int) -> { id: int, state: string }[] read
tool t.get(id: int) -> string read
tool t.make(x: int) -> int effect
tool t.drop(x: int) -> int effect
tool t.send(to: string, body?: any) -> int irreversible
";

/// Returns tools that cannot be declared in a plan: one returns untrusted text, one has an inverse and a secret
/// argument.
fn tools() -> Tools {
    let mut tools = Tools::default();
    let mut mail = Signature::unknown("mail".into(), "read".into());
    mail.effect = Effect::Read;
    mail.open_world = true;
    tools.insert(Arc::new(mail));
    let mut open = Signature::unknown("door".into(), "open".into());
    open.extra_arguments = true;
    open.inverse = Some("door.close".into());
    open.sensitive = vec!["code".into()];
    tools.insert(Arc::new(open));
    tools
}

/// Returns the bounds of the last plan of a text.
fn found(text: &str, around: impl FnOnce(&mut Policy)) -> Bounds {
    let source = SourceFile::new("test.plan", format!("{TOOLS}{text}"));
    let checked = check_without_rules(&source, &tools(), &NoFiles);
    let errors: Vec<_> = checked
        .diagnostics
        .iter()
        .filter(|found| found.is_error())
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let mut policy = Policy::default();
    around(&mut policy);
    bounds(
        checked.plans.last().unwrap(),
        &BoundsContext {
            policy: &policy,
            limits: &Budget::default(),
            retry: &|_| None,
            statements: None,
        },
    )
}

fn of(text: &str) -> Bounds {
    found(text, |_| {})
}

#[track_caller]
fn assert_uses(text: &str, expected: &[&str]) {
    let found = of(text);
    let described: Vec<String> = found.uses.iter().map(Use::describe).collect();
    assert_eq!(described, expected);
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(serde_json::from_value::<Bounds>(json).unwrap(), found);
}

fn json(bounds: &Bounds, tool: &str) -> Json {
    let used = bounds.uses.iter().find(|used| &*used.tool == tool).unwrap();
    serde_json::to_value(used).unwrap()
}

#[test]
fn loops_multiply_what_stands_in_them() {
    assert_uses(
        "plan p(n: int) {
    step open = t.list()
    step closed = each one in open max 50 {
        step twice = each x in [1, 2, n] max 100 { step a = t.make(x: x) step b = t.drop(x: one.id) yield a }
        step rounds = repeat state = 1 max 4 { step c = t.get(id: state) yield c next null }
        yield twice
    }
}",
        &[
            "t.list at most 1 read",
            "t.make at most 150 effect",
            "t.drop at most 150 effect",
            "t.get at most 200 read",
        ],
    );
}

#[test]
fn a_list_is_as_long_as_what_it_is_made_from() {
    assert_uses(
        "plan p(all: int[]) {
    let few = [1, 2, 3].filter(x, x > 1) + [9]
    step made = each x in few max 100 { step a = t.make(x: x) yield a }
    step again = each x in made.map(m, m + 1) max 100 { step b = t.drop(x: x) yield b }
    step some = each x in all max 7 { step c = t.get(id: x) yield c }
    step more = each x in some max 100 { step d = t.send(to: x) yield d }
}",
        &[
            "t.make at most 3 effect",
            "t.drop at most 3 effect",
            "t.get at most 7 read",
            "t.send at most 7 irreversible",
        ],
    );
}

#[test]
fn what_has_no_bound_says_so_and_the_budget_bounds_it() {
    let text = |policy: &str| {
        format!(
            "plan p(n: int) {{ {policy} step open = t.list() step all = each x in open max n {{ step a = t.make(x: x.id) yield a }} }}"
        )
    };
    assert_uses(
        &text(""),
        &["t.list at most 1 read", "t.make without a bound effect"],
    );
    assert_uses(
        &text("policy { budget: { calls: 60 } }"),
        &["t.list at most 1 read", "t.make at most 60 effect"],
    );
}

#[test]
fn ways_that_exclude_each_other_count_with_the_larger() {
    assert_uses(
        "plan p(n: int) {
    if n > 1 {
        step a = t.make(x: 1)
        step b = t.make(x: 2)
        if n > 2 { step c = t.drop(x: 1) } else { step d = t.drop(x: 2) step e = t.drop(x: 3) }
    } else if n > 0 {
        step f = t.make(x: 3)
    } else {
        step g = t.drop(x: 4)
    }
    step h = match n { 1 => t.make(x: 5), 2 => do { step i = t.make(x: 6) step j = t.make(x: 7) yield j }, _ => t.drop(x: 8) }
    step k = t.make(x: 9) when n > 5
    step l = race { one: t.get(id: 1), two: t.get(id: 2) }
}",
        &[
            "t.make at most 5 effect",
            "t.drop at most 3 effect",
            "t.get at most 2 read",
        ],
    );
}

#[test]
fn arms_looks_and_undos_are_told_apart() {
    assert_uses(
        "plan p(n: int) {
    step all = each x in [1, 2] max 9 {
        step a = t.make(x: x)
            verify t.get(id: x) every 1s within 3s as v => v != \"\"
            recover tool => t.make(x: 0)
            recover auth => do { step r = t.drop(x: 0) step s = t.drop(x: 1) yield s }
            undo t.drop(x: a)
        yield a
    }
}",
        &[
            "t.make at most 2 effect",
            "t.make at most 2 effect, after a failure",
            "t.drop at most 4 effect, after a failure",
            "t.get at most 40 read, to verify",
            "t.drop at most 2 effect, to undo",
        ],
    );
}

#[test]
fn polls_count_each_time_and_retries_do_not() {
    let found = of("plan p(n: int) {
    step a = t.list() until size(a) > n every 2s within 10s
    step b = t.get(id: 1) until b != \"\" every 2s within duration(\"PT${n}S\")
    step c = t.make(x: 1) retry { attempts: 4 }
    step d = t.make(x: 2)
}");
    let counts: Vec<_> = found
        .uses
        .iter()
        .map(|used| (used.max, used.attempts))
        .collect();
    assert_eq!(counts, [(Some(6), 3), (None, 3), (Some(2), 4)]);
}

#[test]
fn listeners_count_with_their_firings() {
    assert_uses(
        "plan p(n: int) {
    listener once on signal \"a\" { step x = t.make(x: 1) }
    listener often on signal \"b\" -> int as e max 5 { step y = t.drop(x: e) }
    listener any on signal \"c\" max n { step z = t.get(id: 1) }
    step w = wait for signal \"d\" within 1h
}",
        &[
            "t.make at most 1 effect",
            "t.drop at most 5 effect",
            "t.get without a bound read",
        ],
    );
    let bounded = found(
        "plan p(n: int) { listener any on signal \"c\" max n { step z = t.get(id: 1) } step w = wait for signal \"d\" within 1h }",
        |policy| policy.max_firings = Some(20),
    );
    assert_eq!(bounded.uses[0].max, Some(20));
}

#[test]
fn plans_that_are_started_count_as_often_as_they_are_called() {
    let plans = "plan close(id: int, why: string = \"old\") -> int {
    policy { budget: { calls: 3 } }
    step all = each x in [1, 2, 3, 4, 5] max 9 { step a = t.make(x: id) yield a }
    step note = t.send(to: why)
    reply note
}
plan p(n: int, reason: string) {
    step some = each x in [7, 8] max 9 { step b = close(id: x, why: reason) yield b }
    step one = close(id: n)
        undo close(id: 1)
}";
    assert_uses(
        plans,
        &[
            "t.make at most 9 effect",
            "t.send at most 3 irreversible",
            "t.make at most 5 effect, to undo",
            "t.send at most 1 irreversible, to undo",
        ],
    );
    let found = of(plans);
    assert_eq!(
        json(&found, "t.send")["arguments"],
        json!([{"name": "to", "from": [{"input": "reason"}, {"constant": "old"}]}])
    );
    assert_eq!(
        json(&found, "t.make")["arguments"],
        json!([{"name": "x", "from": [{"constant": 7}, {"constant": 8}, {"input": "n"}]}])
    );
}

#[test]
fn an_argument_that_differs_between_calls_is_no_constant() {
    let found = of("plan p(n: int) {
    step one = t.make(x: 1)
    step all = each o, index in lists.range(3) max 3 { step a = t.make(x: index) }
    step sent = t.send(to: \"ops\", body: \"done\")
    listener l on plan is failed as e { step f = t.send(to: \"ops\", body: e.message) }
}");
    assert_eq!(
        json(&found, "t.make")["arguments"],
        json!([{"name": "x", "from": [{"constant": 1}], "computed": true}])
    );
    assert_eq!(
        json(&found, "t.send")["arguments"][1],
        json!({"name": "body", "from": [{"constant": "done"}, {"error": "p"}]})
    );
}

#[test]
fn arguments_say_where_they_come_from() {
    let found = of("use door
plan p(name: string, n: int) {
    step open = t.list(n: 3)
    step mine = each o in open.filter(o, o.state == name) max 5 { step a = t.make(x: o.id) yield a }
    step form = input \"Who?\" -> { to: string }
    step e = t.send(to: form.to, body: \"${name}: ${n}\")
    listener l on signal \"go\" -> int as s { step f = t.drop(x: s) }
    step g = t.drop(x: n + size(open)) recover tool as err => t.drop(x: size(err.message))
    step h = door.open(code: \"1234\", name: \"front\")
}");
    assert_eq!(
        json(&found, "t.make")["arguments"],
        json!([{"name": "x", "from": [{"result": "t.list"}, {"input": "name"}]}])
    );
    assert_eq!(
        json(&found, "t.send")["arguments"],
        json!([
            {"name": "to", "from": [{"answer": "form"}]},
            {"name": "body", "from": [{"input": "name"}, {"input": "n"}], "computed": true},
        ])
    );
    assert_eq!(
        json(&found, "t.drop")["arguments"],
        json!([{"name": "x", "from": [{"signal": "go"}, {"input": "n"}, {"result": "t.list"}], "computed": true}])
    );
    let recovers = found.uses.iter().find(|used| used.role == Role::Recover);
    let [argument] = recovers.unwrap().arguments.as_slice() else {
        panic!("one argument")
    };
    assert_eq!(argument.from, [Source::Error("g".into())]);
    assert_eq!(
        json(&found, "door.open")["arguments"],
        json!([{"name": "code", "from": ["hidden"]}, {"name": "name", "from": [{"constant": "front"}]}])
    );
}

#[test]
fn a_part_of_a_constant_is_not_the_constant() {
    let found = of("plan q(o: { a: int } = { a: 59 }) -> { id: int } {
    step made = t.make(x: o.a)
    step sent = t.send(to: \"x\", body: { o: o })
    reply { id: 5 }
}
plan p() {
    step done = q()
    step a = t.drop(x: done.id)
    step b = t.get(id: [1, a][0])
    step c = t.send(to: \"x\", body: [1, a].map(x, 2))
    step d = t.make(x: cel.bind(all, [3], [a].map(x, all)[0])[0])
    step e = t.send(to: \"x\", body: cel.bind(all, [4], [a].map(x, all)[0]))
}");
    let argument = |tool: &str, index: usize| {
        let argument = json(&found, tool)["arguments"][index].clone();
        (argument["from"].clone(), argument["computed"] == true)
    };
    let default = json!({"constant": {"a": 59}});
    assert_eq!(
        argument("t.make", 0),
        (json!([default, {"constant": 3}]), true)
    );
    let bodies = json!([default, {"constant": 2}, {"constant": [4]}]);
    assert_eq!(argument("t.send", 1), (bodies, true));
    assert_eq!(argument("t.drop", 0), (json!([{"constant": 5}]), false));
    let chosen = json!([{"constant": 1}, {"result": "t.drop"}]);
    assert_eq!(argument("t.get", 0), (chosen, false));
}

#[test]
fn the_state_of_a_loop_and_the_context_of_a_task_are_followed_round() {
    let found = of("plan p(n: int) {
    task seen \"Seen\" { id: int }
    step all = repeat page = n max 3 { step a = t.get(id: page) yield a next size(a) }
    step b = t.list()
    set seen done { id: size(b) }
    listener l on seen is done { step c = t.make(x: seen.id ?? 0) }
}");
    assert_eq!(
        json(&found, "t.get")["arguments"],
        json!([{"name": "id", "from": [{"input": "n"}, {"result": "t.get"}], "computed": true}])
    );
    let from = &json(&found, "t.make")["arguments"][0]["from"];
    assert!(
        from.as_array()
            .unwrap()
            .contains(&json!({"result": "t.list"})),
        "{from}"
    );
}

#[test]
fn texts_of_strangers_are_followed_into_what_changes_something() {
    let found = of("use mail
plan forward(text: string, n: int) -> string { step a = t.send(to: text, body: n) reply text }
plan p(me: string) {
    step m = mail.read()
    step b = t.get(id: size(string(m)))
    step c = t.make(x: size(string(m)))
    step d = forward(text: \"Re: ${m}\", n: size(string(m)))
    step e = t.send(to: me, body: { text: d })
}");
    let used = |tool| json(&found, tool)["arguments"].clone();
    assert_eq!(
        used("t.send"),
        json!([
            {"name": "to", "from": [{"result": "mail.read"}, {"input": "me"}], "computed": true, "strangers": ["mail.read"]},
            {"name": "body", "from": [{"result": "mail.read"}], "computed": true, "strangers": ["mail.read"]},
        ])
    );
    // A number is not a text, and a read changes nothing.
    assert_eq!(
        used("t.make"),
        json!([{"name": "x", "from": [{"result": "mail.read"}], "computed": true}])
    );
    assert_eq!(used("t.get")[0].get("strangers"), None);
}

#[test]
fn what_is_undone_and_what_stands_in_the_way() {
    let undo = |text: &str| {
        let found = of(&format!("use door\nplan p(n: int) {{ {text} }}"));
        found
            .uses
            .iter()
            .map(|used| used.undo.clone())
            .collect::<Vec<_>>()
    };
    let drop = || vec![Arc::from("t.drop")];
    assert_eq!(
        undo("step a = t.make(x: 1) undo t.drop(x: a)"),
        [Some(Undoing::With(drop())), None]
    );
    assert_eq!(undo("step a = t.make(x: 1)"), [Some(Undoing::Stays)]);
    assert_eq!(
        undo("step a = door.open(n: 1)"),
        [Some(Undoing::Inverse("door.close".into()))]
    );
    assert_eq!(
        undo("policy { on_failure: pause } step a = t.make(x: 1) undo t.drop(x: a)"),
        [Some(Undoing::Policy(OnFailure::Pause)), None]
    );
    assert_eq!(
        undo("step d = do { step a = t.make(x: 1) yield a } undo t.drop(x: d)"),
        [Some(Undoing::Whole(drop())), None]
    );
    assert_eq!(
        undo(
            "listener l on plan is failed { step a = t.make(x: 1) undo t.drop(x: a) } step b = t.get(id: n)"
        ),
        [Some(Undoing::AfterEnd), None, None]
    );
    // Of two calls of one tool the worse outcome is reported.
    assert_eq!(
        undo("step a = t.make(x: 1) undo t.drop(x: a) step b = t.make(x: 2)"),
        [Some(Undoing::Stays), None]
    );
    assert_eq!(undo("step a = t.get(id: 1)"), [None]);
}

#[test]
fn limits_are_those_of_the_plan_over_the_project() {
    let found = found(
        "plan p() { policy { deadline: 2m, budget: { calls: 5, time: 1m, memory: 1KiB } } step a = t.list() }",
        |policy| {
            policy.budget.calls = Some(9);
            policy.budget.tokens = Some(7);
            policy.max_steps = Some(40);
        },
    );
    assert_eq!(
        serde_json::to_value(&found.limits).unwrap(),
        json!({"calls": 5, "tokens": 7, "time_ms": 60_000, "memory": 1024, "steps": 40})
    );
}

#[test]
fn plans_that_call_each_other_twice_are_counted_once() {
    let mut text = "plan p0(a: int, b: int) -> int { step s = t.make(x: a) reply s }\n".to_owned();
    for index in 1..10 {
        let before = index - 1;
        let _ = writeln!(
            text,
            "plan p{index}(a: int, b: int) -> int {{ step x = p{before}(a: a, b: b) step y = p{before}(a: x, b: x) reply y }}"
        );
    }
    let found = of(&text);
    assert_eq!(found.uses[0].max, Some(512));
    assert_eq!(found.uses[0].arguments[0].from.len(), 2);
}

#[test]
fn numbers_saturate() {
    let loops = (0..3).fold("step a = t.make(x: 1)".to_owned(), |inner, index| {
        format!(
            "step s{index} = repeat v{index} = 1 max 9000000000 {{ {inner} yield 1 next null }}"
        )
    });
    assert_uses(
        &format!("plan p() {{ {loops} }}"),
        &["t.make at most 18446744073709551615 effect"],
    );
}
