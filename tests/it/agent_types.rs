//! Agent types in loops: which exist, which types each may dispatch, what it may call, and the events about it.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use crate::support::{ModelProject, Output, cases, last_words};

const DESK: &str = "name: desk
tools:
  - { name: find, endpoint: '${DESK_URL:http://127.0.0.1:8009}/tool', effect: read, parameters: { type: object, properties: {} }, returns: { type: array, items: { type: integer } }, mock: [ { data: [1, 2] } ] }
  - { name: close, endpoint: '${DESK_URL:http://127.0.0.1:8009}/tool', effect: read, parameters: { type: object, properties: { id: { type: integer } }, required: [id] }, returns: { type: string }, mock: [ { data: closed } ] }
";

/// Two types, only one of which may dispatch others.
const TYPES: &str = "tool_sets:
  look: [desk.find, fs.read]
agents:
  worker:
    children: [worker, reviewer]
  reviewer:
    description: looks, and changes nothing
    tools: [look]
    model: small
  default: worker
";

/// A project with these additional keys, and a model with scripted turns.
struct TestProject(ModelProject);

impl TestProject {
    fn new(keys: &str, turns: &str) -> Self {
        let project = format!(
            "env: [DESK_URL, OPENAI_BASE_URL]
apps: [apps/desk.yaml]
allow: {{ net: ['127.0.0.1:*'], read: [notes] }}
models:
  large: {{ base_url: '${{OPENAI_BASE_URL}}', model: large-1 }}
  small: {{ base_url: '${{OPENAI_BASE_URL}}', model: small-1 }}
  default: large
{keys}"
        );
        let files = [
            ("planrun.yaml", &*project),
            ("notes/a.md", "first\n"),
            ("p.plan", "plan p() -> int { reply 1 }\n"),
            (".agents/rules/common.md", "Be kind.\n"),
            (".agents/rules/reviewer.md", "Be strict.\n"),
        ];
        Self(ModelProject::new(DESK, turns, &files))
    }

    fn agent(&self, arguments: &[&str]) -> Output {
        let all = ["agent", "--mode", "loop", "--session", "s"];
        self.0.program(&[&all[..], arguments].concat()).run()
    }

    fn check(&self) -> Output {
        self.0.program(&["check", "."]).run()
    }
}

/// Returns the names of the tools in a request.
fn offered(request: &Json) -> Vec<&str> {
    let tools = request["tools"].as_array().unwrap().iter();
    let names = tools.map(|tool| tool["function"]["name"].as_str().unwrap());
    names.collect()
}

/// Returns everything that a program printed.
fn all_output(output: &Output) -> String {
    format!("{}{}", output.stdout, output.stderr)
}

/// Returns a turn that dispatches these sub-agents.
fn dispatch(sub_agents: &str) -> String {
    format!(
        "- {{ calls: [{{ name: dispatch_subagents, arguments: {{ context: About Li, sub_agents: [{sub_agents}] }} }}] }}\n"
    )
}

#[test]
fn s4_20_a_sub_agent_has_the_tools_and_the_model_of_its_type_and_never_more_than_its_parent() {
    let turns = dispatch("{ prompt: one, type: reviewer, tools: [desk.find, desk.close] }")
        + "- { when: { user: one }, calls: [{ name: desk_find, arguments: {} }, { name: desk_close, arguments: { id: 1 } }, { name: run, arguments: { plan: 'use desk step x = desk.close(id: 1) reply x' } }] }
- { when: { tool: '' }, text: seen }
- { when: { tool: seen }, text: ok }";
    let setup = TestProject::new(TYPES, &turns);
    let output = setup.agent(&["Go"]);
    assert_eq!(
        (output.status, &*output.stdout),
        (0, "ok\n"),
        "{output:?}\n{:#?}",
        setup.0.requests()
    );
    let requests = setup.0.requests();
    let [first, child, results, _] = &*requests else {
        panic!("{requests:#?}")
    };
    assert_eq!(
        (&first["model"], &child["model"]),
        (&json!("large-1"), &json!("small-1"))
    );
    let own = offered(first);
    assert!(own.contains(&"desk_close") && own.contains(&"dispatch_subagents"));
    let tools = first["tools"].to_string();
    let types = "One of: worker, reviewer (looks, and changes nothing).";
    assert!(tools.contains(types), "{tools}");
    let own = offered(child);
    assert!(own.contains(&"desk_find"), "{own:?}");
    for denied in ["desk_close", "fs_read", "files_edit", "dispatch_subagents"] {
        assert!(!own.contains(&denied), "{denied}: {own:?}");
    }
    assert_eq!(last_words(child), "## Context Summary\nAbout Li\n\none");
    let came = results["messages"].as_array().unwrap();
    let came: Vec<&str> = came[3..]
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(came[0], "[1,2]");
    for text in &came[1..] {
        assert!(!text.contains("closed"), "{came:?}");
    }
    assert_eq!(
        setup.0.desk.log().len(),
        1,
        "only what it may call is called"
    );
}

