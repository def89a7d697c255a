//! Tests documents against servers that record their requests, and with invalid and hostile documents.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use planrun_lang::call::{Answer, CallError, Details};
use planrun_lang::protocol::Sent;
use planrun_lang::source::SourceFile;
use planrun_lang::types::{Effect, decode};
use planrun_lang::value::Value;
use serde_json::{Value as Json, json};

use super::{Access, Api, Endpoint, Operation, Security, read_api};
use crate::contract::arguments_type;
use crate::host::RealHost;
use crate::tools::http::MAX_BODY_BYTES;
use crate::tools::{Catalog, ProjectLimit, Request};

const SHOP: &str = include_str!("shop.yaml");

fn read(text: &str) -> (Option<Api>, Vec<String>) {
    let source = Arc::new(SourceFile::new("shop.yaml", text));
    let (api, found) = read_api(&source, &"shop".into(), &BTreeMap::new());
    let lines = found.iter().map(|one| {
        let place = source.position(one.span.start);
        format!(
            "{}:{} {}: {}",
            place.line, place.column, one.severity, one.message
        )
    });
    (api, lines.collect())
}

fn shop() -> Api {
    let (api, found) = read(SHOP);
    assert_eq!(found, [""; 0]);
    api.unwrap()
}

/// Returns the contract of an operation in one line.
fn contract(operation: &Operation) -> String {
    let signature = &operation.signature;
    let parameters = signature.parameters.iter().map(|one| {
        let mark = if one.required { "" } else { "?" };
        format!("{}{mark}: {}", one.name, one.ty)
    });
    let parameters: Vec<String> = parameters.collect();
    let raises = signature.raises.join(" ");
    let effect = signature.effect.name();
    format!(
        "{}({}) -> {} {effect} fails {raises}",
        signature.name,
        parameters.join(", "),
        signature.returns
    )
}

#[test]
fn operations_are_typed_tools() {
    let api = shop();
    let contracts: Vec<String> = api.operations.iter().map(|one| contract(one)).collect();
    let expected = [
        "find(id: string, query_id?: int, X-Trace?: string[], session?: string) -> { id: string, total: double, note: string?, parent?: any } read fails failed not_found conflict",
        "replace(id: string, secret: string, total: double, note?: string?, parent?: { secret: string, total: double, note: string?, parent?: any }) -> null idempotent fails failed",
        "delete_orders_id(id: string) -> null idempotent fails failed not_found",
        "list(state?: (\"open\" | \"closed\")[], ids?: int[], filter?: { from?: string, limit?: int }) -> { id: string, total: double, note: string?, parent?: any }[] read fails failed",
        "place(item: string, tags?: string[], to?: { city?: string }) -> string effect fails failed",
        "upload(Idempotency-Key?: string, file: bytes, note?: string, about?: { a?: int }) -> bytes effect fails failed",
        "adopt(body: { kind: \"cat\", lives?: int } | { kind: \"dog\", tricks?: string[] }) -> { kind: \"cat\", lives?: int } | { kind: \"dog\", tricks?: string[] } effect fails failed",
        "groom(body?: { name: string }) -> any effect fails failed",
    ];
    // The order within a path is that of `METHODS`, not of the document.
    let mut contracts = contracts;
    contracts.sort();
    let mut expected = expected.map(str::to_owned);
    expected.sort();
    assert_eq!(contracts, expected);
    assert_eq!(api.server.as_deref(), Some("https://eu.shop.example/v1"));
    let named = |name: &str| {
        api.operations
            .iter()
            .find(|one| &*one.signature.name == name)
            .unwrap()
    };
    assert!(named("replace").signature.deprecated.is_some());
    assert_eq!(named("delete_orders_id").security, Security::Public);
    assert_eq!(named("find").security, Security::Required);
    let description = named("find").signature.description.clone();
    assert_eq!(
        description.as_deref(),
        Some("Finds an order.\n\nAlso one that is closed.")
    );
    assert!(
        named("replace")
            .signature
            .sensitive
            .iter()
            .any(|path| **path == *"secret")
    );
    let id = &named("find").signature.parameters[0];
    assert_eq!(id.description.as_deref(), Some("The number of the order."));
}

