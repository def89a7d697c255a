//! The graph: which statement waits for which and why, its linear size, and its drawings.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use planrun_core::run::{Program, Setup};
use planrun_lang::graph::Vertex::{Barriers, Decisions, Everything, Free};
use planrun_lang::graph::{self, BlockGraph, Vertex, draw};
use planrun_lang::permission::Permissions;
use planrun_lang::protocol::RunState;
use planrun_lang::sema::{Block, NoFiles, NodeKind, Plan, check_without_rules};
use planrun_lang::source::SourceFile;
use planrun_runs::driver::{self, Context, Silence};
use planrun_tools::host::{Host, MemoryHost};
use planrun_tools::tools::Catalog;

/// Tools of every effect class on one system, `db`, and on the parts of another, `repo`.
const TOOLS: &str = "
tool db.read(key?: string) -> string read
tool db.write(key?: string, value?: string) -> string effect
tool mail.send(text?: string) -> string effect
";

fn catalog() -> Arc<Catalog> {
    let host: Arc<dyn Host> = Arc::new(MemoryHost::new(1));
    Arc::new(Catalog::new(
        host,
        "/".into(),
        &Arc::new(Permissions::none()),
    ))
}

/// Returns the checked plan of a file without errors.
fn checked(text: &str) -> Arc<Plan> {
    let tools = catalog().signatures().cloned().collect();
    let checked = check_without_rules(&SourceFile::new("test.plan", text), &tools, &NoFiles);
    let errors = checked
        .diagnostics
        .iter()
        .filter(|found| found.is_error())
        .collect::<Vec<_>>();
    assert!(errors.is_empty(), "{errors:#?}");
    checked.plans[0].clone()
}

/// Returns a plan with these statements, over [`TOOLS`].
fn plan(statements: &str) -> Arc<Plan> {
    checked(&format!(
        "use db, mail, sys\n{TOOLS}\nplan p(flag: bool = true) {{\n{statements}\n}}\n"
    ))
}

/// Returns the name of a vertex in these tests.
fn name(block: &Block, index: usize) -> String {
    let Some(node) = block.nodes.get(index) else {
        return format!("join{}", index - block.nodes.len());
    };
    match (&node.name, &node.kind) {
        (Some(name), _) => name.to_string(),
        (None, NodeKind::Condition(_)) => "condition".to_owned(),
        (None, NodeKind::Ensure { .. }) => "ensure".to_owned(),
        (None, NodeKind::Reply(_)) => "reply".to_owned(),
        (None, _) => format!("#{index}"),
    }
}

