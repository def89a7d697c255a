//! The graph: which statement waits for which and why, that it stays linear, and its drawings.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use planrun::engine::{self, Context, Program, Silence};
use planrun::graph::Vertex::{Barriers, Decisions, Everything};
use planrun::graph::{self, BlockGraph, Vertex, draw};
use planrun::host::{Host, MemoryHost};
use planrun::protocol::RunState;
use planrun::sema::{Block, Files, NodeKind, Plan, check_file};
use planrun::source::SourceFile;
use planrun::tools::{Catalog, Permissions};

/// Tools of every class on one system, `db`, and on the parts of another, `repo`.
const TOOLS: &str = "
tool db.read(key?: string) -> string read
tool db.write(key?: string, value?: string) -> string effect
tool mail.send(text?: string) -> string effect
";

struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _from: &str, path: &str) -> Result<SourceFile, String> {
        Err(format!("`{path}` does not exist"))
    }
}

fn catalog() -> Arc<Catalog> {
    let host: Arc<dyn Host> = Arc::new(MemoryHost::new(1));
    Arc::new(Catalog::new(host, "/".into(), &Arc::new(Permissions::none())))
}

/// The checked plan of a file without errors.
fn checked(text: &str) -> Arc<Plan> {
    let tools = catalog().signatures().cloned().collect();
    let checked = check_file(&SourceFile::new("test.plan", text), &tools, &NoFiles);
    let errors = checked.diagnostics.iter().filter(|found| found.is_error()).collect::<Vec<_>>();
    assert!(errors.is_empty(), "{errors:#?}");
    checked.plans[0].clone()
}

/// A plan with these statements over [`TOOLS`].
fn plan(statements: &str) -> Arc<Plan> {
    checked(&format!("use db, mail, sys\n{TOOLS}\nplan p(flag: bool = true) {{\n{statements}\n}}\n"))
}

/// What a vertex is called here.
fn name(block: &Block, index: usize) -> String {
    let Some(node) = block.nodes.get(index) else { return format!("join{}", index - block.nodes.len()) };
    match (&node.name, &node.kind) {
        (Some(name), _) => name.to_string(),
        (None, NodeKind::Condition(_)) => "condition".to_owned(),
        (None, NodeKind::Ensure { .. }) => "ensure".to_owned(),
        (None, NodeKind::Reply(_)) => "reply".to_owned(),
        (None, _) => format!("#{index}"),
    }
}

/// The edges of a plan's own statements, such as `a -data-> b`, in the order in which they were made.
fn edges(plan: &Plan) -> Vec<String> {
    let graph = graph::build(plan);
    let block = plan.body();
    let edges = graph.blocks[0].dag.raw_edges().iter();
    let name = |index: usize| name(block, index);
    edges
        .map(|edge| {
            format!("{} -{}-> {}", name(edge.source().index()), edge.weight.name(), name(edge.target().index()))
        })
        .collect()
}

#[test]
fn data_state_guard_and_after_are_edges() {
    let plan = plan(
        "step a = sys.echo(value: 1)
         let b = json(a)
         step c = sys.echo(value: b) after a
         step d = sys.nothing() when c is completed
         step e = sys.echo(value: flag)
         reply b",
    );
    let expected = [
        "a -data-> b",
        "b -data-> c",
        "a -after-> c",
        "c -state-> condition",
        "condition -guard-> d",
        "b -data-> reply",
    ];
    assert_eq!(edges(&plan), expected);
}

#[test]
fn r1_7_readers_of_a_name_wait_for_every_branch_that_gives_it_and_drawings_tell_them_apart() {
    let plan = plan(
        "if flag {
             step x = sys.echo(value: 1)
             step own = sys.echo(value: x)
         } else {
             step x = sys.nothing()
         }
         step y = sys.echo(value: x) after x
         listener l on x is completed { step told = sys.nothing() }
         reply own",
    );
    let expected = [
        "condition -guard-> x",
        "x -data-> own",
        "condition -guard-> own",
        "condition -guard-> x",
        "x -data-> y",
        "x -data-> y",
        "x -after-> y",
        "x -after-> y",
        "x -listener-> l",
        "x -listener-> l",
        "own -data-> reply",
    ];
    assert_eq!(edges(&plan), expected);
    let drawing = graph::drawing(&plan, &graph::build(&plan));
    let mut ids = drawing.nodes.iter().map(|node| node.id.as_str()).collect::<Vec<_>>();
    assert!(ids.contains(&"x") && ids.contains(&"x#2"), "{ids:?}");
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
    let into_own = drawing.edges.iter().filter(|edge| edge.to == "own").map(|edge| &*edge.from).collect::<Vec<_>>();
    assert_eq!(into_own, ["x"], "the other branch gives it nothing");
}