#[test]
fn the_project_knows_classes_better() {
    let source = Arc::new(SourceFile::new("shop.yaml", SHOP));
    let classes = BTreeMap::from([("adopt".to_owned(), Effect::Irreversible)]);
    let (api, _) = read_api(&source, &"shop".into(), &classes);
    let api = api.unwrap();
    let adopt = api
        .operations
        .iter()
        .find(|one| &*one.signature.name == "adopt");
    assert_eq!(adopt.unwrap().signature.effect, Effect::Irreversible);
}

/// The requests that a server has received, each as one text.
type Requests = Arc<Mutex<Vec<String>>>;

/// A server that records requests and answers according to the last segment of their path.
async fn serve() -> (String, Requests) {
    let requests = Requests::default();
    let kept = requests.clone();
    let router = Router::new().fallback(
        move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
            let requests = kept.clone();
            async move {
                let names = [
                    "content-type",
                    "accept",
                    "x-key",
                    "x-trace",
                    "cookie",
                    "idempotency-key",
                ];
                let lines = names.iter().filter_map(|name| {
                    Some(format!(
                        "\n{name}: {}",
                        headers.get(*name)?.to_str().unwrap()
                    ))
                });
                let lines: String = lines.collect();
                let body = String::from_utf8_lossy(&body);
                requests
                    .lock()
                    .push(format!("{method} {uri}{lines}\n\n{body}"));
                answer(uri.path().rsplit('/').next().unwrap_or_default())
            }
        },
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, requests)
}

fn answer(word: &str) -> Response {
    let json = |status: u16, body: Json| {
        (StatusCode::from_u16(status).unwrap(), axum::Json(body)).into_response()
    };
    match word {
        "none" => json(404, json!({"detail": "no such order"})),
        "locked" => (StatusCode::CONFLICT, "taken by k3y-of-the-shop").into_response(),
        "slow" => StatusCode::TOO_MANY_REQUESTS.into_response(),
        "teapot" => StatusCode::IM_A_TEAPOT.into_response(),
        "broken" => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        "moved" => (StatusCode::FOUND, [(header::LOCATION, "/v1/orders/7")]).into_response(),
        "away" => (
            StatusCode::FOUND,
            [(header::LOCATION, "http://127.0.0.2:1/x")],
        )
            .into_response(),
        "large" => vec![b'x'; MAX_BODY_BYTES + 1].into_response(),
        "garbled" => ([(header::CONTENT_TYPE, "application/json")], "{").into_response(),
        "files" => vec![0_u8, 159, 146, 150].into_response(),
        "orders" => "order 7".into_response(),
        "gone" => StatusCode::NO_CONTENT.into_response(),
        _ => json(
            200,
            json!({"id": "7", "total": 1, "note": "sent with k3y-of-the-shop"}),
        ),
    }
}

/// Returns the catalog of the shop at an address, with a key.
fn catalog(address: &str) -> Catalog {
    let api = shop();
    let mut access = Access::default();
    access.key(&api.key_schemes[0], "k3y-of-the-shop");
    let access = Arc::new(access);
    let mut catalog = Catalog::new(Arc::new(RealHost), "/".into(), &Arc::default());
    let operations = api.operations.into_iter().map(|operation| {
        let base = Ok(address.into());
        let access = access.clone();
        (operation, Endpoint { base, access })
    });
    let secrets = ["k3y-of-the-shop".to_owned()];
    catalog.add_api(operations, &ProjectLimit::default(), &secrets);
    catalog
}