/// Returns the edges of a plan's top-level statements, such as `a -data-> b`, in the order of their creation.
fn edges(plan: &Plan) -> Vec<String> {
    let graph = graph::build(plan);
    let block = plan.body();
    let edges = graph.blocks[0].dag.raw_edges().iter();
    let name = |index: usize| name(block, index);
    edges
        .map(|edge| {
            format!(
                "{} -{}-> {}",
                name(edge.source().index()),
                edge.weight.name(),
                name(edge.target().index())
            )
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
    let mut ids = drawing
        .nodes
        .iter()
        .map(|node| node.id.as_str())
        .collect::<Vec<_>>();
    assert!(ids.contains(&"x") && ids.contains(&"x#2"), "{ids:?}");
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
    let id = |place: usize| &*drawing.nodes[place].id;
    let into_own = drawing
        .edges
        .iter()
        .filter(|edge| id(edge.to) == "own")
        .map(|edge| id(edge.from));
    assert_eq!(
        into_own.collect::<Vec<_>>(),
        ["x"],
        "the other branch gives it nothing"
    );
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

/// Returns the vertices of a plan's top-level statements, which hold the waits that are not edges.
fn vertices(plan: &Plan) -> Vec<Vertex> {
    let graph = graph::build(plan);
    (0..plan.body().nodes.len())
        .map(|node| graph.blocks[0].vertex(u32::try_from(node).unwrap()))
        .collect()
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
    assert_eq!(
        barriers,
        [false, true, false, true, true, false, false, false]
    );
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
    let place = edges
        .iter()
        .filter(|edge| edge.contains("-place->"))
        .map(String::as_str)
        .collect::<Vec<_>>();
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
fn what_reads_a_context_that_others_change_waits_for_the_barriers_above() {
    let plan = plan(
        "task own \"Own\" { n: int }
         task theirs \"Theirs\" { n: int } external
         step w = db.write()
         let a = own.n
         let b = theirs.n
         ensure theirs.n != null else \"no\"
         step c = sys.nothing() when theirs.n != b
         step d = sys.nothing() after w when own.n == a
         parallel {
             let e = theirs.n
             step f = db.read()
         }
         reply [c, d, e, f]",
    );
    let expected = [
        Free,
        Free,
        Everything(2),
        Decisions,
        Barriers(4),
        Barriers(5),
        Barriers(6),
        Decisions,
        Decisions,
        Decisions,
        Barriers(10),
        Barriers(10),
        Everything(12),
    ];
    assert_eq!(vertices(&plan), expected);
    let drawing = graph::drawing(&plan, &graph::build(&plan));
    let order = drawing
        .edges
        .iter()
        .filter(|edge| edge.kind == draw::EdgeKind::Order);
    let names = |edge: &draw::DrawnEdge| {
        let id = |place: usize| &*drawing.nodes[place].id;
        format!("{} {}", id(edge.from), id(edge.to))
    };
    let arrows: Vec<String> = order.map(names).collect();
    assert!(arrows.contains(&"w b".to_owned()), "{arrows:?}");
    assert!(!arrows.contains(&"w a".to_owned()), "{arrows:?}");
}

#[test]
fn ends_and_effects_wait_for_what_stands_above() {
    let plan = plan(
        "step a = db.read()
         ensure flag else \"no\"
         step w = db.write()
         reply a",
    );
    assert_eq!(
        vertices(&plan),
        [Barriers(0), Decisions, Everything(2), Everything(3)]
    );
}

fn edges_per_vertex(block: &BlockGraph) -> f64 {
    let count = |count: usize| f64::from(u32::try_from(count).unwrap());
    count(block.dag.edge_count()) / count(block.dag.node_count())
}

#[test]
fn the_number_of_edges_stays_linear() {
    let lines = |count: u32, line: &dyn Fn(u32) -> String| {
        (0..count).map(line).collect::<Vec<_>>().join("\n")
    };
    let writes = |from: u32| lines(500, &|n| format!("step w{} = db.write()", from + n));
    let reads = |from: u32| lines(500, &|n| format!("step r{} = db.read()", from + n));
    let adversarial = [
        // Many effects without an order, followed by many reads that wait for all of them.
        format!("parallel {{ {} }}\n{}", writes(0), reads(0)),
        // Effects and reads in turn, so that each group waits for the group above.
        format!(
            "{}\nparallel {{ {} }}\n{}\nparallel {{ {} }}",
            reads(0),
            writes(0),
            reads(500),
            writes(500)
        ),
        format!(
            "parallel {{ if flag {{ {} {} {} {} }} }}",
            reads(0),
            writes(0),
            reads(500),
            writes(500)
        ),
        lines(1000, &|n| {
            format!("parallel {{ if flag {{ step w{n} = db.write() step r{n} = db.read() }} }}")
        }),
        lines(1000, &|n| {
            format!("step r{n} = db.read()\nstep w{n} = db.write()")
        }),
        // Many statements that wait for everything or for every decision.
        lines(1000, &|n| {
            format!("ensure flag else \"no\"\nstep w{n} = db.write()\nfail tool \"no\" when !flag")
        }),
        lines(1000, &|n| {
            format!("reply {n} when !flag\nstep r{n} = db.read()")
        }),
    ];
    for statements in adversarial {
        let plan = plan(&format!("{statements}\nreply null"));
        let graph = graph::build(&plan);
        let ratio = edges_per_vertex(&graph.blocks[0]);
        assert!(
            ratio <= 2.5,
            "{ratio} edges a vertex in\n{}…",
            &statements[..200]
        );
        assert!(graph.blocks[0].dag.node_count() <= 3 * plan.body().nodes.len());
    }
}

/// Checks, orders and runs a plan, and drops everything.
fn run(text: &str) -> RunState {
    let plan = checked(text);
    let program = Arc::new(Program::new(plan));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut silent = Silence;
    let context = Context {
        root: "/".into(),
        ..Context::new(
            Arc::new(MemoryHost::new(1)),
            catalog(),
            Setup::new("test"),
            &mut silent,
        )
    };
    runtime
        .block_on(driver::run(&program, &BTreeMap::new(), context))
        .state
}

/// Runs a function in a thread with the usual stack size, which any recursion over the plan would overflow.
fn on_a_usual_stack<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new()
        .stack_size(2 * 1024 * 1024)
        .spawn(body)
        .unwrap()
        .join()
        .unwrap()
}

#[test]
fn a_chain_of_100_000_steps_runs_and_is_freed() {
    let state = on_a_usual_stack(|| {
        let mut text =
            "use sys\nplan p() {\npolicy { max_steps: 100000 }\nstep s0 = sys.nothing()\n"
                .to_owned();
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
    assert_eq!(
        on_a_usual_stack(move || run(&text("sys.echo(value: 1)"))),
        RunState::Completed
    );
    assert_eq!(
        on_a_usual_stack(move || run(&text("sys.fail(class: \"internal\")"))),
        RunState::Failed
    );
}

/// Two realistic plans.
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
        insta::assert_snapshot!(format!("{name}.text"), draw::outline(&drawing));
        let svg = draw::svg(&drawing).unwrap();
        well_formed(&svg);
        for node in &drawing.nodes {
            let label = node.label.replace('<', "&lt;");
            assert!(svg.contains(&label), "{label} is missing in\n{svg}");
        }
    }
}

/// Returns the drawing of a plan with every kind of block.
fn everything() -> draw::Drawing {
    let text = format!(
        "use db, mail, sys\n{TOOLS}
        plan inner(what: string) {{
            step deep = db.read(key: what)
            reply deep
        }}
        plan p(flag: bool = true, kind: \"a\" | \"b\" = \"a\") {{
            policy {{ deadline: 5m, on_failure: pause }}
            task board \"On the board\"
            listener alarm on board is done max 2 {{ step told = mail.send(text: \"done\") }}
            step asked = input \"Which?\" -> {{ key: string }} by \"desk\" within 1d
            parallel {{
                step one = db.write(key: asked.key)
                    confirm \"Write it?\" by \"chief\" expires 2d
                    timeout 5s
                    retry {{ attempts: 3, on: [transient] }}
                    undo db.write(key: \"back\")
                step two = db.write(key: \"two\")
                    recover transient => do {{
                        step again = db.write(key: \"again\")
                        yield again
                    }}
                    undo do {{
                        step gone = db.write(key: \"gone\")
                        step noted = mail.send(text: \"gone\")
                    }}
            }}
            step polled = db.read(key: \"p\")
                within 1m
                until polled != \"\" every 1s
            if flag {{
                step yes = mail.send(text: one)
            }} else if kind == \"a\" {{
                step no = mail.send(text: two)
            }} else {{
                step never = mail.send()
            }}
            step rounds = repeat state = 0 max 3 {{
                step page = db.read(key: json(state))
                yield page
                next state + 1
            }}
            step many = each name in [\"x\", \"y\"] max 2 parallel 2 by name settle {{
                step sent = mail.send(text: name)
                yield sent
            }}
            step fastest = race {{ left: db.read(key: \"l\"), right: db.read(key: \"r\") }}
            step chosen = match kind {{
                \"a\" => do {{
                    step first = db.read(key: fastest)
                    yield first
                }},
                _ => \"none\",
            }}
            step called = inner(what: chosen)
            step twice = inner(what: called)
            set board done after many
            reply {{ rounds: rounds, polled: polled, twice: twice }}
        }}"
    );
    let tools = catalog().signatures().cloned().collect();
    let checked = check_without_rules(&SourceFile::new("test.plan", text), &tools, &NoFiles);
    let errors = checked
        .diagnostics
        .iter()
        .filter(|found| found.is_error())
        .collect::<Vec<_>>();
    assert!(errors.is_empty(), "{errors:#?}");
    let plan = checked
        .plans
        .iter()
        .find(|plan| &*plan.name == "p")
        .unwrap();
    graph::drawing(plan, &graph::build(plan))
}

#[test]
fn d6_blocks_are_frames_with_their_kind_and_arms_with_their_labels() {
    let drawing = everything();
    let around = |id: &str| -> Vec<String> {
        let mut found = Vec::new();
        let mut place = drawing
            .nodes
            .iter()
            .position(|node| node.id == id)
            .unwrap_or_else(|| panic!("no {id}"));
        while let Some(parent) = drawing.nodes[place].parent {
            found.push(format!(
                "{}: {}",
                drawing.nodes[parent].kind.name(),
                drawing.nodes[parent].heading()
            ));
            place = parent;
        }
        found
    };
    assert_eq!(
        around("alarm.told"),
        ["listener: listener alarm on board is done"]
    );
    assert_eq!(around("one"), ["parallel: parallel"]);
    assert_eq!(
        around("two.recover.again"),
        [
            "recover: recover transient",
            "step: two db.write",
            "parallel: parallel"
        ]
    );
    assert_eq!(
        around("two.undo.gone"),
        ["undo: undo", "step: two db.write", "parallel: parallel"]
    );
    assert_eq!(around("yes"), ["arm: flag", "if: if"]);
    assert_eq!(
        around("no"),
        ["arm: kind == \"a\"", "if: if"],
        "an `else if` is one of the same arms"
    );
    assert_eq!(around("never"), ["arm: else", "if: if"]);
    assert_eq!(around("rounds.page"), ["repeat: rounds repeat from 0"]);
    assert_eq!(around("many.sent"), ["each: many each of [\"x\", \"y\"]"]);
    assert_eq!(around("fastest.left"), ["race: fastest race"]);
    assert_eq!(
        around("chosen.match.first"),
        ["arm: \"a\"", "match: chosen match kind"]
    );
    assert_eq!(
        around("called.deep"),
        ["plan: called inner"],
        "a plan of the file is drawn where it is called"
    );
    assert!(
        drawing.nodes.iter().all(|node| node.id != "twice.deep"),
        "and only where it is called first"
    );
    let arms = drawing
        .nodes
        .iter()
        .filter(|node| node.kind == draw::NodeKind::Arm)
        .map(draw::DrawnNode::heading);
    let expected = [
        "flag",
        "kind == \"a\"",
        "else",
        "left db.read",
        "right db.read",
        "\"a\"",
        "_ \"none\"",
    ];
    assert_eq!(arms.collect::<Vec<_>>(), expected);
}

#[test]
fn d6_every_clause_is_a_mark_on_its_step() {
    let drawing = everything();
    let marks = |id: &str| {
        drawing
            .nodes
            .iter()
            .find(|node| node.id == id)
            .unwrap()
            .marks
            .clone()
    };
    let confirm = "confirm \"Write it?\" by \"chief\" expires 2d";
    let expected = [
        confirm,
        "timeout 5s",
        "retry { attempts: 3, on: [transient] }",
        "undo db.write",
    ];
    assert_eq!(marks("one"), expected);
    assert_eq!(marks("asked"), ["by \"desk\"", "within 1d"]);
    assert_eq!(
        marks("polled"),
        ["within 1m", "until polled != \"\" every 1s"]
    );
    assert_eq!(marks("many"), ["max 2", "parallel 2", "by name", "settle"]);
    assert_eq!(marks("alarm"), ["max 2"]);
    assert_eq!(drawing.marks, ["deadline 5m", "on_failure pause"]);
    for text in [
        draw::svg(&drawing).unwrap(),
        draw::mermaid(&drawing),
        draw::dot(&drawing),
        draw::outline(&drawing),
    ] {
        for word in [
            "confirm",
            "until polled",
            "undo",
            "retry",
            "timeout 5s",
            "settle",
        ] {
            assert!(text.contains(word), "{word} is missing in\n{text}");
        }
    }
}

#[test]
fn a_branch_that_reads_what_stands_above_does_not_hide_that_the_others_wait() {
    for (inner, frame) in [
        (
            "if flag { step b = db.write(key: a) } else { step c = db.write() }",
            "if",
        ),
        (
            "parallel { step b = db.write(key: a) step c = db.write() }",
            "parallel",
        ),
    ] {
        let plan = plan(&format!(
            "step a = db.write(key: \"x\")\n{inner}\nreply null"
        ));
        let drawing = graph::drawing(&plan, &graph::build(&plan));
        let id = |place: usize| &*drawing.nodes[place].id;
        let mut orders = drawing
            .edges
            .iter()
            .filter(|edge| edge.kind == draw::EdgeKind::Order);
        assert!(
            orders.any(|edge| id(edge.from) == "a" && id(edge.to) == frame),
            "{inner}"
        );
    }
}

#[test]
fn d6_arrows_say_what_is_read_and_what_only_stands_above() {
    use draw::EdgeKind::{After, Data, Listener, Order};
    let drawing = everything();
    let id = |place: usize| &*drawing.nodes[place].id;
    let into = |to: &str, kind: draw::EdgeKind| {
        let edges = drawing
            .edges
            .iter()
            .filter(|edge| id(edge.to) == to && edge.kind == kind);
        edges.map(|edge| id(edge.from)).collect::<Vec<_>>()
    };
    assert_eq!(
        (into("one", Data), into("yes", Data)),
        (vec!["asked"], vec!["one"])
    );
    assert_eq!(
        into("parallel", Order),
        ["asked"],
        "only one of the statements inside reads what stands above"
    );
    assert_eq!(into("polled", Order), ["parallel"]);
    assert_eq!(into("if", Order), ["polled"]);
    assert_eq!(into("set board done", After), ["many"]);
    assert_eq!(
        into("alarm", Listener),
        ["set board done"],
        "what moves the task fires the listener"
    );
    assert!(into("reply", Data).contains(&"rounds"));
    assert_eq!(
        into("reply", Order),
        ["set board done"],
        "the reply is at the end"
    );
    assert_eq!(drawing.nodes.last().unwrap().id, "reply");
}

#[test]
fn d6_order_arrows_are_linear_and_every_statement_keeps_its_place() {
    let lines = |count: u32, line: &dyn Fn(u32) -> String| {
        (0..count).map(line).collect::<Vec<_>>().join("\n")
    };
    let adversarial = [
        lines(3000, &|n| {
            format!("step r{n} = db.read()\nstep w{n} = db.write()")
        }),
        format!(
            "{}\n{}",
            lines(3000, &|n| format!("step r{n} = db.read()")),
            "step w = db.write()"
        ),
        format!(
            "parallel {{ {} }}\n{}",
            lines(2000, &|n| format!("step w{n} = db.write()")),
            lines(2000, &|n| format!("step r{n} = db.read()"))
        ),
        format!(
            "if flag {{ {} }}\nstep last = db.write()",
            lines(3000, &|n| format!("step w{n} = db.write()"))
        ),
        lines(2000, &|n| {
            format!("ensure flag else \"no\"\nstep r{n} = db.read()")
        }),
    ];
    for statements in adversarial {
        let plan = plan(&format!("{statements}\nreply null"));
        let drawing = graph::drawing(&plan, &graph::build(&plan));
        assert!(
            drawing.edges.len() <= 3 * drawing.nodes.len(),
            "{} edges in {}…",
            drawing.edges.len(),
            &statements[..99]
        );
    }
    let plan = plan(
        "step a = db.read()\nlet v = a\nstep w = db.write(value: v)\nstep b = db.read()\nreply null",
    );
    let drawing = graph::drawing(&plan, &graph::build(&plan));
    let edges = drawing
        .edges
        .iter()
        .map(|edge| (&*drawing.nodes[edge.from].id, &*drawing.nodes[edge.to].id));
    assert_eq!(
        edges.collect::<Vec<_>>(),
        [("a", "v"), ("v", "w"), ("w", "b"), ("b", "reply")]
    );
}

/// Returns the numbers in these attributes of each tag with this name.
fn numbers<const COUNT: usize>(
    svg: &str,
    tag: &str,
    attributes: [&str; COUNT],
) -> Vec<[f64; COUNT]> {
    let open = format!("<{tag} ");
    let tags = svg
        .split(&open)
        .skip(1)
        .map(|rest| rest.split('>').next().unwrap());
    let number = |tag: &str, attribute: &str| {
        let rest = format!(" {tag}")
            .split(&format!(" {attribute}=\""))
            .nth(1)?
            .split('"')
            .next()?
            .to_owned();
        rest.parse::<f64>().ok()
    };
    tags.filter_map(|tag| {
        let found: Vec<f64> = attributes
            .iter()
            .filter_map(|attribute| number(tag, attribute))
            .collect();
        found.try_into().ok()
    })
    .collect()
}

#[test]
fn d6_in_every_picture_boxes_lie_beside_or_within_each_other_and_the_reply_is_below() {
    let plans = crate::support::root().join("plans");
    let mut files: Vec<_> = std::fs::read_dir(&plans)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "plan"));
    let drawn = files.iter().map(|file| {
        let run = crate::support::planrun(["graph", "--format", "svg"])
            .argument(file)
            .within(&plans)
            .run();
        assert_eq!(run.status, 0, "{run:?}");
        run.stdout
    });
    for svg in drawn.chain([draw::svg(&everything()).unwrap()]) {
        well_formed(&svg);
        assert!(!svg.contains(".#"), "an internal number");
        let boxes = numbers(&svg, "rect", ["x", "y", "width", "height"]);
        assert!(boxes.len() > 2);
        for (place, [x, y, width, height]) in boxes.iter().enumerate() {
            for [left, top, wide, high] in &boxes[..place] {
                let apart = x + width <= left + 0.2
                    || left + wide <= x + 0.2
                    || y + height <= top + 0.2
                    || top + high <= y + 0.2;
                let within = |a: [f64; 4], b: [f64; 4]| {
                    a[0] >= b[0] - 0.2
                        && a[1] >= b[1] - 0.2
                        && a[0] + a[2] <= b[0] + b[2] + 0.2
                        && a[1] + a[3] <= b[1] + b[3] + 0.2
                };
                let (one, other) = ([*x, *y, *width, *height], [*left, *top, *wide, *high]);
                assert!(
                    apart || within(one, other) || within(other, one),
                    "{one:?} and {other:?} overlap in\n{svg}"
                );
            }
        }
        let lowest = boxes
            .iter()
            .map(|[_, y, _, height]| y + height)
            .fold(0.0, f64::max);
        let reply = svg.rfind("<title>reply ").expect("a reply");
        let [y, height] = numbers(&svg[reply..], "rect", ["y", "height"])[0];
        assert!(
            y + height >= lowest - 0.2,
            "the reply is not at the end of\n{svg}"
        );
    }
}

/// Asserts that every tag is closed by a matching one, and that every `&` begins an entity.
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
        assert!(
            known
                || entity
                    .strip_prefix('#')
                    .is_some_and(|number| !number.is_empty()),
            "{text}"
        );
    }
}
