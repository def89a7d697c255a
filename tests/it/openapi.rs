//! OpenAPI documents and plain REST as tools: their settings in a project, plans that call them, and their mock.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use planrun_lang::types::Type;
use planrun_tools::host::{Host, RealHost};
use planrun_tools::project::{Location, Project};
use serde_json::{Value as Json, json};

use crate::support::{Mock, Output, cases, folder, planrun};

const DOCUMENT: &str = r##"openapi: 3.1.0
info: { title: Shop, version: "1" }
paths:
  /orders/{id}:
    get:
      operationId: find
      parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
      responses:
        "200": { description: it, content: { application/json: { schema: { $ref: "#/components/schemas/Order" } } } }
        "404": { description: none }
  /orders:
    post:
      operationId: place
      requestBody: { required: true, content: { application/json: { schema: { $ref: "#/components/schemas/Order" } } } }
      responses:
        "201": { description: it, content: { application/json: { schema: { $ref: "#/components/schemas/Order" } } } }
        "422": { description: no, content: { application/json: { schema: { type: object, required: [detail], properties: { detail: { type: string } } } } } }
components:
  schemas:
    Order:
      type: object
      required: [id, total]
      properties: { id: { type: string }, total: { type: integer, minimum: 1 } }
"##;

const PLAN: &str = r#"use shop

plan order(id: string = "A1", total: int = 3) -> string {
    step placed = shop.place(id: id, total: total)
    step found = shop.find(id: placed.id)
        recover tool.not_found => { id: "none", total: 1 }
    reply found.id
}
"#;

fn run(place: &tempfile::TempDir, arguments: &[&str]) -> Output {
    planrun(arguments)
        .within(place.path())
        .without_variable("SHOP_TOKEN")
        .run()
}

#[test]
fn every_operation_of_a_large_document_is_a_tool() {
    let Some(path) = cases("openapi/openai.json") else {
        return;
    };
    let plan = r#"use openai

plan ask(model: string = "gpt-4o") -> { text: string?, gone: bool } {
    step models = openai.listModels()
    step answer = openai.createChatCompletion(
        model: model,
        messages: [{ role: "user", content: "${size(models.data)} models" }],
    )
    step file = openai.createFile(file: b"hello", purpose: "assistants")
    step gone = openai.deleteFile(file_id: file.id)
    reply { text: answer.choices[0].message.content, gone: gone.deleted }
}
"#;
    let path = std::fs::canonicalize(path).unwrap();
    let settings = format!("tools:\n  openai: {{ openapi: {} }}\n", json!(path));
    let place = folder([("a.plan", plan), ("planrun.yaml", settings.as_str())]);
    let checked = run(&place, &["check", "a.plan", "--deny", "warnings"]);
    assert_eq!(checked.status, 0, "{checked:?}");
    let host: Arc<dyn Host> = Arc::new(RealHost);
    let location = Location::of(&*host, None, Some(place.path())).unwrap();
    let (project, findings) = Project::open(&*host, &location).unwrap();
    let api = &project.apis[0].api;
    let (mut parameters, mut untyped, mut unknown) = (0, 0, Vec::new());
    for operation in &api.operations {
        let signature = &operation.signature;
        parameters += signature.parameters.len();
        untyped += signature
            .parameters
            .iter()
            .filter(|one| one.ty == Type::Any)
            .count();
        if signature.returns == Type::Any {
            unknown.push(signature.name.to_string());
        }
    }
    println!(
        "{} tools, {} left out, {} findings; {parameters} arguments, {untyped} of them any; results that are any: {unknown:?}",
        api.operations.len(),
        api.left_out,
        findings.len(),
    );
    assert_eq!(api.operations.len() + api.left_out, 288);
    assert_eq!((api.left_out, findings.len()), (0, 0));
    // The document declares no content for the successes of these.
    assert!(
        unknown.len() <= 9 && untyped * 50 < parameters,
        "{unknown:?}"
    );
}

/// Starts a server that answers each request with the next of these. Returns its address and the requests.
pub fn server(
    answers: Vec<impl AsRef<[u8]> + Send + 'static>,
) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = asked.clone();
    thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            let mut part = [0; 4096];
            while !is_whole(&request) {
                let read = stream.read(&mut part).unwrap();
                request.extend_from_slice(&part[..read]);
            }
            kept.lock()
                .unwrap()
                .push(String::from_utf8_lossy(&request).into_owned());
            stream.write_all(answer.as_ref()).unwrap();
        }
    });
    (address, asked)
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    length.is_none_or(|length| body.len() >= length.parse().unwrap())
}