async fn call(catalog: &Catalog, name: &str, arguments: Json) -> Result<Value, CallError> {
    let tool = catalog.tool("shop", name).unwrap();
    let arguments = decode(&arguments, &arguments_type(&tool.signature)).unwrap();
    let request = Request::new("step", tool.signature.clone(), arguments, "key-1");
    match tool.transport.call(request).outcome().await? {
        Answer::Value(value) => Ok(value),
        Answer::Json(json) => Ok(Value::from_json(&json)),
    }
}

#[tokio::test]
async fn requests_are_what_the_document_says() {
    let (address, requests) = serve().await;
    let catalog = catalog(&address);
    let cases = [
        (
            "find",
            json!({"id": "a/b", "query_id": 7, "X-Trace": ["x", "y"], "session": "s 1"}),
            "GET /v1/orders/a%2Fb?id=7\naccept: application/json\nx-key: k3y-of-the-shop\nx-trace: x,y\ncookie: session=s%201\nidempotency-key: key-1\n\n",
        ),
        (
            "replace",
            json!({"id": "7", "secret": "s3cret", "total": 1.5, "note": null}),
            "PUT /v1/orders/7\ncontent-type: application/json\naccept: */*\nx-key: k3y-of-the-shop\nidempotency-key: key-1\n\n{\"secret\":\"s3cret\",\"total\":1.5,\"note\":null}",
        ),
        (
            "delete_orders_id",
            json!({"id": "gone"}),
            "DELETE /v1/orders/gone\naccept: */*\nidempotency-key: key-1\n\n",
        ),
        (
            "list",
            json!({"state": ["open", "closed"], "ids": [1, 2], "filter": {"from": "a&b", "limit": 3}}),
            "GET /v1/orders?state=open&state=closed&ids=1%7C2&filter%5Bfrom%5D=a%26b&filter%5Blimit%5D=3\naccept: application/json\nx-key: k3y-of-the-shop\nidempotency-key: key-1\n\n",
        ),
        (
            "place",
            json!({"item": "tea & milk", "tags": ["a", "b"], "to": {"city": "Köln"}}),
            "POST /v1/orders\ncontent-type: application/x-www-form-urlencoded\naccept: text/plain\nx-key: k3y-of-the-shop\nidempotency-key: key-1\n\nitem=tea%20%26%20milk&tags=a&tags=b&to=%7B%22city%22%3A%22K%C3%B6ln%22%7D",
        ),
        (
            "adopt",
            json!({"body": {"kind": "cat", "lives": 9}}),
            "POST /v1/pets\ncontent-type: application/json\naccept: application/json\nx-key: k3y-of-the-shop\nidempotency-key: key-1\n\n{\"kind\":\"cat\",\"lives\":9}",
        ),
        (
            "groom",
            json!({}),
            "PATCH /v1/pets\naccept: application/json\nx-key: k3y-of-the-shop\nidempotency-key: key-1\n\n",
        ),
    ];
    for (name, arguments, expected) in cases {
        let _ = call(&catalog, name, arguments).await.unwrap();
        assert_eq!(requests.lock().pop().as_deref(), Some(expected), "{name}");
    }
}

#[tokio::test]
async fn files_are_parts_of_a_form() {
    let (address, requests) = serve().await;
    let catalog = catalog(&address);
    let given =
        json!({"file": "aGVsbG8=", "note": "二", "about": {"a": 1}, "Idempotency-Key": "own"});
    let stored = call(&catalog, "upload", given).await.unwrap();
    assert!(
        matches!(&stored, Value::Bytes(bytes) if **bytes == [0, 159, 146, 150]),
        "{stored:?}"
    );
    let upload = requests.lock().pop().unwrap();
    let boundary = upload
        .split("boundary=")
        .nth(1)
        .unwrap()
        .split('\n')
        .next()
        .unwrap();
    let upload = upload.replace(boundary, "B").replace('\r', "");
    let expected = "POST /v1/files\ncontent-type: multipart/form-data; boundary=B\naccept: application/octet-stream\nx-key: k3y-of-the-shop\nidempotency-key: own\n\n--B\nContent-Disposition: form-data; name=\"file\"; filename=\"file\"\nContent-Type: application/octet-stream\n\nhello\n--B\nContent-Disposition: form-data; name=\"note\"\n\n二\n--B\nContent-Disposition: form-data; name=\"about\"\nContent-Type: application/json\n\n{\"a\":1}\n--B--\n";
    assert_eq!(upload, expected);
}

