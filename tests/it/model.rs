//! The checked plan: tasks, listeners, gates and prompts appear in it as written, and contexts have types.

use std::sync::Arc;

use planrun_lang::permission::Permissions;
use planrun_lang::sema::{
    BlockId, Call, Event, EventKind, Listener, NoFiles, Node, NodeKind, Plan, PlanTest, Set,
    Status, Step, StepKind, Target, TaskTest, Wait, check_without_rules,
};
use planrun_lang::source::SourceFile;
use planrun_lang::types::{CallKind, Effect};
use planrun_tools::host::{Host, MemoryHost};
use planrun_tools::tools::Catalog;

const TOOLS: &str = "
tool db.read(key?: string) -> string read
tool db.find(key?: string) -> string? read
tool db.write(key?: string, value?: string) -> { id: string } effect
tool db.put(value: string) -> string effect
";

/// Returns the plan with these statements, and the code and text of each error in it.
fn check(statements: &str) -> (Arc<Plan>, Vec<(&'static str, String)>) {
    let host: Arc<dyn Host> = Arc::new(MemoryHost::new(1));
    let tools = Catalog::new(host, "/".into(), &Arc::new(Permissions::none()))
        .signatures()
        .cloned()
        .collect();
    let text =
        format!("use db\n{TOOLS}\nplan p(name: string, note?: string) {{\n{statements}\n}}\n");
    let source = SourceFile::new("test.plan", &*text);
    let checked = check_without_rules(&source, &tools, &NoFiles);
    let errors = checked.diagnostics.iter().filter(|found| found.is_error());
    let errors = errors
        .map(|found| (found.code.name, source.slice(found.span).to_owned()))
        .collect();
    (checked.plans[0].clone(), errors)
}

fn plan(statements: &str) -> Arc<Plan> {
    let (plan, errors) = check(statements);
    assert!(errors.is_empty(), "{errors:?}\n{statements}");
    plan
}

fn errors(statements: &str) -> Vec<(&'static str, String)> {
    check(statements).1
}

fn node<'a>(plan: &'a Plan, name: &str) -> &'a Node {
    plan.body()
        .nodes
        .iter()
        .find(|node| node.name.as_deref() == Some(name))
        .unwrap()
}

fn step<'a>(plan: &'a Plan, name: &str) -> &'a Step {
    node(plan, name).step().unwrap()
}

fn listener<'a>(plan: &'a Plan, name: &str) -> &'a Listener {
    match &node(plan, name).kind {
        NodeKind::Listener(listener) => listener,
        other => panic!("{other:?}"),
    }
}

fn sets(plan: &Plan) -> Vec<&Set> {
    let nodes = plan.blocks.iter().flat_map(|block| &block.nodes);
    nodes
        .filter_map(|node| {
            if let NodeKind::Set(set) = &node.kind {
                Some(&**set)
            } else {
                None
            }
        })
        .collect()
}

/// Formats an event.
fn describe(plan: &Plan, event: &Event) -> String {
    let all = |parts: &[Event], word: &str| {
        let parts = parts
            .iter()
            .map(|part| describe(plan, part))
            .collect::<Vec<_>>();
        format!("({})", parts.join(word))
    };
    match &event.kind {
        EventKind::Step { place, name, test } => {
            format!("{name}@{}.{} {test:?}", place.up, place.slot)
        }
        EventKind::Task { task, test } => match test {
            TaskTest::Is(status) => format!(
                "{} is {}",
                plan.task(*task).name,
                plan.task(*task).status_name(*status)
            ),
            TaskTest::Any | TaskTest::Settled => format!("{} {test:?}", plan.task(*task).name),
        },
        EventKind::Plan(test) => format!("plan {test:?}"),
        EventKind::Signal(name) => format!("signal {name}"),
        EventKind::Not(inner) => format!("!{}", describe(plan, inner)),
        EventKind::All(parts) => all(parts, " && "),
        EventKind::Any(parts) => all(parts, " || "),
        EventKind::Damaged => "?".to_owned(),
    }
}

