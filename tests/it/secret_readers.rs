//! One run with secrets of every kind, and everything that shows a run: whatever is secret for one reader is secret for
//! all.

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::secrets::{EchoServer, clean_output};
use crate::support::{Output, folder, planrun};

/// An input that is sent as a bearer token, a constant in a header, the pair and the password of `Basic`, the result of a
/// tool, and a password before the host of an address.
const SECRETS: [&str; 6] = [
    "bearer-t0ken-4711",
    "constant-of-the-plan",
    "a2ltOmJhc2ljLXcwcmQ=",
    "basic-w0rd",
    "{\"tool\":\"login\",\"args\":{\"user\":\"kim\"}}",
    "address-w0rd",
];

const APP: &str = "name: vault
tools:
  - name: login
    effect: effect
    parameters: { type: object, properties: { user: { type: string } }, required: [user] }
    returns:
      type: object
      properties: { body: { type: string, x-sensitive: true } }
      required: [body]
    endpoint: http://ADDRESS/tool
";

const PLAN: &str = r#"use vault, http, sys
plan p(token: string, pair: string, word: string, password: string) -> any {
    allow { net: ["127.0.0.1:*"] }
    let site = "http://ADDRESS/x"
    step bearer = http.fetch(url: site, method: "POST", headers: { authorization: "Bearer ${token}" }, body: { tool: "x" })
    step fixed = http.fetch(url: site, method: "POST", headers: { "X-Api-Key": "constant-of-the-plan" }, body: { tool: "x" })
    step basic = http.fetch(url: site, method: "POST", headers: { "Proxy-Authorization": "Basic ${pair}" }, body: { tool: "x" })
    step login = vault.login(user: "kim")
    step issued = http.fetch(url: site, method: "POST", headers: { cookie: login.body }, body: { tool: "x" })
    step address = http.fetch(url: "http://kim:${password}@ADDRESS/x", method: "POST", body: { tool: "x" })
    step told = sys.echo(value: "told ${token}, constant-of-the-plan, ${pair}, ${word} and ${password}")
        after bearer, fixed, basic, issued, address
    step mail = input "Is it ${token}, ${word} or ${password}?" -> { text: string }
    reply { heard: [bearer, fixed, basic, issued, address], told: told, mail: mail.text }
}
"#;

/// Returns the answer to a request for the resource of a run from `planrun serve`.
fn resource(place: &TempDir, run: &str) -> Output {
    let request = |id: i64, method: &str, params: Json| {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    };
    let client = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" }
    });
    let uri = json!({ "uri": format!("planrun://runs/{run}") });
    let begun = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let lines = [
        request(1, "initialize", client),
        begun.to_string(),
        request(2, "resources/read", uri),
    ];
    planrun(["serve", "--stdio"])
        .within(place.path())
        .stdin(lines.join("\n") + "\n")
        .run()
}

#[test]
fn what_is_secret_for_one_reader_is_secret_for_all() {
    let server = EchoServer::new(&[]);
    let place = folder([
        ("p.plan", &*PLAN.replace("ADDRESS", &server.address)),
        ("apps/vault.yaml", &APP.replace("ADDRESS", &server.address)),
    ]);
    let [token, _, pair, word, _, password] = SECRETS;
    let inputs = json!({ "token": token, "pair": pair, "word": word, "password": password });
    std::fs::write(place.path().join("in.json"), inputs.to_string()).unwrap();
    let run = |arguments: &[&str]| planrun(arguments).within(place.path()).run();
    let forecast = run(&["run", "p.plan", "--input", "in.json", "--dry-run"]);
    assert!(forecast.stdout.contains("Is it [redacted]"), "{forecast:?}");
    clean_output("the dry run", &forecast, &SECRETS);
    let begun = run(&[
        "run", "p.plan", "--input", "in.json", "--run-id", "r", "--format", "ndjson",
    ]);
    assert_eq!(begun.status, 4, "{}", begun.stderr);
    clean_output("the paused run", &begun, &SECRETS);
    let text = json!({ "text": format!("to {token} with {word}") });
    let answer = format!("mail={text}");
    let ended = run(&["runs", "answer", "r", &answer, "--resume"]);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    clean_output("the run", &ended, &SECRETS);
    assert!(ended.stdout.contains("told [redacted]"), "{}", ended.stdout);

    let views: [&[&str]; 14] = [
        &["runs", "events", "r"],
        &["runs", "events", "r", "--format", "ndjson"],
        &["runs", "export", "r"],
        &["runs", "show", "r"],
        &["runs", "show", "r", "--format", "json"],
        &["runs", "show", "r", "--inputs"],
        &["runs", "list"],
        &["runs", "list", "--format", "json"],
        &["run", "--resume", "r"],
        &["run", "--resume", "r", "--format", "json"],
        &["run", "--resume", "r", "--format", "ndjson"],
        &["run", "--resume", "r", "--output", "full"],
        &["run", "--resume", "r", "--output", "observations"],
        &["run", "--resume", "r", "--output", "last"],
    ];
    for view in views {
        let shown = run(view);
        assert_eq!(shown.status, 0, "{view:?}: {}", shown.stderr);
        clean_output(&format!("{view:?}"), &shown, &SECRETS);
    }
    let shown = resource(&place, "r");
    assert!(
        shown.stdout.contains("step.settled") || shown.stdout.contains("told [redacted]"),
        "{shown:?}"
    );
    clean_output("the resource", &shown, &SECRETS);
    // All of the address but what is before its host is shown.
    let events = run(&["runs", "events", "r", "--format", "ndjson"]).stdout;
    let address = format!("\"url\":\"http://[redacted]@{}/x\"", server.address);
    assert!(events.contains(&address), "{events}");
    assert!(
        events.contains("\"sensitive\":[\"arguments.url.userinfo\"]"),
        "{events}"
    );
}

