//! `planrun agent`: a scripted model plans over real HTTP, and its plans are checked, approved, run and corrected.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use planrun_agent::planner::{Event, Options, Planner};
use planrun_lang::source::SourceFile;
use planrun_models::client::{HttpModel, Models};
use planrun_models::double::{DoubleOptions, ModelDouble, Script};
use planrun_runs::runs::Planrun;
use planrun_tools::host::{Host, MemoryHost};
use planrun_tools::project::{Location, Project};
use serde_json::{Value as Json, json};

use crate::fixes::Case;
use crate::mistakes::{MISTAKES, plan_of};
use crate::support::{ModelProject, Output, folder, last_words, planrun};

const DESK: &str = "name: desk
tools:
  - name: find
    description: Open tickets of a customer.
    endpoint: ${DESK_URL:http://127.0.0.1:8009}/tool
    effect: read
    parameters: { type: object, properties: { customer: { type: string } }, required: [customer] }
    returns: { type: array, items: { type: object, properties: { id: { type: integer } }, required: [id] } }
    errors: [ { reason: locked, class: tool.locked, happened: 'no' } ]
    mock:
      - { when: { customer: Bo }, fail: { reason: locked, error: the drawer of Bo is locked } }
      - { data: [ { id: 1 }, { id: 2 } ] }
  - name: close
    description: Closes a ticket.
    endpoint: ${DESK_URL:http://127.0.0.1:8009}/tool
    effect: effect
    parameters: { type: object, properties: { id: { type: integer } }, required: [id] }
    returns: { type: object, properties: { at: { type: string } }, required: [at] }
    mock: { at: noon }
";

/// Statements that find and count tickets without an effect, so that no approval is required.
const COUNT: &str = "step found = desk.find(customer: \"Li\")\nreply size(found)";

/// A project with the tools of `DESK`, and a scripted model.
struct TestProject(ModelProject);

impl TestProject {
    /// The model answers with these texts, one after the other.
    fn saying(texts: &[&str]) -> Self {
        let mut turns = String::new();
        for text in texts {
            let _ = writeln!(turns, "- {}", json!({ "text": text }));
        }
        Self(ModelProject::new(DESK, &turns, &[]))
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.0.program(arguments).run()
    }

    fn agent(&self, arguments: &[&str]) -> Output {
        let mut all = vec!["agent", "Count the tickets of Li"];
        all.extend(arguments);
        self.run(&all)
    }

    fn requests(&self) -> Vec<Json> {
        self.0.requests()
    }
}

fn fenced(plan: &str) -> String {
    format!("Here it is.\n```plan\n{plan}\n```")
}

#[test]
fn a_plan_that_only_reads_runs_and_its_reply_is_the_result() {
    let setup = TestProject::saying(&[&fenced(COUNT)]);
    let output = setup.agent(&[]);
    assert_eq!((output.status, output.json()), (0, json!(2)), "{output:?}");
    let requests = setup.requests();
    let [request] = requests.as_slice() else {
        panic!("{requests:?}")
    };
    let system = request["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("desk.find"), "the shortlist: {system}");
    assert!(system.contains("A plan calls tools"), "the card: {system}");
    assert_eq!(last_words(request), "Count the tickets of Li");
}

#[test]
fn findings_go_back_until_the_plan_is_clean() {
    let wrong = "step found = desk.find(client: 7)\nreply sized(found)";
    let setup = TestProject::saying(&[&fenced(wrong), &fenced(COUNT)]);
    let output = setup.agent(&[]);
    assert_eq!((output.status, output.json()), (0, json!(2)), "{output:?}");
    let requests = setup.requests();
    let message = last_words(&requests[1]);
    assert!(message.starts_with("Nothing was called."), "{message}");
    assert!(message.contains("unknown-argument"), "{message}");
    assert_eq!(setup.0.desk.calls(), ["find"]);
}

#[test]
fn what_is_certain_is_mended_without_the_model() {
    let setup = TestProject::saying(&[&fenced(
        "step found = desk.find(custmer: \"Li\")\nreply size(found)",
    )]);
    let output = setup.agent(&[]);
    let asked = setup.requests().len();
    // A misspelt argument has a certain fix.
    assert_eq!((output.status, asked), (0, 1), "{output:?}");
}

#[test]
fn findings_that_do_not_become_fewer_get_their_pages_and_then_an_end() {
    let wrong = fenced("step found = desk.find(customer: 7)\nreply size(found)");
    let setup = TestProject::saying(&[&wrong, &wrong, &wrong, &wrong, &wrong, &wrong, &wrong]);
    let output = setup.agent(&[]);
    assert_eq!(output.status, 1, "{output:?}");
    assert!(
        output.stderr.contains("still has errors after 3 rounds"),
        "{output:?}"
    );
    let requests = setup.requests();
    assert_eq!(requests.len(), 3);
    assert!(
        !last_words(&requests[1]).contains("About "),
        "the findings alone at first"
    );
    assert!(
        last_words(&requests[2]).contains("About wrong-type:"),
        "{}",
        last_words(&requests[2])
    );
    assert_eq!(setup.0.desk.calls(), [] as [String; 0]);
}

#[test]
fn rounds_are_bounded() {
    let wrong = fenced("step found = desk.find(customer: 7)\nreply size(found)");
    let setup = TestProject::saying(&[&wrong, &wrong]);
    let output = setup.agent(&["--rounds", "1"]);
    assert_eq!(
        (output.status, setup.requests().len()),
        (1, 1),
        "{output:?}"
    );
}

#[test]
fn an_answer_without_a_plan_is_asked_for_one_and_then_told() {
    let setup = TestProject::saying(&["I would rather not.", &fenced(COUNT)]);
    assert_eq!(setup.agent(&[]).status, 0);
    assert!(last_words(&setup.requests()[1]).starts_with("That has no plan."));
    let setup = TestProject::saying(&["No.", "No, I said."]);
    let output = setup.agent(&[]);
    assert_eq!(output.status, 1);
    assert!(
        output
            .stderr
            .contains("the model answered without a plan: No, I said."),
        "{output:?}"
    );
}

#[test]
fn a_plan_that_wants_inputs_is_told_that_nobody_gives_any() {
    let wants = fenced(
        "use desk\nplan p(who: string) -> int { step found = desk.find(customer: who) reply size(found) }",
    );
    let setup = TestProject::saying(&[&wants, &fenced(COUNT)]);
    assert_eq!(setup.agent(&[]).json(), json!(2));
    assert!(last_words(&setup.requests()[1]).contains("the plan has inputs, but none are given"));
    let two = fenced("plan a() -> int { reply 1 } plan b() -> int { reply 2 }");
    let setup = TestProject::saying(&[&two, &two]);
    let output = setup.agent(&[]);
    assert_eq!(output.status, 1);
    assert!(output.stderr.contains("Hand in one plan"), "{output:?}");
}

#[test]
fn tools_are_looked_up_in_the_middle() {
    let plan = json!({ "text": fenced(COUNT) });
    let script = format!(
        "- {{ calls: [{{ name: search, arguments: {{ query: close a ticket }} }}, {{ name: describe, arguments: {{ names: [desk.close] }} }}, {{ name: desk.close, arguments: {{ id: 1 }} }}, {{ name: search, arguments: \"{{query: 'find',}}\" }}, {{ name: describe, arguments: \"\" }}] }}\n- {plan}\n"
    );
    let setup = TestProject(ModelProject::new(DESK, &script, &[]));
    assert_eq!(setup.agent(&[]).status, 0);
    let requests = setup.requests();
    let messages = requests[1]["messages"].as_array().unwrap();
    let results: Vec<&str> = messages
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert!(results[0].contains("desk.close"), "{results:?}");
    assert!(results[1].contains("id: int"), "{results:?}");
    assert!(results[2].contains("step r = desk.close("), "{results:?}");
    assert!(results[3].contains("desk.find"), "{results:?}");
    assert!(results[4].contains("missing field `names`"), "{results:?}");
    assert_eq!(setup.0.desk.calls(), ["find"], "lookups call nothing");
}

#[test]
fn a_dry_run_shows_the_plan_and_calls_nothing() {
    let setup = TestProject::saying(&[&fenced("step c = desk.close(id: 1)\nreply c.at")]);
    let output = setup.agent(&["--dry-run"]);
    assert_eq!(output.status, 0, "{output:?}");
    assert!(
        output.stdout.contains("step c = desk.close(id: 1)"),
        "{output:?}"
    );
    assert!(
        output.stdout.contains("desk.close at most 1 effect"),
        "{output:?}"
    );
    assert_eq!(setup.0.desk.calls(), [] as [String; 0]);
}

#[test]
fn what_changes_something_waits_for_a_yes() {
    let setup = TestProject::saying(&[&fenced("step c = desk.close(id: 1)\nreply c.at")]);
    let output = setup.agent(&[]);
    assert_eq!(output.status, 4, "{output:?}");
    assert!(
        output.stderr.contains("desk.close: once (effect), id = 1"),
        "{output:?}"
    );
    assert_eq!(setup.0.desk.calls(), [] as [String; 0]);
    let runs = setup.run(&["runs", "list", "--format", "json"]).json();
    let run = runs["runs"][0]["run"].as_str().unwrap().to_owned();
    let answered = setup.run(&["runs", "answer", &run, "approval=true", "--resume"]);
    assert_eq!(answered.stdout, "noon\n", "{answered:?}");
    assert_eq!(setup.0.desk.calls(), ["close"]);
}

#[test]
fn a_plan_is_kept_under_a_name() {
    let setup = TestProject::saying(&[&fenced(COUNT)]);
    let output = setup.agent(&["--save", "count_tickets"]);
    assert_eq!(output.status, 0, "{output:?}");
    let again = setup.run(&["run", "plans/count_tickets.plan"]);
    assert_eq!(again.json(), json!(2), "{again:?}");
}

#[test]
fn a_profile_and_a_limit_reach_the_model_and_mistakes_in_it_are_told() {
    let setup = TestProject::saying(&[&fenced(COUNT)]);
    let file =
        |text: &str| std::fs::write(setup.0.folder.path().join("profile.yaml"), text).unwrap();
    file("persona: x\n");
    let output = setup.agent(&["--profile", "profile.yaml"]);
    assert_eq!(output.status, 3, "{output:?}");
    assert!(output.stderr.contains("persona"), "{output:?}");
    file("name: 小红\nlanguage: zh\ngoals: [be kind]\n");
    let output = setup.agent(&["--profile", "profile.yaml", "--max-steps", "7"]);
    assert_eq!(output.status, 0, "{output:?}");
    let requests = setup.requests();
    let system = requests[0]["messages"][0]["content"].as_str().unwrap();
    for words in [
        "You are 小红, general assistant.",
        "this language: zh",
        "- be kind",
        "at most 7 steps",
    ] {
        assert!(system.contains(words), "{words}: {system}");
    }
}

/// Errors of a plan are never dropped: each one is sent back to the model, and without a correct plan the request is
/// refused.
#[test]
fn s1_7_what_is_wrong_goes_back_and_is_never_left_out() {
    let plan = "step a = desk.lost(id: 1)\nstep b = desk.find()\nstep c = desk.find(customer: [1])\nreply b";
    let setup = TestProject::saying(&[&fenced(plan), &fenced(COUNT)]);
    assert_eq!(setup.agent(&[]).json(), json!(2));
    let requests = setup.requests();
    let message = last_words(&requests[1]);
    for code in ["unknown-tool", "missing-argument", "wrong-type"] {
        assert!(message.contains(code), "{code}: {message}");
    }
}

#[test]
fn s1_8_the_model_is_told_of_the_tools_that_the_request_speaks_of_and_may_call_any() {
    let mut app = DESK.to_owned();
    for number in 0..30 {
        let _ = writeln!(
            app,
            "  - {{ name: gauge_{number}, description: Pressure of valve {number}., endpoint: 'http://127.0.0.1:9/tool', effect: read, mock: {number} }}"
        );
    }
    let turns = format!(
        "- {}\n",
        json!({ "text": fenced(COUNT), "repeat": "forever" })
    );
    let setup = TestProject(ModelProject::new(&app, &turns, &[]));
    let prompt = |request: &str| {
        let output = setup.run(&["agent", request]);
        assert_eq!(
            output.json(),
            json!(2),
            "a tool that was not told of is as valid"
        );
        let requests = setup.requests();
        let system = requests.last().unwrap()["messages"][0]["content"].clone();
        let system = system.as_str().unwrap().to_owned();
        let (_, tools) = system.split_once("Tools that may serve").unwrap();
        tools.to_owned()
    };
    let tools = prompt("What is the pressure of valve 17?");
    assert!(tools.contains("gauge_17"), "{tools}");
    let lines = |tools: &str| tools.matches("desk.").count();
    assert!(lines(&tools) <= 12, "{tools}");
    assert!(prompt("Open tickets of a customer").contains("desk.find"));
}

#[test]
fn s1_1_a_field_of_the_profile_is_set_for_one_request() {
    let setup = TestProject::saying(&[&fenced(COUNT), &fenced(COUNT)]);
    let set = ["--set", "tone=warm", "--set", "goals=[be kind]"];
    assert_eq!(setup.agent(&set).status, 0);
    assert_eq!(setup.agent(&[]).status, 0);
    let requests = setup.requests();
    let system = |turn: usize| requests[turn]["messages"][0]["content"].as_str().unwrap();
    assert!(system(0).contains("Tone: warm.") && system(0).contains("- be kind"));
    assert!(system(1).contains("Tone: concise.") && !system(1).contains("be kind"));
    let output = setup.agent(&["--set", "mood=warm"]);
    assert_eq!(output.status, 2, "{output:?}");
    assert!(output.stderr.contains("mood"), "{output:?}");
}

#[test]
fn a_plan_in_json_comes_under_a_schema_and_runs_as_text() {
    let plan = SourceFile::new("<plan>", format!("use desk\n\nplan main() {{ {COUNT} }}"));
    let json = planrun_lang::syntax::json::encode(&planrun_lang::syntax::parse(&plan).file);
    let setup = TestProject::saying(&[&json.unwrap().to_string()]);
    let output = setup.agent(&["--form", "json", "--save", "counted"]);
    assert_eq!((output.status, output.json()), (0, json!(2)), "{output:?}");
    let requests = setup.requests();
    let format = &requests[0]["response_format"];
    assert_eq!(format["type"], "json_schema", "{format}");
    let schema = format["json_schema"]["schema"].to_string();
    assert!(schema.contains("desk.find"), "{schema}");
    let kept = setup.0.folder.path().join("plans/counted.plan");
    let kept = std::fs::read_to_string(kept).unwrap();
    assert!(kept.contains("step found = desk.find("), "{kept}");
}

#[test]
fn s0_11_a_request_is_planned_several_times_and_what_comes_of_it_is_counted() {
    let wrong = fenced("step found = desk.find(customer: 7)\nreply size(found)");
    let right = fenced(COUNT);
    let turns = json!([
        { "text": right },
        { "text": wrong }, { "text": right },
        { "text": "No." }, { "text": "No, I said." },
        { "text": wrong }, { "text": wrong }, { "text": wrong },
        { "status": 429, "error": "slow down", "repeat": "forever" },
    ]);
    let turns: String = turns
        .as_array()
        .unwrap()
        .iter()
        .fold(String::new(), |all, turn| format!("{all}- {turn}\n"));
    let files = [(
        "planrun.yaml",
        "env: [DESK_URL, OPENAI_API_KEY]\napps: [apps/desk.yaml]\n",
    )];
    let setup = TestProject(ModelProject::new(DESK, &turns, &files));
    let output = setup.agent(&["--dry-run", "--repeat", "5", "--format", "json"]);
    assert_eq!(output.status, 1, "{output:?}");
    let report = output.json();
    let endings = json!({ "planned": 2, "no_plan": 1, "errors": 1, "lookups": 0, "rate_limited": 1, "no_answer": 0 });
    assert_eq!(report["endings"], endings, "{report}");
    assert_eq!(report["turns"], json!({ "1": 1, "2": 1 }));
    assert_eq!(setup.0.desk.calls(), [] as [String; 0]);
    let output = setup.agent(&["--repeat", "5"]);
    assert_eq!(output.status, 2, "each of them would run: {output:?}");
}

#[test]
fn a_model_that_cannot_be_asked_is_told_before_anything() {
    let setup = TestProject::saying(&[]);
    let output = planrun(["agent", "x"]).within(setup.0.folder.path()).run();
    assert_eq!(output.status, 3);
    assert!(output.stderr.contains("set OPENAI_MODEL"), "{output:?}");
    let output = setup.agent(&[]);
    assert_eq!(output.status, 3, "{output:?}");
    assert!(
        output.stderr.contains("the model gave no answer"),
        "{output:?}"
    );
}

#[test]
fn errors_of_the_project_are_no_matter_of_the_model() {
    let setup = TestProject::saying(&[]);
    let broken = setup.0.folder.path().join("apps/desk.yaml");
    std::fs::write(broken, DESK.replace("effect: read", "effect: reads")).unwrap();
    let output = setup.agent(&[]);
    assert_eq!(output.status, 1, "{output:?}");
    assert!(output.stderr.contains("app-invalid"), "{output:?}");
    assert!(!output.stderr.contains("planning"), "{output:?}");
}

#[test]
fn a_plan_that_has_failed_is_corrected() {
    let both = "step li = desk.find(customer: \"Li\")\nstep bo = desk.find(customer: size(li) > 0 ? \"Bo\" : \"Al\")\nreply size(li) + size(bo)";
    let one = "step li = desk.find(customer: \"Li\")\nreply size(li)";
    let setup = TestProject::saying(&[&fenced(both), &fenced(one)]);
    let output = setup.agent(&[]);
    assert_eq!((output.status, output.json()), (0, json!(2)), "{output:?}");
    assert_eq!(
        setup.0.desk.calls(),
        ["find", "find"],
        "what is completed is taken over"
    );
    let requests = setup.requests();
    let message = last_words(&requests[1]);
    assert!(
        message.contains("at bo: tool.locked: desk.find: the drawer of Bo is locked"),
        "{message}"
    );
    assert!(!message.contains("run(plan"), "{message}");

    let setup = TestProject::saying(&[&fenced(both)]);
    let output = setup.agent(&["--repairs", "0"]);
    assert_eq!(output.status, 1);
    assert!(output.stderr.contains("tool.locked"), "{output:?}");
}

/// A correction that changes what an effect was called with is not run: the model is told to keep the step.
#[test]
fn a_correction_that_would_repeat_an_effect_goes_back_to_the_model() {
    let first = "step a = desk.close(id: 1)\nstep bo = desk.find(customer: \"Bo\")\nreply a.at";
    let changed = "step a = desk.close(id: 2)\nreply a.at";
    let added = "step a = desk.close(id: 1)\nstep b = desk.close(id: 2)\nreply a.at + b.at";
    let yes = [("yes or no", "y\n"); 2];
    let with = |repairs: &str, texts: &[&str]| {
        let setup = TestProject::saying(texts);
        let arguments = ["agent", "Close them", "--repairs", repairs];
        let seen = setup.0.program(&arguments).on_terminal(&yes)?;
        Some((setup, seen))
    };
    let texts = [fenced(first), fenced(changed), fenced(added)];
    let Some((setup, seen)) = with("2", &texts.each_ref().map(String::as_str)) else {
        return;
    };
    assert_eq!(seen["status"], 0, "{seen}");
    assert_eq!(setup.0.desk.calls(), ["close", "find", "close"]);
    let requests = setup.requests();
    let message = last_words(&requests[2]);
    assert!(
        message.contains("which stay made: a (desk.close). Keep these steps as they were"),
        "{message}"
    );

    let (setup, seen) = with("1", &texts.each_ref().map(String::as_str)).unwrap();
    assert_eq!(seen["status"], 1, "{seen}");
    let output = seen["output"].as_str().unwrap();
    assert!(
        output.contains("cannot be run") && !output.contains("--yes"),
        "{output}"
    );
    assert_eq!(setup.0.desk.calls(), ["close", "find"]);
}

/// Each of the most frequent mistakes of models is sent back as one diagnostic, unless its fix is certain.
#[tokio::test]
async fn every_mistake_of_models_ends_in_a_clean_plan() {
    let folder = folder([("planrun.yaml", "")]);
    let planrun = Planrun::open(folder.path()).unwrap();
    let mut reported = 0;
    for (statements, code, _) in MISTAKES.iter().copied().flatten() {
        let turns = json!([{ "text": fenced(&plan_of(statements)) }, { "text": fenced("reply 7"), "repeat": "forever" }]);
        let source = SourceFile::new("script.yaml", json!({ "turns": turns }).to_string());
        let host: Arc<dyn Host> = Arc::new(MemoryHost::default());
        let script = Script::read(&source).unwrap();
        let double = ModelDouble::start(script, DoubleOptions::default(), host)
            .await
            .unwrap();
        let model = model_at(&double.base_url());
        let mut ignore = |_: Event<'_>| {};
        let mut planner =
            Planner::new(planrun.clone(), &model, Options::default(), &mut ignore).unwrap();
        let plan = planner.plan("Do it").await.unwrap();
        assert_eq!(plan.text, "reply 7", "{statements}");
        let requests = double.requests();
        let sent = requests[1].body["messages"].to_string();
        let is_reported = sent.contains(&format!("error[{code}]"));
        let last = last_words(&requests[1].body);
        // A mistake with a certain fix is corrected before the model sees it. The remaining error is that there are two
        // plans.
        let is_mended = last.contains("there are several plans");
        let is_certain = has_safe_fix(&plan_of(statements));
        assert!(
            is_reported != is_mended && (is_mended || !is_certain),
            "{statements}\n{last}"
        );
        reported += usize::from(is_reported);
        double.shutdown().await;
    }
    let all = MISTAKES.iter().copied().flatten().count();
    assert!(
        all >= 40 && reported > 0 && reported < all,
        "{reported} of {all}"
    );
}

/// Returns true if the only error of a plan has a safe fix.
fn has_safe_fix(text: &str) -> bool {
    let case = Case {
        text: text.to_owned(),
        files: BTreeMap::new(),
    };
    let found = case.check(text);
    let error = found.iter().find(|found| found.is_error()).unwrap();
    error.fix.as_ref().is_some_and(|fix| fix.safe)
}

fn model_at(address: &str) -> HttpModel {
    let file = format!("models: {{ m: {{ base_url: '{address}', model: tiny }} }}");
    let host = MemoryHost::default().with_file("/p/planrun.yaml", file);
    let host: Arc<dyn Host> = Arc::new(host);
    let location = Location::of(&*host, None, Some(Path::new("/p"))).unwrap();
    let (project, _) = Project::open(&*host, &location).unwrap();
    Models::of(&project, &host).open(None).unwrap()
}

#[test]
fn a_request_that_is_too_large_is_refused_and_not_cut() {
    let setup = TestProject::saying(&[&fenced(COUNT)]);
    let file = setup.0.folder.path().join("request.txt");
    let limit = 256 * 1024;
    // The limit is in the middle of a character.
    for text in ["x".repeat(limit + 1), "é".repeat(limit / 2) + "é"] {
        std::fs::write(&file, text).unwrap();
        for mode in ["plan", "loop"] {
            let output = setup.run(&["agent", "--mode", mode, "--input", "request.txt"]);
            assert_eq!(output.status, 2, "{output:?}");
            assert!(
                output.stderr.contains("the request is larger than 256 KiB"),
                "{}",
                output.stderr
            );
        }
    }
    assert_eq!(setup.requests(), [] as [Json; 0]);
    std::fs::write(&file, "x".repeat(limit)).unwrap();
    let output = setup.run(&["agent", "--input", "request.txt"]);
    assert_eq!(output.status, 0, "{output:?}");
    let empty = setup.run(&["agent", " "]);
    assert_eq!(
        (empty.status, empty.stderr.as_str()),
        (2, "error: the request is empty\n")
    );
}

/// Its beginning may lack an `undo`, a check, or the last steps.
#[test]
fn a_plan_that_was_cut_off_is_not_run() {
    let cut = json!({ "text": "```plan\nstep a = desk.close(id: 1)\n", "stop": "length" });
    let whole = json!({ "text": fenced(COUNT) });
    let setup = TestProject(ModelProject::new(DESK, &format!("- {cut}\n- {whole}"), &[]));
    let output = setup.agent(&[]);
    assert_eq!((output.status, output.json()), (0, json!(2)), "{output:?}");
    assert!(last_words(&setup.requests()[1]).contains("cut off at the limit of tokens"));
    assert_eq!(setup.0.desk.calls(), ["find"]);
}

/// A person who says no is asked once.
#[test]
fn a_plan_that_was_refused_is_not_followed_by_another() {
    let close = fenced("step closed = desk.close(id: 1)\nreply closed.at");
    let setup = TestProject::saying(&[&close, &close]);
    let output = setup.agent(&[]);
    assert_eq!(output.status, 4, "{output:?}");
    let run = output.stderr.split("run ").nth(1).unwrap();
    let run = run.split(' ').next().unwrap();
    let answered = setup.run(&["runs", "answer", run, "approval=false", "--resume"]);
    assert!(answered.stderr.contains("denied.human"), "{answered:?}");
    assert!(setup.0.desk.calls().is_empty());
}

#[test]
fn a_name_that_no_plan_can_have_is_refused_before_the_model_is_asked() {
    let setup = TestProject::saying(&[&fenced(COUNT)]);
    let output = setup.agent(&["--save", "../tidy"]);
    assert_eq!(output.status, 2, "{output:?}");
    assert!(
        output.stderr.contains("`../tidy` is not a valid plan name"),
        "{output:?}"
    );
    assert_eq!(setup.requests().len(), 0);
}