#[test]
fn s4_20_who_may_dispatch_whom_is_held_and_told() {
    for (agent, target, message) in [
        (
            "worker",
            "type: genral",
            "Error: Unknown agent type 'genral'. Agent types: general, worker, reviewer",
        ),
        (
            "worker",
            "type: general",
            "Error: Agent type 'worker' cannot dispatch 'general'. Allowed child types: worker, reviewer",
        ),
        (
            "reviewer",
            "agent_type: worker",
            "Error: Agent type 'reviewer' cannot dispatch 'worker'. Allowed child types: none",
        ),
        (
            "reviewer",
            "tools: []",
            "Error: Agent type 'reviewer' cannot dispatch 'sub-agents'. Allowed child types: none",
        ),
    ] {
        // One sub-agent that may not be dispatched also prevents the others.
        let both = if agent == "worker" {
            "{ prompt: x, type: worker }, "
        } else {
            ""
        };
        let turns = dispatch(&format!("{both}{{ prompt: x, {target} }}"))
            + "- { when: { tool: 'Error' }, text: ok }";
        let setup = TestProject::new(TYPES, &turns);
        let output = setup.agent(&["Go", "--agent", agent]);
        assert_eq!(output.status, 0, "{output:?}");
        let requests = setup.0.requests();
        assert_eq!(requests.len(), 2, "{requests:#?}");
        assert_eq!(last_words(&requests[1]), message);
        let may = offered(&requests[0]).contains(&"dispatch_subagents");
        assert_eq!(may, agent == "worker");
    }
}

#[test]
fn s4_20_the_type_of_the_first_agent_is_kept_with_its_session() {
    let keys = TYPES.replace(
        "tools: [look]",
        "tools: [look]\n    rules: [reviewer.md, no.md]",
    );
    let setup = TestProject::new(&keys, "- { text: one }\n- { text: two }\n- { text: three }");
    let output = setup.agent(&["Go", "--agent", "reviewer"]);
    assert_eq!(output.stdout, "one\n", "{output:?}");
    assert!(
        output.stderr.contains("there is no rule `no.md`"),
        "{}",
        output.stderr
    );
    setup.agent(&["And now?"]);
    setup.agent(&["And now?", "--agent", "worker"]);
    let requests = setup.0.requests();
    let seen = requests.iter().map(|request| {
        let system = request["messages"][0]["content"].as_str().unwrap();
        let rules = ["Be kind.", "Be strict."].map(|rule| system.contains(rule));
        (
            request["model"].as_str().unwrap(),
            rules,
            offered(request).contains(&"desk_close"),
        )
    });
    let reviewer = ("small-1", [false, true], false);
    let worker = ("large-1", [true, true], true);
    assert_eq!(seen.collect::<Vec<_>>(), [reviewer, reviewer, worker]);
    let output = setup.agent(&["x", "--agent", "reviever"]);
    assert_eq!(output.status, 2, "{output:?}");
    let message = "there is no agent type `reviever`; available: general, worker, reviewer; did you mean `reviewer`?";
    assert!(output.stderr.contains(message), "{}", output.stderr);
    let output = setup.0.program(&["agent", "x", "--agent", "worker"]).run();
    assert_eq!(output.status, 2, "{output:?}");
    assert!(
        output.stderr.contains("`--agent` requires `--mode loop`"),
        "{}",
        output.stderr
    );
}