#[test]
fn tasks_and_sets_are_in_the_plan() {
    let plan = plan(
        "task a \"A\" { id: string }
         task b \"B\" statuses [open, shut] external
         step w = db.write()
         set a done { id: w.id } when w.id != \"\" after w
         set b shut
         reply name",
    );
    assert_eq!(
        plan.tasks
            .iter()
            .map(|task| &*task.name)
            .collect::<Vec<_>>(),
        ["a", "b"]
    );
    assert_eq!(
        plan.tasks[0]
            .statuses
            .iter()
            .map(|s| &**s)
            .collect::<Vec<_>>(),
        ["pending", "running", "done", "failed"]
    );
    assert_eq!(
        (
            &*plan.tasks[0].title,
            plan.tasks[0].external,
            plan.tasks[1].external
        ),
        ("A", false, true)
    );
    assert!(plan.tasks[0].ends(Status(2)) && !plan.tasks[0].ends(Status(1)));
    assert!(
        plan.tasks[1].ends(Status(1)) && !plan.tasks[1].ends(Status(0)),
        "the last where no word says more"
    );
    let nodes = plan
        .body()
        .nodes
        .iter()
        .filter(|node| matches!(node.kind, NodeKind::Set(_)))
        .collect::<Vec<_>>();
    assert_eq!(
        (
            nodes[0].guard.len(),
            nodes[0].after.len(),
            nodes[1].guard.len()
        ),
        (1, 1, 0)
    );
    let sets = sets(&plan);
    assert_eq!(
        (sets[0].status, sets[0].context.is_some()),
        (Status(2), true)
    );
    assert_eq!(
        (sets[1].status, sets[1].context.is_some()),
        (Status(1), false)
    );
}

#[test]
fn events_are_trees() {
    let plan = plan(
        "task t \"T\"
         step w = db.write()
         listener l on (w is failed || !(t is done)) && (plan is failed || signal \"go\" || t || t is settled || w) max 3 {
             step r = db.write(value: name)
         }
         set t done
         reply name",
    );
    let slot = node(&plan, "w").slot.unwrap();
    assert_eq!(
        describe(&plan, &listener(&plan, "l").on),
        format!(
            "((w@0.{slot} Some(State(Failed)) || !t is done) && \
             (plan Failed || signal go || t Any || t Settled || w@0.{slot} None))"
        )
    );
    assert!(listener(&plan, "l").max.is_some());
    assert_eq!(plan.does.effect, Effect::Effect);
    assert_eq!(PlanTest::find("stalled"), Some(PlanTest::Stalled));
}