#[test]
fn a_block_waits_for_what_its_statements_read() {
    let plan = plan(
        "step a = sys.echo(value: [1, 2])
         step b = sys.nothing()
         step c = each x in [1] max 1 {
             step inner = sys.echo(value: a) after b
             step deeper = do { step deepest = sys.echo(value: [a, x]) yield deepest }
             yield deeper
         }
         reply c",
    );
    assert_eq!(edges(&plan), ["a -data-> c", "c -data-> reply"]);
}

/// What each node of a plan's own statements waits for beside its edges.
fn vertices(plan: &Plan) -> Vec<Vertex> {
    let graph = graph::build(plan);
    (0..plan.body().nodes.len()).map(|node| graph.blocks[0].vertex(u32::try_from(node).unwrap())).collect()
}

#[test]
fn reads_wait_for_barriers_and_effects_for_everything_without_edges() {
    let plan = plan(
        "step r0 = db.read()
         step w1 = db.write()
         step r1 = db.read()
         step other = mail.send()
         step w3 = db.write(value: w1)
         step now = sys.now()
         step nothing = sys.nothing()
         reply null",
    );
    assert_eq!(edges(&plan), ["w1 -data-> w3"]);
    let expected = [
        Barriers(0),
        Everything(1),
        Barriers(2),
        Everything(3),
        Everything(4),
        Everything(5),
        Decisions,
        Everything(7),
    ];
    assert_eq!(vertices(&plan), expected);
    let barriers = graph::build(&plan).blocks[0].barriers.clone();
    assert_eq!(barriers, [false, true, false, true, true, false, false, false]);
}

#[test]
fn a_parallel_has_one_place_and_an_if_in_it_is_joined() {
    let plan = plan(
        "step r = db.read()
         parallel {
             step a = db.write()
             if flag { step b = db.write() step c = db.read() step d = mail.send() step e = mail.send() }
             step f = mail.send() after a
         }
         step s = db.read()
         reply null",
    );
    let expected = [
        Barriers(0),
        Everything(1),
        Decisions,
        Everything(1),
        Everything(1),
        Everything(1),
        Everything(1),
        Decisions,
        Barriers(8),
        Everything(9),
    ];
    assert_eq!(vertices(&plan), expected);
    let edges = edges(&plan);
    let place = edges.iter().filter(|edge| edge.contains("-place->")).map(String::as_str).collect::<Vec<_>>();
    let expected = [
        "b -place-> c",
        "b -place-> join0",
        "c -place-> join0",
        "join0 -place-> d",
        "join0 -place-> join1",
        "d -place-> join1",
        "b -place-> join2",
        "d -place-> join2",
        "join1 -place-> e",
        "join1 -place-> join3",
        "e -place-> join3",
        "join2 -place-> join4",
        "e -place-> join4",
    ];
    assert_eq!(place, expected);
}

#[test]
fn ends_and_effects_wait_for_what_stands_above() {
    let plan = plan(
        "step a = db.read()
         ensure flag else \"no\"
         step w = db.write()
         reply a",
    );
    assert_eq!(vertices(&plan), [Barriers(0), Decisions, Everything(2), Everything(3)]);
}

fn edges_per_vertex(block: &BlockGraph) -> f64 {
    let count = |count: usize| f64::from(u32::try_from(count).unwrap());
    count(block.dag.edge_count()) / count(block.dag.node_count())
}

#[test]
fn the_number_of_edges_stays_linear() {
    let lines = |count: u32, line: &dyn Fn(u32) -> String| (0..count).map(line).collect::<Vec<_>>().join("\n");
    let writes = |from: u32| lines(500, &|n| format!("step w{} = db.write()", from + n));
    let reads = |from: u32| lines(500, &|n| format!("step r{} = db.read()", from + n));
    let adversarial = [
        // Many effects in no order, and then many that wait for all of them.
        format!("parallel {{ {} }}\n{}", writes(0), reads(0)),
        // Effects and reads in turns, so that each wave waits for the wave above.
        format!("{}\nparallel {{ {} }}\n{}\nparallel {{ {} }}", reads(0), writes(0), reads(500), writes(500)),
        format!("parallel {{ if flag {{ {} {} {} {} }} }}", reads(0), writes(0), reads(500), writes(500)),
        lines(1000, &|n| format!("parallel {{ if flag {{ step w{n} = db.write() step r{n} = db.read() }} }}")),
        lines(1000, &|n| format!("step r{n} = db.read()\nstep w{n} = db.write()")),
        // Many that wait for everything or for every decision.
        lines(1000, &|n| format!("ensure flag else \"no\"\nstep w{n} = db.write()\nfail tool \"no\" when !flag")),
        lines(1000, &|n| format!("reply {n} when !flag\nstep r{n} = db.read()")),
    ];
    for statements in adversarial {
        let plan = plan(&format!("{statements}\nreply null"));
        let graph = graph::build(&plan);
        let ratio = edges_per_vertex(&graph.blocks[0]);
        assert!(ratio <= 2.5, "{ratio} edges a vertex in\n{}…", &statements[..200]);
        assert!(graph.blocks[0].dag.node_count() <= 3 * plan.body().nodes.len());
    }
}