#[tokio::test]
async fn an_argument_never_makes_it_another_path() {
    let (address, requests) = serve().await;
    let catalog = catalog(&address);
    for id in ["", ".", ".."] {
        let error = call(&catalog, "delete_orders_id", json!({"id": id}))
            .await
            .unwrap_err();
        assert_eq!(
            (error.class.to_string(), error.sent),
            ("validation.arguments".to_owned(), Sent::No)
        );
    }
    let error = call(&catalog, "find", json!({"id": "1", "X-Trace": ["a\nb"]}))
        .await
        .unwrap_err();
    assert_eq!(error.class.to_string(), "validation.arguments");
    assert_eq!(requests.lock().len(), 0);
}

#[tokio::test]
async fn statuses_are_failures_of_their_own() {
    let (address, _) = serve().await;
    let catalog = catalog(&address);
    let cases = [
        (
            "none",
            "tool.not_found",
            Sent::Refused,
            "shop.find answered with status 404: no such order",
        ),
        (
            "slow",
            "transient.rate_limited",
            Sent::No,
            "shop.find answered with status 429: an empty body",
        ),
        (
            "teapot",
            "tool.failed",
            Sent::Answered,
            "shop.find answered with status 418: an empty body",
        ),
        (
            "broken",
            "transient.unavailable",
            Sent::Maybe,
            "shop.find answered with status 500: an empty body",
        ),
        (
            "away",
            "denied.policy",
            Sent::Answered,
            "shop.find was redirected to 127.0.0.2, which is not the host that the project configures",
        ),
        (
            "garbled",
            "validation.result",
            Sent::Answered,
            "shop.find answered with invalid JSON: EOF while parsing an object at line 1 column 1",
        ),
    ];
    for (id, class, sent, message) in cases {
        let error = call(&catalog, "find", json!({ "id": id }))
            .await
            .unwrap_err();
        assert_eq!(
            (error.class.to_string().as_str(), error.sent),
            (class, sent),
            "{id}"
        );
        assert_eq!(error.message, message);
        let details = Details::new(&json!({ "detail": "no such order" })).unwrap();
        assert_eq!(error.details, details.filter(|_| id == "none"), "{id}");
    }
}

#[tokio::test]
async fn answers_are_bounded_and_redirects_stay_at_the_host() {
    let (address, _) = serve().await;
    let catalog = catalog(&address);
    let large = call(&catalog, "find", json!({"id": "large"}))
        .await
        .unwrap_err();
    assert!(
        large
            .message
            .contains("answered with more than 8388608 bytes"),
        "{large}"
    );
    let found = call(&catalog, "find", json!({"id": "moved"}))
        .await
        .unwrap();
    assert_eq!(found.get("id").and_then(Value::as_str), Some("7"));
}

#[tokio::test]
async fn no_credential_comes_back() {
    let (address, _) = serve().await;
    let catalog = catalog(&address);
    let found = call(&catalog, "find", json!({"id": "7"})).await.unwrap();
    assert!(!found.to_json_text().contains("k3y"), "{found:?}");
    let error = call(&catalog, "find", json!({"id": "locked"}))
        .await
        .unwrap_err();
    assert_eq!(error.class.to_string(), "tool.conflict");
    assert!(!error.message.contains("k3y"), "{error}");
}