#[test]
fn s4_20_without_types_there_is_one_that_dispatches_itself() {
    let turns = dispatch("{ prompt: one }")
        + "- { when: { user: one }, text: seen }\n- { when: { tool: seen }, text: ok }";
    let setup = TestProject::new("", &turns);
    assert_eq!(setup.agent(&["Go"]).stdout, "ok\n");
    let requests = setup.0.requests();
    assert!(offered(&requests[1]).contains(&"desk_close"));
    assert!(
        requests[0]["tools"]
            .to_string()
            .contains("One of: general.")
    );
}

#[test]
fn s4_21_what_each_agent_does_is_told() {
    let turns = dispatch("{ prompt: one }, { prompt: two, type: reviewer }")
        + "- { when: { user: one }, calls: [{ name: dispatch_subagents, arguments: { sub_agents: [{ prompt: three }] } }] }
- { when: { user: two }, status: 400, error: broken }
- { when: { user: three }, calls: [{ name: task_finish, arguments: { context_summary: deep } }] }
- { when: { tool: deep }, text: seen }
- { when: { tool: seen }, text: ok }";
    let setup = TestProject::new(TYPES, &turns);
    let output = setup.agent(&["Go", "--format", "json", "--debug"]);
    let of = |id: &str, name: &str, kind: &str, status: &str| json!({ "id": id, "name": name, "type": kind, "status": status });
    let expected = json!([
        of("1", "Go...", "worker", "standby"),
        of("1.1", "one...", "worker", "finished"),
        of("1.1.1", "three...", "worker", "finished"),
        of("1.2", "two...", "reviewer", "pending"),
    ]);
    assert_eq!(output.json()["agents"], expected, "{output:?}");
    for line in [
        "sub-agent 1.1.1 'three...' (worker) is running\n",
        "sub-agent 1.1.1 'three...' (worker) is finished\n",
        "sub-agent 1.2 'two...' (reviewer) is pending\n",
    ] {
        assert!(output.stderr.contains(line), "{line}: {}", output.stderr);
    }
}

#[test]
fn s4_27_a_project_with_a_wrong_type_refuses_to_start_and_names_the_culprit() {
    let models = "models:\n  large:";
    for (keys, place, message, near) in [
        (
            "agents: { a: { tools: [lok] } }\ntool_sets: { look: [] }",
            "lok",
            "there is no tool set `lok`, but the agent type `a` lists it",
            "look",
        ),
        (
            "agents: { a: { children: [b] }, bb: {} }",
            "b",
            "there is no agent type `b`, but the agent type `a` names it",
            "bb",
        ),
        (
            "agents: { a: { model: smal } }",
            "smal",
            "there is no model `smal` under `models`, but the agent type `a` names it",
            "small",
        ),
        (
            "agents: { a: { tools: [desk.fnd] } }",
            "desk.fnd",
            "there is no tool `desk.fnd`, but it is listed for agents",
            "desk.find",
        ),
        (
            "tool_sets: { a: ['dsk.*'] }",
            "'dsk.*'",
            "there is no tool `dsk.*`, but it is listed for agents",
            "desk.*",
        ),
        (
            "agents: { a: {}, default: aa }",
            "aa",
            "there is no agent type `aa`, but `default` names it",
            "a",
        ),
        (
            "agents: { a: { childen: [a] } }",
            "childen",
            "the agent type `a` has no key `childen`",
            "children",
        ),
    ] {
        let setup = TestProject::new(keys, "- { text: never }");
        let output = setup.agent(&["Go"]);
        assert_eq!(output.status, 1, "{keys}: {output:?}");
        assert!(setup.0.requests().is_empty());
        for output in [&output, &setup.check()] {
            assert!(
                all_output(output).contains(message),
                "{message}: {output:?}"
            );
            assert!(all_output(output).contains(near), "{near}: {output:?}");
        }
        let text = std::fs::read_to_string(setup.0.folder.path().join("planrun.yaml")).unwrap();
        assert!(text.contains(models), "{text}");
        let before = text.rfind(place).unwrap();
        let line = text[..before].matches('\n').count() + 1;
        let place = format!("planrun.yaml:{line}:");
        assert!(all_output(&output).contains(&place), "{place} {output:?}");
    }
}