#[test]
fn gates_and_ways_back_are_calls_and_texts() {
    let plan = plan(
        "step w = db.write(value: name)
             confirm \"Really?\" by \"boss\" expires 2d
             verify db.find(key: name) every 1s within 1m as found => found != null gives { id: found ?? \"\" }
             undo db.write(key: w.id)
         step c = db.read() cache 5m
         reply c + w.id",
    );
    let clauses = step(&plan, "w").clauses.as_ref().unwrap();
    let confirm = clauses.confirm.as_ref().unwrap();
    assert!(confirm.by.is_some() && confirm.expires.is_some());
    let verify = clauses.verify.as_ref().unwrap();
    let inside = |block: BlockId| plan.block(block).nodes[0].step().unwrap();
    let called = |step: &Step| match &step.kind {
        StepKind::Call(Call {
            target: Target::Tool(signature),
            ..
        }) => signature.path(),
        _ => panic!("no call of a tool"),
    };
    let check_step = inside(verify.body);
    assert_eq!(
        (
            called(check_step),
            plan.block(verify.body).slots,
            plan.block(verify.body).nodes.len()
        ),
        ("db.find".into(), 1, 2)
    );
    assert!(check_step.until().is_some() && check_step.within().is_some() && verify.gives);
    assert_eq!(
        called(inside(clauses.undo.as_ref().unwrap().body)),
        "db.write"
    );
    assert!(step(&plan, "c").clauses.as_ref().unwrap().cache.is_some());
}

#[test]
fn people_models_and_time_are_kinds_of_steps() {
    let plan = plan(
        "step i = input \"Which?\" -> { a: string = \"x\", b: string in [\"y\", \"z\"] } by \"boss\" within 1d
         step g = ask db(\"Do ${i.a}\", with: { b: i.b }) -> string
         step f = infer(\"Say\", model: \"small\") -> int
         step d = wait 5m
         step u = wait until timestamp(\"2030-01-01T00:00:00Z\")
         step s = wait for signal \"go\" -> { n: int }
         reply g + string(f + s.n)",
    );
    let StepKind::Input(input) = &step(&plan, "i").kind else {
        panic!()
    };
    assert!(input.fields[0].prefill.is_some() && input.fields[1].options.is_some());
    let prompted = ["g", "f"].map(|name| {
        let step = step(&plan, name);
        let StepKind::Call(call) = &step.kind else {
            panic!()
        };
        let Target::Tool(signature) = &call.target else {
            panic!()
        };
        let given: Vec<&str> = call.arguments.iter().map(|(name, _)| &**name).collect();
        (signature.written(), signature.kind, given, step.effect)
    });
    assert_eq!(
        prompted,
        [
            (
                "ask db".to_owned(),
                CallKind::Agent,
                vec!["prompt", "with"],
                Effect::Effect
            ),
            (
                "infer".to_owned(),
                CallKind::Model,
                vec!["prompt", "model"],
                Effect::Read
            ),
        ]
    );
    let waits = ["d", "u", "s"].map(|name| match &step(&plan, name).kind {
        StepKind::Wait(wait) => match &**wait {
            Wait::For(_) => "for",
            Wait::Until(_) => "until",
            Wait::Event { payload, .. } if payload.is_some() => "signal",
            Wait::Event { .. } => "event",
        },
        other => panic!("{other:?}"),
    });
    assert_eq!(waits, ["for", "until", "signal"]);
}

/// Returns the errors of a plan with a listener on `t` that reads a field of its context as a string.
fn reads(on: &str, sets: &str) -> Vec<(&'static str, String)> {
    errors(&format!(
        "task t \"T\" {{ id: string, extra: string }}
         step w = db.write()
         step n = db.find()
         listener l on {on} {{ step r = db.put(value: t.id) }}
         {sets}
         reply w.id + (n ?? \"\")"
    ))
}

#[test]
fn r10_11_a_field_that_every_set_gives_is_there() {
    let given = "set t done { id: w.id } when name != \"\"";
    let absent = vec![("maybe-absent", "t.id".to_owned())];
    assert_eq!(reads("t is done", given), []);
    assert_eq!(
        reads("t is done", &format!("{given}\nset t done {{ id: name }}")),
        []
    );
    assert_eq!(
        reads("t is done", &format!("{given}\nset t failed")),
        [],
        "the other one does not lead there"
    );
    assert_eq!(
        reads(
            "t is done || t is failed",
            &format!("{given}\nset t failed")
        ),
        absent
    );
    assert_eq!(
        reads(
            "t is done",
            &format!("{given}\nset t done {{ extra: name }}")
        ),
        absent
    );
    assert_eq!(
        reads("t is done", &format!("{given}\nset t done {{ id: n }}")),
        absent,
        "`n` may be null"
    );
    assert_eq!(
        reads(
            "t is done",
            &format!("{given}\nset t done {{ id: n ?? \"\" }}")
        ),
        []
    );
    assert_eq!(
        reads("t", given),
        absent,
        "the start of the run is an event too"
    );
    assert_eq!(reads("!(t is pending)", given), []);
    assert_eq!(reads("t is settled", given), []);
    assert_eq!(reads("w is completed", given), absent);
    assert_eq!(reads("t is done && w is completed", given), []);
}

#[test]
fn r10_11_what_is_moved_from_outside_has_no_context() {
    let listens = |external: &str| {
        errors(&format!(
            "task t \"T\" {{ id: string }} {external}
             listener l on t is done {{ step r = db.put(value: t.id) }}
             set t done {{ id: name }}
             reply name"
        ))
    };
    assert_eq!(listens(""), []);
    assert_eq!(listens("external"), [("maybe-absent", "t.id".to_owned())]);
}

#[test]
fn r10_11_holds_for_what_as_names_and_along_chains_of_tasks() {
    let chain = |id: &str| {
        errors(&format!(
            "task a \"A\" {{ id: string }}
             task b \"B\" {{ id: string }}
             task c \"C\" {{ id: string }}
             step n = db.find()
             listener l on a is done as e {{ set b done {{ id: e.id }} }}
             listener m on b is done {{ set c done {{ id: b.id }} }}
             listener o on c is done as e {{ step r = db.put(value: e.id) }}
             set a done {{ id: {id} }}
             reply n"
        ))
    };
    assert_eq!(chain("n ?? \"\""), []);
    assert_eq!(chain("n"), [("maybe-absent", "e.id".to_owned())]);
}

#[test]
fn r10_11_a_condition_over_the_context_narrows_it() {
    let guarded = |when: &str| {
        errors(&format!(
            "task t \"T\" {{ id: string }}
             listener l on t {when} {{ step r = db.put(value: t.id) }}
             set t done {{ id: name }}
             reply name"
        ))
    };
    assert_eq!(guarded("when t.id != null"), []);
    assert_eq!(
        guarded("when name != \"\""),
        [("maybe-absent", "t.id".to_owned())]
    );
}

#[test]
fn below_a_set_its_fields_are_there() {
    let read = |sets: &str| {
        errors(&format!(
            "task t \"T\" {{ id: string }}\n step n = db.find()\n{sets}\n step w = db.put(value: t.id)\n reply n"
        ))
    };
    let absent = vec![("maybe-absent", "t.id".to_owned())];
    assert_eq!(read(""), absent);
    assert_eq!(read("set t done { id: name }"), []);
    assert_eq!(read("set t done { id: name } when name != \"\""), absent);
    assert_eq!(read("if name != \"\" { set t done { id: name } }"), absent);
    assert_eq!(read("set t done { id: n }"), absent);
    assert_eq!(read("set t running { id: name }\n set t done"), []);
    assert_eq!(
        read("set t running { id: name }\n set t done { id: n }"),
        absent
    );
}

#[test]
fn a_large_plan_stays_small() {
    assert!(size_of::<Step>() <= 256, "{}", size_of::<Step>());
    assert!(size_of::<Node>() <= 336, "{}", size_of::<Node>());
}
