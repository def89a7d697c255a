//! Secrets: credentials never become values, and sensitive values are always redacted.

use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::{HeaderMap, Uri};
use axum::routing::any;
use base64::Engine as _;
use base64::prelude::{
    BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD,
};
use serde_json::{Value as Json, json};

use crate::support::{Output, Program, folder, planrun};

/// A server that echoes whatever it gets, in every encoding.
pub struct EchoServer {
    pub address: String,
    bodies: Arc<Mutex<Vec<String>>>,
    _runtime: tokio::runtime::Runtime,
}

impl EchoServer {
    pub fn new(secrets: &'static [&'static str]) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let bodies: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = bodies.clone();
        let answer = move |headers: HeaderMap, uri: Uri, body: String| async move {
            kept.lock().unwrap().push(body.clone());
            let headers: Vec<String> = headers
                .values()
                .map(|value| value.to_str().unwrap().to_owned())
                .collect();
            let echoed = json!({"headers": headers, "uri": uri.to_string(), "forms": secrets.iter().map(|secret| forms(secret)).collect::<Vec<_>>()});
            let call: Json = serde_json::from_str(&body).unwrap();
            axum::Json(match call["tool"].as_str() {
                Some("fail") => {
                    json!({"success": false, "reason": "busy", "error": echoed.to_string()})
                }
                _ => json!({"success": true, "data": {"told": echoed, "body": body}}),
            })
        };
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let router = Router::new().fallback(any(answer));
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self {
            address,
            bodies,
            _runtime: runtime,
        }
    }
}

/// Returns a secret in every encoding, alone and after a name.
fn forms(secret: &str) -> Vec<String> {
    let mut forms = vec![secret.to_owned(), serde_json::to_string(secret).unwrap()];
    for before in ["", "u:", "us:", "user:"] {
        let pair = format!("{before}{secret}");
        for engine in [
            BASE64_STANDARD,
            BASE64_STANDARD_NO_PAD,
            BASE64_URL_SAFE,
            BASE64_URL_SAFE_NO_PAD,
        ] {
            forms.push(engine.encode(&pair));
        }
    }
    let hex = secret
        .bytes()
        .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    let percent = secret
        .bytes()
        .fold(String::new(), |text, byte| format!("{text}%{byte:02X}"));
    let url = reqwest::Url::parse_with_params("http://a/", [("k", secret)]).unwrap();
    forms.extend([
        hex.to_uppercase(),
        hex,
        percent.to_lowercase(),
        percent,
        url.query().unwrap()[2..].to_owned(),
    ]);
    forms
}

/// Returns the encodings, or their relevant parts, that a text contains.
fn leaked(text: &[u8], secret: &str) -> Vec<String> {
    let part = |form: &String| {
        // The first characters of base64 may encode the name before the secret.
        let skipped = form
            .char_indices()
            .nth(if form.len() > 24 { 8 } else { 0 })
            .map_or(0, |(at, _)| at);
        form[skipped..].trim_end_matches('=').to_owned()
    };
    let found = |form: &String| {
        text.windows(form.len())
            .any(|window| window == form.as_bytes())
    };
    forms(secret).iter().map(part).filter(found).collect()
}