#[test]
fn no_view_shows_the_word_before_a_token_as_a_secret() {
    let server = EchoServer::new(&[]);
    let plan = r#"use http, sys
plan p(token: string) -> any {
    allow { net: ["127.0.0.1:*"] }
    step sent = http.fetch(url: "http://ADDRESS/x", method: "POST", headers: { authorization: "Bearer ${token}", "Idempotency-Key": "order-10023" }, body: { tool: "x" })
    step told = sys.echo(value: { token_type: "Bearer", order: "order-10023" }) after sent
    reply told
}
"#;
    let plan = plan.replace("ADDRESS", &server.address);
    // Configuration with an empty variable sends the scheme alone.
    let app = format!(
        "name: a\nheaders: {{ authorization: \"Bearer ${{TOK:}}\" }}\ntools:\n  - {{ name: get, endpoint: \"http://{}/tool\", effect: read }}\n",
        server.address
    );
    let place = folder([
        ("p.plan", &*plan),
        ("apps/a.yaml", &app),
        ("planrun.yaml", "env: [TOK]\n"),
    ]);
    for token in ["token=t0ken-4711", "token="] {
        let output = planrun(["run", "p.plan", "-i", token, "--format", "json"])
            .within(place.path())
            .run();
        let expected = json!({ "token_type": "Bearer", "order": "order-10023" });
        assert_eq!(output.json()["reply"], expected, "{output:?}");
    }
}

#[test]
fn a_secret_of_a_tool_goes_only_into_headers_and_variables_that_are_named_as_secret() {
    let app = APP.replace("ADDRESS", "127.0.0.1:9");
    let fetch = |arguments: &str| format!("http.fetch(url: \"http://127.0.0.1:9\", {arguments})");
    let run = |env: &str| format!("proc.run(argv: [\"true\"], env: {{ {env} }})");
    let headers = "`http.fetch` takes a secret in `headers`";
    let env = "`proc.run` takes a secret in `env`";
    for (call, help) in [
        (
            fetch("headers: { authorization: \"Bearer ${login.body}\" }"),
            None,
        ),
        (
            fetch("headers: { \"X-Api-Key\": login.body, accept: \"text/plain\" }"),
            None,
        ),
        (run("DESK_TOKEN: login.body"), None),
        (fetch("headers: { accept: login.body }"), Some(headers)),
        (
            fetch("headers: { \"Idempotency-Key\": login.body }"),
            Some(headers),
        ),
        (
            fetch("method: \"POST\", body: { token: login.body }"),
            Some(headers),
        ),
        (run("LANG: login.body"), Some(env)),
    ] {
        let plan = format!(
            "use vault, http, proc
plan p() -> any {{
    allow {{ net: [\"127.0.0.1:9\"], run: [\"true\"], env: [\"DESK_TOKEN\", \"LANG\"] }}
    step login = vault.login(user: \"kim\")
    step sent = {call}
    reply sent
}}
"
        );
        let place = folder([("p.plan", &*plan), ("apps/vault.yaml", &app)]);
        let checked = planrun(["check", "p.plan"]).within(place.path()).run();
        let words = checked
            .stdout
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert_eq!(checked.status, i32::from(help.is_some()), "{call}: {words}");
        assert_eq!(
            words.contains("error[secret-leaks]"),
            help.is_some(),
            "{call}: {words}"
        );
        assert!(
            help.is_none_or(|help| words.contains(help)),
            "{call}: {words}"
        );
    }
}