#[test]
fn s4_27_tools_that_agents_bring_along_are_known_to_them() {
    let agent = |tool: &str| format!("agents: {{ general: {{ tools: [{tool}] }} }}");
    let setup = TestProject::new(&agent("files.glob"), "- { text: ok }");
    assert_eq!(setup.check().status, 0);
    assert_eq!(setup.agent(&["Go"]).stdout, "ok\n");
    let requests = setup.0.requests();
    let own = offered(&requests[0]);
    assert!(
        own.contains(&"files_glob") && !own.contains(&"files_grep"),
        "{own:?}"
    );
    // The entry changes the built-in type only in the keys it has: the type still dispatches itself.
    assert!(own.contains(&"dispatch_subagents"), "{own:?}");
    let output = TestProject::new(&agent("files.glop"), "- { text: ok }").agent(&["Go"]);
    assert_eq!(output.status, 1);
    assert!(all_output(&output).contains("files.glob"), "{output:?}");
}

/// The planrun tool that corresponds to each of these names.
const TOOLS: [(&str, &str); 9] = [
    ("read", "fs.read"),
    ("glob", "files.glob"),
    ("grep", "files.grep"),
    ("find_filename", "files.glob"),
    ("project_outline", "files.outline"),
    ("shell", "proc.run"),
    ("write", "fs.write"),
    ("edit", "files.edit"),
    ("mkdir", "files.mkdir"),
];

#[test]
fn s4_27_the_types_of_another_program_hold_here() {
    let Some(path) = cases("systems/mutsumi-default-agent-config.json") else {
        return;
    };
    let config: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut keys = "tool_sets:\n".to_owned();
    for (name, tools) in config["toolSets"].as_object().unwrap() {
        let names = tools.as_array().unwrap().iter().filter_map(Json::as_str);
        let own = names.filter_map(|name| TOOLS.iter().find(|(known, _)| *known == name));
        let own: Vec<&str> = own.map(|(_, own)| *own).collect();
        writeln!(keys, "  {name}: {}", json!(own)).unwrap();
    }
    keys.push_str("agents:\n");
    let types = config["agentTypes"].as_object().unwrap();
    for (name, one) in types {
        let (sets, children) = (&one["toolSets"], &one["allowedChildTypes"]);
        writeln!(keys, "  {name}: {{ tools: {sets}, children: {children} }}").unwrap();
    }
    let allow = "allow: { net: ['127.0.0.1:*'], read: [notes], write: [notes], run: [ls] }";
    for (name, one) in types {
        let children = one["allowedChildTypes"].as_array().unwrap();
        let children: Vec<&str> = children.iter().filter_map(Json::as_str).collect();
        for child in types.keys() {
            let turns = dispatch(&format!("{{ prompt: one, type: {child} }}"))
                + "- { when: { user: one }, text: seen }\n- { when: { tool: '' }, text: ok }";
            let setup = TestProject::new(&keys, &turns);
            let file = setup.0.folder.path().join("planrun.yaml");
            let text = std::fs::read_to_string(&file).unwrap();
            let narrow = "allow: { net: ['127.0.0.1:*'], read: [notes] }";
            std::fs::write(&file, text.replace(narrow, allow)).unwrap();
            let output = setup.agent(&["Go", "--agent", name]);
            assert_eq!(output.stdout, "ok\n", "{name}, {child}: {output:?}");
            let requests = setup.0.requests();
            let message = last_words(requests.last().unwrap());
            let refused = format!("Error: Agent type '{name}' cannot dispatch '{child}'");
            let may = children.contains(&&**child);
            assert_eq!(message.starts_with(&refused), !may, "{message}");
            let may_write = offered(&requests[0]).contains(&"fs_write");
            let delivers = one["toolSets"].to_string().contains("deliver");
            assert_eq!(may_write, delivers, "{name}");
        }
    }
}