/// Returns all bytes of the journal and the files next to it.
fn journal(place: &Path) -> Vec<u8> {
    let files = std::fs::read_dir(place.join(".planrun"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.is_file())
        .flat_map(|path| std::fs::read(path).unwrap())
        .collect()
}

fn clean(what: &str, bytes: &[u8], secrets: &[&str]) {
    for secret in secrets {
        assert_eq!(
            leaked(bytes, secret),
            [""; 0],
            "{what}: {}",
            String::from_utf8_lossy(bytes)
        );
    }
}

pub fn clean_output(what: &str, output: &Output, secrets: &[&str]) {
    clean(what, output.stdout.as_bytes(), secrets);
    clean(what, output.stderr.as_bytes(), secrets);
}

/// A token, a password and a query key.
const CREDENTIALS: [&str; 3] = ["Tok/en+\"32=&1", "pass:w0rd/%41@", "k3y-0f-the-query+"];

fn with_credentials(program: Program) -> Program {
    let [token, password, key] = CREDENTIALS;
    let program = program
        .variable("HR_TOKEN", token)
        .variable("HR_PASSWORD", password)
        .variable("HR_KEY", key);
    program.variable("HR_LOGIN", "bot:pass%3Aw0rd%2F%2541%40")
}

#[test]
fn credentials_of_tools_never_become_values() {
    let server = EchoServer::new(&CREDENTIALS);
    let address = &server.address;
    let key = "${HR_KEY}";
    let app = format!(
        "name: hr\nheaders: {{ X-Token: 'Bearer ${{HR_TOKEN}}' }}\ntools:\n  \
         - {{ name: find, endpoint: 'http://{address}/tool?key={key}' }}\n  \
         - {{ name: fail, endpoint: 'http://${{HR_LOGIN}}@{address}/tool', errors: [busy] }}\n"
    );
    let plan = "use hr, http, proc, fs
        plan p(url: string) {
            allow { net: [\"127.0.0.1:*\"], run: [\"sh\"], env: [\"HR_PASSWORD\"], read: [\"left.txt\"] }
            step found = hr.find()
            step fetched = http.fetch(url: url, method: \"POST\", body: { tool: \"x\" })
            step ran = proc.run(argv: [\"sh\", \"-c\", \"echo $HR_PASSWORD; printf %s \\\"$HR_PASSWORD\\\" | base64 >&2\"])
            step read = fs.read(path: \"left.txt\")
            step failed = hr.fail() recover tool.busy as e => { message: e.message }
            step again = hr.fail()
            reply [found, fetched, ran, read, failed, again]
        }";
    let left = CREDENTIALS
        .map(|secret| forms(secret).join("\n"))
        .join("\n");
    let place = folder([
        ("p.plan", plan),
        (
            "planrun.yaml",
            "env: [HR_TOKEN, HR_PASSWORD, HR_KEY, HR_LOGIN]\n",
        ),
        ("apps/hr.yaml", &*app),
        ("left.txt", &*left),
    ]);
    let url = format!("url=http://{address}/x");
    for format in ["human", "json", "ndjson"] {
        let program = planrun([
            "run", "p.plan", "-i", &url, "--format", format, "--output", "full",
        ]);
        let output = with_credentials(program).within(place.path()).run();
        assert_eq!(output.status, 1, "{}", output.stderr);
        clean_output(format, &output, &CREDENTIALS);
        assert!(
            format != "human" || output.stderr.contains("tool.busy"),
            "{}",
            output.stderr
        );
        assert!(output.stdout.contains("[redacted]"), "{}", output.stdout);
    }
    clean("the journal", &journal(place.path()), &CREDENTIALS);
    assert!(server.bodies.lock().unwrap().len() >= 12);
}

#[test]
fn a_credential_that_is_too_short_to_be_recognized_is_told() {
    let app = "name: hr\nheaders: { X-Token: '${HR_TOKEN}' }\ntools: []\n";
    let place = folder([
        ("p.plan", "plan p() {}"),
        ("planrun.yaml", "env: [HR_TOKEN]\n"),
        ("apps/hr.yaml", app),
    ]);
    let output = planrun(["check", "."])
        .variable("HR_TOKEN", "abc")
        .within(place.path())
        .run();
    assert!(
        output
            .stdout
            .contains("a secret of fewer than 4 characters"),
        "{}",
        output.stdout
    );
    assert!(
        output.stdout.contains("apps/hr.yaml:2"),
        "{}",
        output.stdout
    );
    let output = planrun(["check", "."])
        .variable("HR_TOKEN", "abcd")
        .within(place.path())
        .run();
    assert!(!output.stdout.contains("secret"), "{}", output.stdout);
}

const VAULT: &str = "
tools:
  - name: open
    effect: effect
    parameters:
      type: object
      properties:
        password: { type: string, format: password }
        pin: { type: integer, x-sensitive: true }
        note: { type: string }
      required: [password]
    endpoint: http://ADDRESS/tool
  - name: rotate
    effect: effect
    returns:
      type: object
      properties:
        body: { type: string, writeOnly: true }
    endpoint: http://ADDRESS/tool
";

const OPENED: &str = "use vault, sys
    type Login = { user: string, password: secret }
    plan p(login: Login, pin: int) {
        step said = sys.echo(value: \"${login.user} has ${login.password}\")
        step opened = vault.open(password: login.password, pin: pin, note: \"with ${login.password}\")
            confirm \"Open with ${login.password}?\" by \"desk\"
        step asked = input \"A new one?\" -> { fresh: secret }
        step more = vault.open(password: asked.fresh)
        step new = vault.rotate()
        step last = sys.fail(class: \"tool.gone\", message: \"no ${asked.fresh} and no ${login.password}\") after new
        reply { said: said, opened: opened }
    }";

#[test]
fn sensitive_values_are_journaled_and_never_shown() {
    const SECRETS: [&str; 3] = ["corr\"ect-horse", "fresh+b4ttery", "48151623"];
    let server = EchoServer::new(&["corr\"ect-horse"]);
    let app = format!("name: vault{}", VAULT.replace("ADDRESS", &server.address));
    let input =
        json!({"login": {"user": "ann", "password": SECRETS[0]}, "pin": 48_151_623}).to_string();
    let place = folder([
        ("p.plan", OPENED),
        ("apps/vault.yaml", &*app),
        ("in.json", &*input),
    ]);
    let run = |arguments: &[&str]| planrun(arguments).within(place.path()).run();
    let output = run(&[
        "run", "p.plan", "--input", "in.json", "--run-id", "r", "--format", "ndjson",
    ]);
    assert_eq!(output.status, 4, "{}", output.stderr);
    clean_output("paused", &output, &SECRETS);
    assert!(
        output
            .stdout
            .contains("\"password\":\"[redacted]\",\"pin\":\"[redacted]\""),
        "{}",
        output.stdout
    );
    assert!(
        output.stderr.contains("Open with [redacted]?"),
        "{}",
        output.stderr
    );
    let output = run(&[
        "runs",
        "answer",
        "r",
        "opened.confirm=true",
        "--by",
        "desk",
        "--resume",
    ]);
    clean_output("gone on", &output, &SECRETS);
    let fresh = format!("asked={}", json!({"fresh": SECRETS[1]}));
    let output = run(&["runs", "answer", "r", &fresh, "--resume"]);
    assert_eq!(output.status, 1, "{}", output.stderr);
    assert!(
        output
            .stderr
            .contains("tool.gone: no [redacted] and no [redacted]"),
        "{}",
        output.stderr
    );
    clean_output("ended", &output, &SECRETS);
    // The requests contain the real values.
    let sent: Vec<Json> = server
        .bodies
        .lock()
        .unwrap()
        .iter()
        .map(|body| serde_json::from_str(body).unwrap())
        .collect();
    assert_eq!(sent[0]["args"]["password"], SECRETS[0]);
    assert_eq!(
        (&sent[0]["args"]["pin"], &sent[1]["args"]["password"]),
        (&json!(48_151_623), &json!(SECRETS[1]))
    );
    for view in [
        &["runs", "show", "r"][..],
        &["runs", "show", "r", "--format", "json"],
        &["runs", "events", "r"],
        &["runs", "events", "r", "--format", "ndjson"],
        &["runs", "list"],
        &["runs", "list", "--format", "json"],
        &["runs", "export", "r"],
        &["run", "--resume", "r", "--format", "json"],
        &["run", "--resume", "r", "--format", "ndjson"],
        &["run", "--resume", "r", "--output", "full"],
    ] {
        let output = run(view);
        assert!(
            !output.stdout.is_empty() || view.contains(&"--output"),
            "{view:?}: {}",
            output.stderr
        );
        clean_output(&format!("{view:?}"), &output, &SECRETS);
    }
    let whole = run(&["runs", "export", "r", "--with-secrets"]);
    assert!(
        SECRETS
            .iter()
            .all(|secret| !leaked(whole.stdout.as_bytes(), secret).is_empty()),
        "{}",
        whole.stdout
    );
    for exported in [whole, run(&["runs", "export", "r"])] {
        let proved = planrun(["runs", "export", "--verify", "-"])
            .stdin(exported.stdout)
            .within(place.path())
            .run();
        assert_eq!(proved.status, 0, "{}", proved.stderr);
    }
}

#[test]
fn a_field_with_dots_in_its_name_is_hidden() {
    let server = EchoServer::new(&[]);
    let app = VAULT.replace("ADDRESS", &server.address);
    let app = format!("name: vault{}", app.replace("pin:", "X.Api.Pin:"));
    let plan = "use vault plan p(login: { `a.b`: secret }) {
        step o = vault.open(password: \"ab\", `X.Api.Pin`: 7, note: login.`a.b`)
        reply o
    }";
    let input = json!({"login": {"a.b": "hidden-words"}}).to_string();
    let place = folder([
        ("p.plan", plan),
        ("apps/vault.yaml", &*app),
        ("in.json", &*input),
    ]);
    let run = |arguments: &[&str]| planrun(arguments).within(place.path()).run();
    let output = run(&[
        "run", "p.plan", "--input", "in.json", "--run-id", "r", "--format", "json",
    ]);
    assert_eq!(
        output.json()["steps"][0]["arguments"],
        json!({"password": "[redacted]", "X.Api.Pin": "[redacted]", "note": "[redacted]"})
    );
    let export = run(&["runs", "export", "r"]).stdout;
    assert!(
        export.contains("\"X.Api.Pin\":\"[redacted]\"") && !export.contains("hidden-words"),
        "{export}"
    );
}

#[test]
fn what_is_short_is_hidden_where_it_is_labelled() {
    let server = EchoServer::new(&[]);
    let app = format!("name: vault{}", VAULT.replace("ADDRESS", &server.address));
    let plan = "use vault plan p() { step o = vault.open(password: \"ab\", pin: 7) }";
    let place = folder([("p.plan", plan), ("apps/vault.yaml", &*app)]);
    let run = |arguments: &[&str]| planrun(arguments).within(place.path()).run();
    let output = run(&["run", "p.plan", "--run-id", "r", "--format", "json"]);
    assert_eq!(
        output.json()["steps"][0]["arguments"],
        json!({"password": "[redacted]", "pin": "[redacted]"})
    );
    let events = run(&[
        "runs",
        "events",
        "r",
        "--event",
        "step.running",
        "--format",
        "ndjson",
    ]);
    let event: Json = serde_json::from_str(&events.stdout).unwrap();
    assert_eq!(
        event["arguments"],
        json!({"password": "[redacted]", "pin": "[redacted]"})
    );
    assert_eq!(
        event["sensitive"],
        json!(["arguments.password", "arguments.pin"])
    );
    assert!(
        run(&["runs", "export", "r"])
            .stdout
            .contains("\"pin\":\"[redacted]\"")
    );
}

#[test]
fn the_options_of_a_question_are_not_shown_if_they_are_secret_and_can_be_chosen() {
    const SECRETS: [&str; 2] = ["battery+st4ple", "horse-c0rrect"];
    let plan = "plan p(first: secret, second: secret) -> string {
        step form = input \"Which of ${first}?\" -> { choice: string in [first, second, \"other\"] }
        reply form.choice == second ? \"the second\" : \"none\"
    }";
    let place = folder([("p.plan", plan)]);
    let run = |arguments: &[&str]| planrun(arguments).within(place.path()).run();
    let [first, second] = SECRETS;
    let (one, two) = (format!("first={first}"), format!("second={second}"));
    let output = run(&[
        "run", "p.plan", "-i", &one, "-i", &two, "--run-id", "r", "--format", "ndjson",
    ]);
    assert_eq!(output.status, 4, "{}", output.stderr);
    clean_output("asked", &output, &SECRETS);
    for view in [
        &["runs", "show", "r"][..],
        &["runs", "show", "r", "--format", "json"],
        &["runs", "events", "r"],
        &["runs", "events", "r", "--format", "ndjson"],
        &["runs", "inbox"],
        &["runs", "inbox", "--format", "json"],
        &["runs", "export", "r"],
    ] {
        let output = run(view);
        assert_eq!(output.status, 0, "{view:?}: {}", output.stderr);
        clean_output(&format!("{view:?}"), &output, &SECRETS);
    }
    let wrong = run(&["runs", "answer", "r", "form={\"choice\": \"no\"}"]);
    assert_eq!(wrong.status, 2, "{}", wrong.stderr);
    clean_output("refused", &wrong, &SECRETS);
    let answer = format!("form={}", json!({"choice": second}));
    let output = run(&["runs", "answer", "r", &answer, "--resume"]);
    assert_eq!(
        (output.status, &*output.stdout),
        (0, "the second\n"),
        "{}",
        output.stderr
    );
}

#[test]
fn a_key_of_an_element_that_the_check_knows_to_be_secret_is_an_error() {
    let app = format!("name: vault{}", VAULT.replace("ADDRESS", "127.0.0.1:9"));
    let app = app.replace(
        "- name: rotate\n    effect: effect",
        "- name: rotate\n    sensitive: [result.body]\n    effect: effect",
    );
    let keyed = |inputs: &str, steps: &str, element: &str, by: &str| {
        let plan = format!(
            "use vault, sys
            plan p({inputs}) {{
                {steps}
                step l = each x in [{element}, \"b\"] max 3 by {by} {{ step o = sys.echo(value: 1) yield o }}
                reply l
            }}"
        );
        let place = folder([("p.plan", &*plan), ("apps/vault.yaml", &*app)]);
        planrun(["check", "p.plan"]).within(place.path()).run()
    };
    for (inputs, steps, element, by, message) in [
        (
            "pw: secret",
            "",
            "pw",
            "x",
            "the secret input `pw` is exposed in the key of an element",
        ),
        (
            "pw: secret",
            "let k = \"k-${pw}\"",
            "k",
            "x",
            "the secret input `pw` is exposed in the key of an element",
        ),
        (
            "",
            "step n = vault.rotate()",
            "string(n.body)",
            "x",
            "a secret of `vault.rotate` is exposed in the key of an element",
        ),
    ] {
        let output = keyed(inputs, steps, element, by);
        assert_eq!(output.status, 1, "{element}: {}", output.stdout);
        assert!(
            output.stdout.contains("error[secret-leaks]") && output.stdout.contains(message),
            "{element}: {}",
            output.stdout
        );
    }
    let output = keyed("pw: secret", "", "pw", "size(x)");
    assert_eq!(output.status, 0, "{}", output.stdout);
}

#[test]
fn an_element_is_never_identified_by_a_secret() {
    const SECRETS: [&str; 1] = ["hunter2-c0rrect"];
    let plan = "use sys
        type Login = { user: string, password: secret }
        plan p(login: Login) {
            step l = each x in [login.user, login.password] max 3 by x {
                step o = sys.echo(value: 1) confirm \"ok ${x}\" by \"desk\"
                yield o
            }
            reply l
        }";
    let input = json!({"login": {"user": "ann", "password": SECRETS[0]}}).to_string();
    let place = folder([("p.plan", plan), ("in.json", &*input)]);
    let run = |arguments: &[&str]| planrun(arguments).within(place.path()).run();
    let dry = run(&["run", "p.plan", "--input", "in.json", "--dry-run"]);
    assert!(dry.stdout.contains("l[\"[redacted]\"].o"), "{}", dry.stdout);
    clean_output("dry run", &dry, &SECRETS);
    let output = run(&["run", "p.plan", "--input", "in.json", "--run-id", "r"]);
    assert_eq!(output.status, 1, "{}", output.stderr);
    let message = "`by` evaluates to a key that contains a secret";
    assert!(
        output.stderr.contains("validation.expression") && output.stderr.contains(message),
        "{}",
        output.stderr
    );
    for view in [
        &["runs", "show", "r"][..],
        &["runs", "show", "r", "--format", "json"],
        &["runs", "events", "r"],
        &["runs", "list"],
        &["runs", "inbox", "--format", "json"],
        &["run", "--resume", "r", "--format", "json"],
        &["run", "--resume", "r", "--output", "full"],
    ] {
        let shown = run(view);
        clean_output(&format!("{view:?}"), &shown, &SECRETS);
        assert!(!shown.stdout.contains("l["), "{view:?}: {}", shown.stdout);
    }
}

#[test]
fn the_reason_why_an_effect_was_not_undone_shows_no_secret() {
    let server = EchoServer::new(&[]);
    let app = format!("name: vault{}", VAULT.replace("ADDRESS", &server.address));
    let plan = "use vault, sys
        plan p(pw: secret) {
            step o = vault.open(password: pw) undo sys.fail(class: \"tool.gone\", message: \"no ${pw}\")
            step bad = sys.fail(class: \"tool.bad\", message: \"bad\") after o
        }";
    let place = folder([("p.plan", plan), ("apps/vault.yaml", &*app)]);
    let output = planrun(["run", "p.plan", "-i", "pw=hunter2-c0rrect"])
        .within(place.path())
        .run();
    assert!(
        output.stderr.contains("not undone, since `o.undo"),
        "{}",
        output.stderr
    );
    clean_output("not undone", &output, &["hunter2-c0rrect"]);
}

#[test]
fn json_in_place_of_a_file_of_inputs_is_not_repeated() {
    let files = folder([(
        "a.plan",
        "plan a(pw: secret) -> int {\n    reply size(pw)\n}\n",
    )]);
    let given = r#" {"pw": "hunter2secret"}"#;
    let output = planrun(["run", "a.plan", "--input", given]);
    let output = output.within(files.path()).run();
    assert_eq!((output.status, &*output.stdout), (2, ""), "{output:?}");
    let told = "`--input` takes a file, not JSON";
    assert!(output.stderr.contains(told), "{output:?}");
    assert!(!output.stderr.contains("hunter2secret"), "{output:?}");
}