#[test]
fn what_is_no_tool_is_told_with_its_place() {
    let text = r##"openapi: 3.0.3
info: {}
paths:
  /a/{id}:
    get: { responses: { "200": { description: a } } }
    trace: { responses: {} }
  /b:
    get:
      operationId: one
      parameters: [{ name: x, in: body, schema: {} }]
      responses: {}
    post:
      operationId: two
      parameters: [{ name: x, in: query }]
    put:
      operationId: three
      parameters: [{ name: a b, in: header, schema: { type: string } }]
    patch:
      operationId: four
      parameters: [{ $ref: "#/components/parameters/Nothing" }]
    delete:
      operationId: five
      parameters: [{ name: x, in: query, style: matrix, schema: { type: string } }]
  /c:
    get:
      operationId: ok
      requestBody: { content: { application/json: { schema: { $ref: "other.yaml#/X" } } } }
      responses: { "200": { description: a, content: { application/json: { schema: { $ref: "#/components/schemas/None" } } } } }
    put: { operationId: ok, responses: {} }
  c: { get: {} }
"##;
    let (api, found) = read(text);
    let api = api.unwrap();
    let names: Vec<&str> = api
        .operations
        .iter()
        .map(|one| &*one.signature.name)
        .collect();
    assert_eq!((names, api.left_out), (vec!["ok", "put_c"], 6));
    let expected = [
        "5:5 warning: GET /a/{id} is not a tool: its path contains {id}, but there is no such parameter",
        "6:5 warning: TRACE /a/{id} is not a tool: it would return the whole request, including credentials",
        "8:5 warning: GET /b is not a tool: the parameter `x` is in `body`, but must be in path, query, header or cookie",
        "12:5 warning: POST /b is not a tool: the parameter `x` has no `schema`",
        "15:5 warning: PUT /b is not a tool: `a b` is not a valid header name",
        "18:5 warning: PATCH /b is not a tool: `#/components/parameters/Nothing` refers to something that is not in \
         this document",
        "21:5 warning: DELETE /b is not a tool: the parameter `x` cannot have the style `matrix`",
        "27:69 warning: `other.yaml#/X` refers to another document, but only this one is read; its values are treated as `any`",
        "28:92 warning: `#/components/schemas/None` refers to something that is not in this document; its values are \
         treated as `any`",
        "29:12 warning: another operation already has the `operationId` ok; this one is named put_c",
        "30:3 warning: `c` is not a path: it does not begin with `/`",
    ];
    assert_eq!(found, expected);
}

#[test]
fn what_is_no_document_is_refused() {
    let diagnostics = |text: &str| {
        let (api, found) = read(text);
        assert!(api.is_none());
        found.join("\n")
    };
    assert_eq!(
        diagnostics("swagger: \"2.0\"\n"),
        "1:1 error: this is a Swagger 2.0 document"
    );
    assert_eq!(
        diagnostics("openapi: 4.0.0\n"),
        "1:1 error: only OpenAPI 3.0 and 3.1 are supported"
    );
    assert_eq!(
        diagnostics("name: hr\n"),
        "1:1 error: this is not an OpenAPI document: it has no `openapi`"
    );
    assert!(diagnostics("{\"openapi\": ").starts_with("1:"));
    assert!(diagnostics("a: [1\nb: 2\n").contains("this is neither JSON nor YAML"));
}

