//! `policy { verify: agents }` and `verify ask` with real processes: a scripted model plays the agents over HTTP, and
//! there is an A2A agent.

use serde_json::{Value as Json, json};

use crate::a2a::Agent;
use crate::hiring::{HIRE, HiringProject};
use crate::support::{Mock, ModelProject, folder, last_words, planrun, root};

/// The plan of the hiring example without its `verify` clauses: its agents are asked instead.
fn asked_hire() -> String {
    let text = std::fs::read_to_string(root().join("plans/hire.plan")).unwrap();
    let mut in_verify = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        in_verify |= line.trim_start().starts_with("verify ");
        if !in_verify {
            lines.push(line);
        }
        in_verify &= !line.trim_start().starts_with("gives ");
    }
    let policy = "policy { on_failure: pause,";
    let text = lines.join("\n");
    assert!(text.contains(policy) && !text.contains("verify"), "{text}");
    text.replace(policy, "policy { verify: agents, on_failure: pause,")
}

/// Two turns of an agent that verifies a step: it calls this tool, and reports the result.
fn check_turns(step: &str, tool: &str, verified: bool) -> String {
    let step = json!(format!("\"step\":\"{step}\""));
    let call = json!([{ "name": tool, "arguments": { "employee_id": "WZ001", "employee_name": "will zhang" } }]);
    let verdict = json!({ "verified": verified, "why": "that is what the record says" });
    format!(
        "- {{ when: {{ user: {step} }}, delay: 200ms, calls: {call} }}\n- {{ when: {{ user: {step}, tool: '' }}, json: {verdict} }}\n"
    )
}

/// Runs the hiring example with agents that this scripted model plays. Returns the exit code, the JSON output, the
/// requests to the model, and the office.
fn hired(turns: &str) -> (i32, Json, Vec<Json>, HiringProject) {
    let project = HiringProject::open([]);
    let place = project.place.path();
    std::fs::write(place.join("hire.plan"), asked_hire()).unwrap();
    std::fs::write(place.join("script.yaml"), format!("turns:\n{turns}")).unwrap();
    let script = place.join("script.yaml").to_string_lossy().into_owned();
    let model = Mock::of(["model", "--script", &script]);
    let output = project
        .program(HIRE)
        .variable("OPENAI_BASE_URL", model.address())
        .variable("OPENAI_MODEL", "tiny")
        .run();
    let requests = model.log().into_iter().map(|line| line["body"].clone());
    let requests = requests.collect();
    assert!(output.status <= 1, "{output:?}");
    (output.status, output.json(), requests, project)
}

fn counts(run: &Json) -> [u64; 4] {
    ["verified", "inconclusive", "failed", "unverified"]
        .map(|name| run["verification"][name].as_u64().unwrap())
}