/// Checks, orders and runs a plan, and lets go of everything.
fn run(text: &str) -> RunState {
    let plan = checked(text);
    let program = Arc::new(Program::new(plan));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut nobody = Silence;
    let context =
        Context { root: "/".into(), ..Context::new(Arc::new(MemoryHost::new(1)), catalog(), "test", &mut nobody) };
    runtime.block_on(engine::run(&program, &BTreeMap::new(), context)).state
}

/// A thread with the stack that threads usually have: whatever recursed over the plan would overflow it.
fn on_a_usual_stack<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(body).unwrap().join().unwrap()
}

#[test]
fn a_chain_of_100_000_steps_runs_and_is_freed() {
    let state = on_a_usual_stack(|| {
        let mut text = "use sys\nplan p() {\npolicy { max_steps: 100000 }\nstep s0 = sys.nothing()\n".to_owned();
        for step in 1..100_000 {
            writeln!(text, "step s{step} = sys.nothing() after s{}", step - 1).unwrap();
        }
        run(&(text + "reply 1\n}\n"))
    });
    assert_eq!(state, RunState::Completed);
}

#[test]
fn a_chain_of_10_000_values_and_a_failure_at_its_head_settle() {
    let text = |first: &str| {
        let mut text = format!("use sys\nplan p() {{\nstep s0 = {first}\n");
        for step in 1..10_000 {
            writeln!(text, "step s{step} = sys.echo(value: s{})", step - 1).unwrap();
        }
        text + "reply s9999\n}\n"
    };
    assert_eq!(on_a_usual_stack(move || run(&text("sys.echo(value: 1)"))), RunState::Completed);
    assert_eq!(on_a_usual_stack(move || run(&text("sys.fail(class: \"internal\")"))), RunState::Failed);
}

/// Two plans that people could have written.
fn drawn() -> [(&'static str, Arc<Plan>); 2] {
    let orders = "
    step stock = db.read(key: \"stock\")
    let wanted = size(stock)
    ensure wanted > 0 else \"nothing is left\"
    step 订单 = db.write(key: \"order\", value: stock)
    step told = mail.send(text: \"order ${订单}\") when flag
    step checked = db.read(key: \"order\") after told
    reply { order: 订单, checked: checked }";
    let blocks = "
    step mails = each name in [\"a\", \"b\"] max 2 parallel 2 {
        step sent = mail.send(text: name)
        yield sent
    }
    step fastest = race { left: db.read(key: \"l\"), right: db.read(key: \"r\") }
    step chosen = match fastest { \"x\" => mail.send(text: fastest), _ => \"none\" }
        recover transient as e => do {
            step again = mail.send(text: e.message)
            yield again
        }
    reply [chosen, json(mails)]";
    [("orders", plan(orders)), ("blocks", plan(blocks))]
}

#[test]
fn drawings_in_every_form() {
    for (name, plan) in drawn() {
        let drawing = graph::drawing(&plan, &graph::build(&plan));
        insta::assert_snapshot!(format!("{name}.dot"), draw::dot(&drawing));
        insta::assert_snapshot!(format!("{name}.mermaid"), draw::mermaid(&drawing));
        insta::assert_snapshot!(format!("{name}.json"), draw::json(&drawing));
        let svg = draw::svg(&drawing).unwrap();
        well_formed(&svg);
        for node in &drawing.nodes {
            let label = node.label.lines().next().unwrap();
            assert!(svg.contains(&label.replace('<', "&lt;")), "{label} is missing in\n{svg}");
        }
    }
}

/// Every tag is closed by its like, and every `&` begins an entity.
fn well_formed(xml: &str) {
    let mut open = Vec::new();
    let mut rest = xml;
    while let Some(start) = rest.find('<') {
        entities(&rest[..start]);
        let end = start + rest[start..].find('>').expect("a tag that ends");
        let tag = &rest[start + 1..end];
        assert!(!tag.contains('<'), "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') && !tag.starts_with(['?', '!']) {
            open.push(tag.split_whitespace().next().unwrap());
        }
        entities(tag);
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "{open:?}");
}

fn entities(text: &str) {
    for (at, _) in text.match_indices('&') {
        let entity = text[at + 1..].split(';').next().unwrap();
        let known = ["amp", "lt", "gt", "quot", "apos"].contains(&entity);
        assert!(known || entity.strip_prefix('#').is_some_and(|number| !number.is_empty()), "{text}");
    }
}