#[test]
fn schemas_of_3_0_mean_what_they_mean_there() {
    let text = r##"openapi: 3.0.3
info: {}
paths:
  /a:
    get:
      operationId: a
      parameters:
        - { name: n, in: query, schema: { type: integer, minimum: 0, exclusiveMinimum: true, nullable: true } }
        - { name: r, in: query, schema: { $ref: "#/components/schemas/R" } }
      responses: { "200": { description: a } }
components: { schemas: { R: { properties: { a: { type: string } } } } }
"##;
    let (api, found) = read(text);
    assert_eq!(found, [""; 0]);
    let api = api.unwrap();
    let signature = &api.operations[0].signature;
    assert_eq!(
        contract(&api.operations[0]),
        "a(n?: int?, r?: { a?: string }) -> any read fails failed"
    );
    let contract = signature.input_schema.as_ref().unwrap();
    assert_eq!(contract.violations(&json!({"n": 0})).len(), 1);
    assert_eq!(contract.violations(&json!({"n": null})).len(), 0);
    assert_eq!(
        contract.violations(&json!({"n": 1, "r": {"a": 1}})).len(),
        1
    );
}

/// Returns a document with these schemas, and one operation that accepts and returns `S0`.
fn document(schemas: &Json) -> String {
    let schema = json!({"$ref": "#/components/schemas/S0"});
    let content = json!({"application/json": {"schema": schema}});
    let operation = json!({
        "operationId": "a",
        "requestBody": {"required": true, "content": content},
        "responses": {"200": {"description": "a", "content": content}},
    });
    json!({"openapi": "3.1.0", "info": {}, "paths": {"/a": {"post": operation}}, "components": {"schemas": schemas}})
        .to_string()
}

#[test]
fn schemas_that_hold_themselves_end() {
    let reference = |number: usize| json!({"$ref": format!("#/components/schemas/S{number}")});
    // A tree, a chain that doubles at each level, a direct loop, and a loop through another schema.
    let tree = json!({"S0": {"type": "object", "properties": {"left": reference(0), "right": reference(0)}}});
    let mut doubled = serde_json::Map::new();
    for level in 0..60 {
        let next = reference(level + 1);
        doubled.insert(
            format!("S{level}"),
            json!({"type": "object", "properties": {"a": next, "b": next}}),
        );
    }
    doubled.insert("S60".to_owned(), json!({"type": "string"}));
    let alone = json!({"S0": reference(0)});
    let by_way = json!({"S0": {"anyOf": [reference(1), {"type": "string"}]}, "S1": {"allOf": [reference(0)]}});
    for (schemas, warnings) in [
        (tree, 0),
        (Json::Object(doubled), 0),
        (alone, 1),
        (by_way, 1),
    ] {
        let (api, found) = read(&document(&schemas));
        assert_eq!(found.len(), warnings, "{found:?}");
        let api = api.unwrap();
        let signature = &api.operations[0].signature;
        for contract in [&signature.input_schema, &signature.output_schema] {
            // Validating a value terminates.
            let value =
                json!({"body": {"left": {"left": {}}}, "left": 1, "right": 1, "a": {"a": 1}});
            let _ = contract.as_ref().unwrap().violations(&value);
        }
        assert!(contract(&api.operations[0]).len() < 1_000_000);
    }
}

#[test]
fn a_document_is_copied_only_so_often() {
    // Each of many operations needs all of many schemas.
    let chain = |number: usize| json!({"type": "object", "properties": {"next": {"$ref": format!("#/components/schemas/S{}", number + 1)}}});
    let schemas: serde_json::Map<String, Json> = (0..2_000)
        .map(|number| (format!("S{number}"), chain(number)))
        .collect();
    let schema = json!({"$ref": "#/components/schemas/S0"});
    let content = json!({"application/json": {"schema": schema}});
    let operation =
        json!({"post": {"responses": {"200": {"description": "a", "content": content}}}});
    let paths: serde_json::Map<String, Json> = (0..200)
        .map(|number| (format!("/a{number}"), operation.clone()))
        .collect();
    let text =
        json!({"openapi": "3.1.0", "info": {}, "paths": paths, "components": {"schemas": schemas}})
            .to_string();
    let (api, found) = read(&text);
    assert_eq!(api.unwrap().operations.len(), 200);
    assert!(
        found
            .iter()
            .any(|one| one.contains("need more than 1000000 schemas")),
        "{found:?}"
    );
}