#[test]
fn s3_28_s3_29_s3_31_the_agents_of_a_hire_are_asked_what_they_have_done() {
    let turns = check_turns("register[0].profile", "query_profile", true)
        + &check_turns("admit[0].badge", "query_access", true)
        + &check_turns("equip[0].computer", "check_outbound_status", true);
    let (status, run, requests, project) = hired(&turns);
    assert_eq!((status, &run["status"]), (0, &json!("completed")), "{run}");
    // The agents of IT and email have no read tools to verify with.
    assert_eq!(counts(&run), [3, 2, 0, 0], "{}", run["verification"]);
    assert_eq!(run["verification"]["checks"].as_array().unwrap().len(), 5);
    let calls = project.mock.calls();
    let mut verify_calls = calls[5..].to_vec();
    verify_calls.sort();
    assert_eq!(
        verify_calls,
        ["check_outbound_status", "query_access", "query_profile"]
    );

    assert_eq!(requests.len(), 6);
    for request in &requests[..3] {
        let messages = request["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 2, "asked at the same time: {requests:#?}");
        let words = last_words(request);
        let offered = request["tools"].as_array().unwrap();
        for tool in calls
            .iter()
            .chain(&["hr.".to_owned(), "access.".to_owned()])
        {
            assert!(!words.contains(tool.as_str()), "{tool}: {words}");
        }
        let names = offered
            .iter()
            .map(|tool| tool["function"]["name"].as_str().unwrap());
        let acts = |name: &&str| !name.starts_with("query_") && !name.starts_with("check_");
        assert_eq!(names.filter(acts).collect::<Vec<_>>(), [""; 0]);
    }
    let asked = requests.iter().map(last_words);
    let about_the_badge = |words: &&str| words.starts_with("Was `badge` done?");
    let words = asked.clone().find(about_the_badge).unwrap();
    let data = "<data>\n{\"step\":\"admit[0].badge\",\"arguments\":{\"emp_id\":\"WZ001\",\"name\":\"will zhang\"}}\n</data>";
    assert!(words.ends_with(data), "{words}");

    let events = project.events("hire");
    let place = |name: &str, path: &str| {
        let mut events = events.iter();
        let found = events.position(|(event, at, _)| event == name && at == path);
        found.unwrap_or_else(|| panic!("no {name} of {path}"))
    };
    for step in ["register[0].profile", "admit[0].badge", "equip[0].computer"] {
        let look = format!("{step}.verify");
        let (asked, answered) = (place("step.running", &look), place("step.settled", &look));
        assert!(place("task.set", "hired") < asked && asked < answered);
        assert!(answered < place("run.settled", ""));
    }
}

#[test]
fn s3_29_an_agent_that_saw_nothing_of_it_fails_the_run_and_the_others_are_heard() {
    // One agent calls a tool and does not find the record, one answers without a call, one fails.
    let idle = json!({ "verified": true, "why": "surely" });
    let turns = check_turns("register[0].profile", "query_profile", false)
        + &format!("- {{ when: {{ user: admit }}, json: {idle} }}\n")
        + "- { when: { user: equip }, status: 400, error: no, repeat: forever }\n";
    let (status, run, _, project) = hired(&turns);
    assert_eq!((status, &run["status"]), (1, &json!("failed")), "{run}");
    assert_eq!(counts(&run), [0, 4, 1, 0], "{}", run["verification"]);
    assert_eq!(run["error"]["class"], "validation.verify");
    assert_eq!(
        run["reply"]["card"],
        json!("CARD-WZ001"),
        "{}",
        run["reply"]
    );
    let checks = run["verification"]["checks"].as_array().unwrap();
    let why = |path: &str| {
        let check = checks.iter().find(|check| check["path"] == path).unwrap();
        check["error"]["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        why("register[0].profile"),
        "`hr` reports that `register[0].profile` was not done: that is what the record says"
    );
    assert!(why("admit[0].badge").contains("it answered without evidence"));
    assert_eq!(
        project.mock.calls().len(),
        6,
        "nothing is taken back or done again"
    );
}

const DESK: &str = "name: desk
tools:
  - name: find
    description: A ticket.
    endpoint: ${DESK_URL:http://127.0.0.1:8009}/tool
    effect: read
    parameters: { type: object, properties: { id: { type: integer } }, required: [id] }
    returns: { type: object, properties: { state: { type: string } }, required: [state] }
    mock: [ { data: { state: closed } } ]
  - name: close
    description: Closes a ticket.
    endpoint: ${DESK_URL:http://127.0.0.1:8009}/tool
    effect: effect
    sensitive: [code]
    parameters: { type: object, properties: { id: { type: integer }, code: { type: string }, note: { type: string } }, required: [id] }
    returns: { type: object, properties: { at: { type: string } }, required: [at] }
    mock: { at: noon }
";

#[test]
fn an_agent_that_looks_has_no_tool_that_acts_and_is_told_no_secret() {
    let plan = "use desk

plan p(code: string) -> string {
    policy { verify: agents }
    step closed = desk.close(id: 7, code: code, note: \"by ${code}\")
    step again = desk.close(id: 8)
        verify ask desk(\"Is it closed?\", with: 8) -> { closed: bool } as found => found.closed
    reply closed.at
}
";
    let turns = "- { when: { user: '\"step\":\"closed\"' }, calls: [{ name: close, arguments: { id: 7 } }, { name: find, arguments: { id: 7 } }] }
- { when: { user: '\"step\":\"closed\"', tool: closed }, json: { verified: true, why: seen } }
- { when: { user: Is it closed }, calls: [{ name: find, arguments: { id: 8 } }] }
- { when: { user: Is it closed, tool: closed }, json: { closed: true } }
";
    let setup = ModelProject::new(DESK, turns, &[("p.plan", plan)]);
    let run = ["run", "p.plan", "-i", "code=hunter2!", "--format", "json"];
    let output = setup.program(&run).run();
    assert_eq!(output.status, 0, "{output:?}");
    assert_eq!(counts(&output.json()), [2, 0, 0, 0]);
    let mut calls = setup.desk.calls();
    calls.sort();
    assert_eq!(calls, ["close", "close", "find", "find"]);
    let requests = setup.requests();
    for request in &requests {
        let offered = request["tools"].as_array().unwrap().iter();
        let offered: Vec<_> = offered.map(|tool| &tool["function"]["name"]).collect();
        assert_eq!(offered, ["find"]);
        assert!(!request.to_string().contains("hunter2!"), "{request}");
    }
    let prompts = requests.iter().map(last_words);
    let prompts: Vec<_> = prompts
        .filter(|words| words.contains("\"id\":7,\"code\""))
        .collect();
    assert!(
        !prompts.is_empty(),
        "the places of what is secret are told: {requests:#?}"
    );
}

#[test]
fn without_a_model_nothing_is_started() {
    let plan = "use desk\n\nplan p() -> string {\n    policy { verify: agents }\n    step one = desk.close(id: 7)\n    step two = desk.close(id: 8)\n    reply one.at\n}\n";
    let place = folder([
        ("planrun.yaml", "apps: [desk.yaml]\n"),
        ("desk.yaml", DESK),
        ("p.plan", plan),
    ]);
    let output = planrun(["run", "p.plan"]).within(place.path()).run();
    assert_eq!(output.status, 1, "{output:?}");
    assert_eq!(
        output
            .stderr
            .matches("`ask desk` cannot be answered")
            .count(),
        1,
        "{}",
        output.stderr
    );
}

#[test]
fn a_project_cannot_say_it_for_every_plan() {
    let place = folder([
        ("planrun.yaml", "policy: { verify: agents }\n"),
        ("p.plan", crate::check::GOOD),
    ]);
    let output = planrun(["run", "p.plan"]).within(place.path()).run();
    assert_eq!(output.status, 3, "{output:?}");
    assert!(
        output
            .stderr
            .contains("`verify: agents` belongs in the `policy` of a plan"),
        "{}",
        output.stderr
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_of_its_own_is_asked_where_the_project_says_that_asking_changes_nothing() {
    let plan = "use desk\n\nplan p() -> any {\n    policy { verify: agents }\n    step given = desk.draft(text: \"x\")\n    reply given\n}\n";
    for (classes, answer, expected) in [
        ("", json!({ "verified": true, "why": "" }), [0, 1, 0, 0]),
        (
            ", classes: { send: read }",
            json!({ "verified": true, "why": "" }),
            [1, 0, 0, 0],
        ),
        (
            ", classes: { send: read }",
            json!({ "verified": false, "why": "" }),
            [0, 0, 1, 0],
        ),
        (
            ", classes: { send: read }",
            json!({ "no": "idea" }),
            [0, 1, 0, 0],
        ),
    ] {
        let agent = Agent::default();
        agent.answers(&answer);
        let address = agent.open().await;
        let project = format!("tools:\n  desk: {{ a2a: \"{address}\"{classes} }}\n");
        let place = folder([("planrun.yaml", &*project), ("p.plan", plan)]);
        let run = |arguments: &[&str]| {
            planrun(arguments.iter().copied())
                .within(place.path())
                .run()
        };
        let locked = run(&["tools", "lock"]);
        assert_eq!(locked.status, 0, "{locked:?}");
        let output = run(&["run", "p.plan", "--format", "json"]);
        let document = output.json();
        assert_eq!(counts(&document), expected, "{document}");
        assert_eq!(output.status, i32::from(expected[2] > 0));
        let asked = agent.asked("SendStreamingMessage");
        let questions: Vec<_> = asked
            .iter()
            .map(|params| &params["message"])
            .filter(|message| message["metadata"]["skillId"].is_null())
            .collect();
        assert_eq!(
            questions.len(),
            usize::from(!classes.is_empty()),
            "{asked:#?}"
        );
        for question in questions {
            let text = question["parts"][0]["text"].as_str().unwrap();
            assert!(text.starts_with("Was `given` done?") && text.contains("JSON Schema"));
            assert_eq!(
                question["parts"][1]["data"],
                json!({ "step": "given", "arguments": { "text": "x" } })
            );
        }
    }
}