/// Returns an answer with this status and body.
pub fn answered(status: &str, body: &Json) -> String {
    let body = body.to_string();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn plans_call_operations_with_credentials_of_the_environment() {
    let (address, asked) = server(vec![
        answered("201 Created", &json!({"id": "A1", "total": 3})),
        answered(
            "404 Not Found",
            &json!({"detail": "none for hunter2-token"}),
        ),
    ]);
    let settings = format!(
        "tools:\n  shop: {{ openapi: shop.yaml, server: \"{address}/v1\", auth: {{ bearer: SHOP_TOKEN }} }}\nenv: [SHOP_TOKEN]\n"
    );
    let place = folder([
        ("a.plan", PLAN),
        ("shop.yaml", DOCUMENT),
        ("planrun.yaml", settings.as_str()),
    ]);
    let ran = planrun(["run", "a.plan", "--format", "ndjson"])
        .within(place.path())
        .variable("SHOP_TOKEN", "hunter2-token")
        .run();
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(
        ran.stdout.contains("\"none\"") && !ran.stdout.contains("hunter2"),
        "{}",
        ran.stdout
    );
    let asked = asked.lock().unwrap().clone();
    assert!(
        asked[0].starts_with("POST /v1/orders HTTP/1.1\r\n"),
        "{}",
        asked[0]
    );
    assert!(
        asked[0].contains("authorization: Bearer hunter2-token\r\n"),
        "{}",
        asked[0]
    );
    assert!(
        asked[1].starts_with("GET /v1/orders/A1 HTTP/1.1\r\n"),
        "{}",
        asked[1]
    );
}

/// Documents that are written by hand often declare nothing but the status of a success.
#[test]
fn a_success_without_declared_content_is_whatever_the_server_answers() {
    let (address, asked) = server(vec![
        answered("200 OK", &json!({"charged": 3})),
        answered("202 Accepted", &json!(null)),
    ]);
    let document = DOCUMENT.replace(
        "components:",
        "  /charges:
    post: { operationId: charge, responses: { \"200\": { description: ok }, \"202\": { description: later } } }
    delete: { operationId: refund, responses: { \"204\": { description: gone } } }
components:",
    );
    let plan = "use shop
plan p() -> any {
    policy { on_failure: undo }
    step charged = shop.charge()
        undo shop.refund()
    step later = shop.charge()
    reply [charged, later]
}
";
    let settings = format!("tools:\n  shop: {{ openapi: shop.yaml, server: \"{address}/v1\" }}\n");
    let place = folder([
        ("a.plan", plan),
        ("shop.yaml", &document),
        ("planrun.yaml", &settings),
    ]);
    let ran = run(&place, &["run", "a.plan"]);
    assert_eq!(ran.json(), json!([{"charged": 3}, null]), "{ran:?}");
    assert_eq!(asked.lock().unwrap().len(), 2);
    let shown = run(&place, &["tools", "show", "shop.refund"]);
    assert!(shown.stdout.contains("-> null"), "{shown:?}");
}

/// Returns an answer with a body of this media type.
fn of_type(media_type: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

#[test]
fn texts_are_read_and_sent_in_the_charset_of_their_media_type() {
    let latin = b"{\"id\": \"Stra\xdfe\", \"total\": 1}";
    let (address, asked) = server(vec![
        of_type("application/json; charset=iso-8859-1", latin),
        of_type("text/plain; charset=\"ISO-8859-1\"", b"Stra\xdfe"),
        of_type("text/html; charset=gbk", b"\xc4\xe3"),
    ]);
    let document = DOCUMENT.replace(
        "components:",
        "  /notes:
    post:
      operationId: note
      requestBody: { required: true, content: { 'text/plain; charset=iso-8859-1': { schema: { type: string } } } }
      responses: { \"200\": { description: it, content: { text/plain: { schema: { type: string } } } } }
components:",
    );
    let plan = "use shop, http
plan p(at: string) -> any {
    allow { net: [\"127.0.0.1:*\"] }
    step found = shop.find(id: \"A1\")
    step noted = shop.note(body: \"Größe\") after found
    step fetched = http.fetch(url: at) after noted
    reply [found.id, noted, fetched.body]
}
";
    let settings = format!("tools:\n  shop: {{ openapi: shop.yaml, server: \"{address}/v1\" }}\n");
    let place = folder([
        ("a.plan", plan),
        ("shop.yaml", &document),
        ("planrun.yaml", &settings),
    ]);
    let ran = run(&place, &["run", "a.plan", "-i", &format!("at={address}/")]);
    assert_eq!(ran.json(), json!(["Straße", "Straße", "你"]), "{ran:?}");
    let asked = asked.lock().unwrap().clone();
    assert!(asked[1].contains("content-length: 5\r\n"), "{}", asked[1]);
}

#[test]
fn a_field_that_the_server_should_not_send_is_redacted_if_it_does() {
    let document = DOCUMENT.replace(
        "total: { type: integer, minimum: 1 } }",
        "total: { type: integer, minimum: 1 }, pin: { type: string, writeOnly: true } }",
    );
    let pin = "s3cret-0815";
    let answer = json!({"id": "A1", "total": 3, "pin": pin});
    let (address, _) = server(vec![answered("200 OK", &answer)]);
    let plan =
        "use shop\nplan p() -> any {\n    step found = shop.find(id: \"A1\")\n    reply found\n}\n";
    let settings = format!("tools:\n  shop: {{ openapi: shop.yaml, server: \"{address}/v1\" }}\n");
    let place = folder([
        ("a.plan", plan),
        ("b.plan", &plan.replace("reply found", "reply found.pin")),
        ("shop.yaml", &document),
        ("planrun.yaml", &settings),
    ]);
    let fine = run(&place, &["check", "a.plan"]);
    assert_eq!(fine.status, 0, "the contract has no secret in it: {fine:?}");
    let unknown = run(&place, &["check", "b.plan"]);
    assert!(unknown.stdout.contains("unknown-field"), "{unknown:?}");
    let ran = run(
        &place,
        &["run", "a.plan", "--run-id", "r1", "--format", "json"],
    );
    assert_eq!(ran.json()["reply"]["total"], 3, "{ran:?}");
    let events = run(&place, &["runs", "events", "r1", "--format", "ndjson"]);
    assert!(events.stdout.contains("\"total\""), "{events:?}");
    for output in [ran, events] {
        assert!(!output.stdout.contains(pin), "{output:?}");
    }
}

#[test]
fn secrets_are_redacted_by_their_place_in_failures_and_at_any_depth_of_a_result() {
    let document = DOCUMENT
        .replace(
            "\"404\": { description: none }",
            "default: { description: no, content: { application/json: { schema: { $ref: \"#/components/schemas/Fault\" } } } }",
        )
        .replace(
            "total: { type: integer, minimum: 1 } }",
            "total: { type: integer, minimum: 1 }, pin: { type: string, writeOnly: true }, parts: { type: array, items: { $ref: \"#/components/schemas/Order\" } } }",
        )
        + "    Fault: { type: object, properties: { hint: { type: string, x-sensitive: true }, of: { $ref: \"#/components/schemas/Order\" } } }\n";
    let mut order = json!({"id": "A9", "total": 9, "pin": "s3cret-deep"});
    for number in 0..8 {
        let pin = format!("s3cret-{number}");
        order = json!({"id": "A1", "total": number + 1, "pin": pin, "parts": [order]});
    }
    let fault = json!({"hint": "s3cret-hint", "of": order, "error": "s3cret-hint, s3cret-deep"});
    let (address, _) = server(vec![
        answered("200 OK", &order),
        answered("409 Conflict", &fault),
        answered("503 Service Unavailable", &fault),
    ]);
    let plan = "use shop
plan p() -> any {
    policy { on_failure: settle }
    step found = shop.find(id: \"A1\")
    step taken = shop.find(id: \"A2\") after found
        recover tool.failed as e => e.details.of
    step closed = shop.find(id: \"A3\") retry { attempts: 1 } after taken
    reply { found: found.parts, taken: taken }
}
";
    let settings = format!("tools:\n  shop: {{ openapi: shop.yaml, server: \"{address}/v1\" }}\n");
    let place = folder([
        ("a.plan", plan),
        ("shop.yaml", &document),
        ("planrun.yaml", &settings),
    ]);
    let ran = run(
        &place,
        &["run", "a.plan", "--run-id", "r1", "--format", "json"],
    );
    let json = ran.json();
    let recovered = &json["steps"][1]["recovered"];
    assert_eq!(recovered["details"]["of"]["total"], 8, "{ran:?}");
    assert_eq!(json["steps"][2]["error"]["class"], "transient.unavailable");
    assert_eq!(json["error"]["details"]["hint"], "[redacted]", "{ran:?}");
    let events = run(&place, &["runs", "events", "r1", "--format", "ndjson"]);
    for output in [ran, events] {
        assert!(output.stdout.contains("[redacted]"), "{output:?}");
        assert!(!output.stdout.contains("s3cret"), "{output:?}");
    }
}

#[test]
fn a_run_that_needs_a_credential_does_not_begin_without_it() {
    let document = |security: &str| format!("{DOCUMENT}security: {security}\n");
    let settings = "tools:\n  shop: { openapi: shop.yaml, server: \"http://127.0.0.1:9\", auth: { bearer: SHOP_TOKEN } }\n\
                    env: [SHOP_TOKEN]\n";
    for (text, begins) in [
        (DOCUMENT.to_owned(), false),
        (document("[{ bearer: [] }]"), false),
        (document("[{ bearer: [] }, {}]"), true),
        (document("[]"), true),
    ] {
        let place = folder([
            ("a.plan", PLAN),
            ("shop.yaml", &text),
            ("planrun.yaml", settings),
        ]);
        let ran = run(&place, &["run", "a.plan"]);
        let told = "`shop.place` needs the environment variable SHOP_TOKEN, which is not set";
        assert_eq!(ran.stderr.contains(told), !begins, "{text}{ran:?}");
        let called = ran
            .stderr
            .contains("http://127.0.0.1:9/orders cannot be reached");
        assert_eq!(called, begins, "{text}{ran:?}");
        // A mock gets no credentials.
        let mocked = run(&place, &["run", "a.plan", "--mock"]);
        assert_eq!(mocked.status, 0, "{text}{mocked:?}");
    }
}

#[test]
fn what_the_project_does_not_allow_is_not_called() {
    let settings = "tools:\n  shop: { openapi: shop.yaml, server: \"http://127.0.0.1:9\" }\nallow: { net: [api.shop.example] }\n";
    let place = folder([
        ("a.plan", PLAN),
        ("shop.yaml", DOCUMENT),
        ("planrun.yaml", settings),
    ]);
    let ran = run(&place, &["run", "a.plan"]);
    assert_eq!(ran.status, 3, "{ran:?}");
    let message = "error: `shop.place` cannot be called: `allow` in planrun.yaml does not permit it; add \"127.0.0.1:9\" to \
                   `allow.net` there\n";
    assert_eq!(ran.stderr, message);
    let listed = run(&place, &["runs", "list"]);
    assert!(!listed.stdout.contains("failed"), "{listed:?}");
}

#[test]
fn what_a_project_says_wrongly_of_a_document_is_found() {
    let settings = r#"tools:
  shop: { openapi: shop.yaml, auth: { bearer: SHOP_TOKEN }, classes: { fnd: read } }
  keys: { openapi: shop.yaml, server: "http://127.0.0.1:9", auth: { key: SHOP_KEY } }
  text: { openapi: shop.yaml, server: "http://127.0.0.1:9", auth: { basic: { user: USER, password: "not a name" } } }
  far: { openapi: "https://shop.example/openapi.json" }
  none: { openapi: none.yaml }
  half: { openapi: shop.yaml, server: /v1, sever: x }
env: [USER]
"#;
    let place = folder([
        ("a.plan", "plan a() -> int {\n    reply 1\n}\n"),
        ("shop.yaml", DOCUMENT),
        ("planrun.yaml", settings),
    ]);
    let checked = run(&place, &["check", "a.plan", "--format", "json"]);
    assert_eq!(checked.status, 1, "{checked:?}");
    for message in [
        "shop has no tool `fnd`",
        "the address of shop is unknown: `shop.yaml` has no `servers` with a full URL",
        "SHOP_TOKEN is read from the environment, but `env` in planrun.yaml does not list it",
        "the document has no security scheme of the type `apiKey`",
        "this must be the name of an environment variable",
        "`openapi` must be a file of the project, which pins the document",
        "the document `none.yaml` cannot be read",
        "`server` is not an HTTP or HTTPS URL",
        "has no key `sever`",
    ] {
        assert!(
            checked.stdout.contains(message),
            "{message:?} in {}",
            checked.stdout
        );
    }
    assert!(!checked.stdout.contains("not a name"), "{}", checked.stdout);
}

#[test]
fn tools_are_listed_checked_tried_and_doubled() {
    let test = r#"use "./a.plan" as a

test "a double answers" for a.order {
    mock shop.place => { id: "B2", total: 4 }
    mock shop.find => { id: "B2", total: 4 }
    expect reply == "B2"
}
"#;
    let settings = "tools:\n  shop: { openapi: shop.yaml, server: \"http://127.0.0.1:9\", classes: { place: idempotent } }\n";
    let place = folder([
        ("a.plan", PLAN),
        ("a.plantest", test),
        ("shop.yaml", DOCUMENT),
        ("planrun.yaml", settings),
    ]);
    let listed = run(&place, &["tools", "list", "--query", "orders place"]);
    assert!(
        listed.stdout.starts_with("shop.place  idempotent"),
        "{}",
        listed.stdout
    );
    let printed = run(&place, &["tools", "show", "shop.find"]);
    assert_eq!(
        printed.stdout,
        "tool shop.find(id: string) -> { id: string, total: int } read fails failed, not_found\n"
    );
    let checked = run(&place, &["check", "a.plan", "--deny", "warnings"]);
    assert_eq!(checked.status, 0, "{checked:?}");
    let wrong = PLAN.replace("total: total", "totl: total");
    std::fs::write(place.path().join("b.plan"), wrong).unwrap();
    let wrong = run(&place, &["check", "b.plan"]);
    assert!(
        wrong.status == 1 && wrong.stdout.contains("totl"),
        "{wrong:?}"
    );
    let tested = run(&place, &["test", "a.plantest"]);
    assert_eq!(tested.status, 0, "{tested:?}");
    let tried = run(&place, &["run", "a.plan", "--mock", "--format", "json"]);
    assert_eq!(tried.status, 0, "{tried:?}");
    assert_eq!(tried.json()["reply"], "A1");
    let refused = run(&place, &["run", "a.plan", "--mock", "-i", "total=0"]);
    assert_ne!(refused.status, 0, "{refused:?}");
}

/// Posts JSON to a path of a mock. Returns the whole answer.
fn posted(mock: &Mock, path: &str, body: &str) -> String {
    let host = mock.address().strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_double_holds_requests_against_the_document() {
    let place = folder([("shop.yaml", DOCUMENT)]);
    let file = format!("shop={}", place.path().join("shop.yaml").display());
    let mock = Mock::start(["--openapi", file.as_str()]);
    let post = |path: &str, body: &str| posted(&mock, path, body);
    let placed = post("/shop/orders", r#"{"id": "A1", "total": 3}"#);
    assert!(
        placed.contains("201 Created") && placed.contains(r#""id":"A1""#),
        "{placed}"
    );
    let refused = post("/shop/orders", r#"{"id": "A1", "total": 0}"#);
    assert!(
        refused.contains("422") && refused.contains("total must be at least 1"),
        "{refused}"
    );
    assert!(post("/shop/orders", "{").contains("422"));
    assert!(post("/shop/orders/A1", "{}").contains("405"));
    assert!(post("/shop/nothing", "{}").contains("404"));
}

const APP: &str = r#"name: desk
tools:
  - name: close
    endpoint: ADDRESS
    request:
      method: POST
      path: "/orders/{id}/close"
      query: { notify: "{notify}", source: plan }
      headers: { x-reason: "{reason}", x-tags: "{tags}" }
      body: { by: "{who}", notes: ["{note}", "{{note}}"], fixed: 1 }
    response: { value: /data, error: /error/code }
    parameters:
      type: object
      properties:
        id: { type: string }
        notify: { type: array, items: { type: string } }
        reason: { type: string }
        tags: { type: array, items: { type: integer } }
        who: { type: object, properties: { name: { type: string } }, required: [name] }
        note: { type: string }
      required: [id, who]
    returns: { type: object, properties: { state: { type: string } }, required: [state] }
    errors: [{ reason: closed, class: tool.closed }]
    mock: [{ when: { id: gone }, fail: closed }, { data: { state: "closed by {args.who.name}" } }]
  - name: look
    endpoint: ADDRESS
    request: { method: GET, path: "/orders/{id}" }
    parameters: { type: object, properties: { id: { type: string } }, required: [id] }
    returns: { type: object, properties: { id: { type: string } }, required: [id] }
"#;

const CLOSING: &str = r#"use desk

plan close(id: string = "A/1") -> string {
    step seen = desk.look(id: id)
    step closed = desk.close(id: seen.id, who: { name: "Ada" }, notify: ["a", "b"])
        recover tool.closed => { state: "was closed" }
    reply closed.state
}
"#;

#[test]
fn a_request_of_an_app_file_is_what_it_says() {
    let (address, asked) = server(vec![
        answered("200 OK", &json!({"id": "A/1"})),
        answered("409 Conflict", &json!({"error": {"code": "closed"}})),
    ]);
    let app = APP.replace("ADDRESS", &format!("{address}/v1"));
    let place = folder([("a.plan", CLOSING), ("apps/desk.yaml", app.as_str())]);
    let checked = run(&place, &["check", "a.plan", "--deny", "warnings"]);
    assert_eq!(checked.status, 0, "{checked:?}");
    let ran = run(&place, &["run", "a.plan", "--format", "json"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(ran.json()["reply"], "was closed");
    let asked = asked.lock().unwrap().clone();
    assert!(
        asked[0].starts_with("GET /v1/orders/A%2F1 HTTP/1.1\r\n"),
        "{}",
        asked[0]
    );
    assert!(
        asked[1]
            .starts_with("POST /v1/orders/A%2F1/close?notify=a&notify=b&source=plan HTTP/1.1\r\n"),
        "{}",
        asked[1]
    );
    assert!(
        asked[1]
            .ends_with("\r\n\r\n{\"by\":{\"name\":\"Ada\"},\"notes\":[\"{note}\"],\"fixed\":1}"),
        "{}",
        asked[1]
    );
    assert!(!asked[1].contains("x-reason"), "{}", asked[1]);
    let tried = run(&place, &["run", "a.plan", "--mock", "--format", "json"]);
    assert_eq!(tried.json()["reply"], "closed by Ada", "{tried:?}");
    let gone = run(
        &place,
        &[
            "run", "a.plan", "--mock", "--format", "json", "-i", "id=gone",
        ],
    );
    assert_eq!(gone.json()["reply"], "was closed", "{gone:?}");
    let lines = "reason: \"100%25, or so\", tags: [1, 2], who:";
    let tagged = CLOSING.replace("who:", lines);
    std::fs::write(place.path().join("b.plan"), tagged).unwrap();
    let tried = run(&place, &["run", "b.plan", "--mock", "--format", "json"]);
    assert_eq!(tried.json()["reply"], "closed by Ada", "{tried:?}");
}

#[test]
fn what_is_wrong_with_a_request_is_found_at_its_place() {
    let app = r#"name: desk
tools:
  - name: a
    endpoint: http://127.0.0.1:9
    request: { method: GTE, path: /a }
  - name: b
    endpoint: http://127.0.0.1:9
    request:
      method: GET
      path: "orders/{idd}/{note}"
      query: { q: "{quary}", t: "say {note}" }
      headers: { host: x }
      body: {}
    response: { value: data }
    parameters: { type: object, properties: { id: { type: string }, note: { type: string } }, required: [id] }
  - name: c
    endpoint: http://127.0.0.1:9
    response: { value: /data }
"#;
    let place = folder([
        ("a.plan", "plan a() -> int {\n    reply 1\n}\n"),
        ("apps/desk.yaml", app),
    ]);
    let checked = run(&place, &["check", "a.plan", "--format", "json"]);
    let found: Json = checked.json();
    let mut reported: Vec<String> = Vec::new();
    for finding in found["diagnostics"].as_array().into_iter().flatten() {
        let place = &finding["span"]["start"];
        reported.push(format!(
            "{}:{} {}",
            place["line"],
            place["column"],
            finding["message"].as_str().unwrap()
        ));
    }
    let expected = [
        "5:24 `method` of `request` cannot be `GTE`",
        "10:13 `path` must begin with `/`; it is appended to the endpoint",
        "10:13 `request` names `{idd}`, which is not a parameter",
        "10:13 `note` is part of the path, but is optional",
        "11:19 `request` names `{quary}`, which is not a parameter",
        "11:33 `{note}` is inside a longer string, which is sent unchanged",
        "12:18 `host` is not a header that an app file can set",
        "13:13 a GET request has no `body`",
        "14:24 `value` of `response` must be a JSON pointer, such as `/data`",
        "15:47 the parameter `id` is not used in `request`",
        "18:15 `response` has no effect without a `request`",
    ];
    assert_eq!(reported, expected, "{}", checked.stdout);
}
