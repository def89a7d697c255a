//! Arazzo workflows, run as plans over real HTTP: they end as their documents specify.

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::openapi::{answered, server};
use crate::support::{Output, folder, planrun};

const SHOP: &str = r##"openapi: 3.1.0
info: { title: Shop, version: "1" }
paths:
  /customers/{id}:
    get:
      operationId: findCustomer
      parameters:
        - { name: id, in: path, required: true, schema: { type: string } }
        - { name: tenant, in: header, required: true, schema: { type: string } }
      responses:
        "200": { description: it, content: { application/json: { schema: { $ref: "#/components/schemas/Customer" } } } }
        "404": { description: none }
  /orders:
    post:
      operationId: placeOrder
      requestBody: { required: true, content: { application/json: { schema: { $ref: "#/components/schemas/Lines" } } } }
      responses:
        "201": { description: it, content: { application/json: { schema: { $ref: "#/components/schemas/Order" } } } }
        "409": { description: no }
  /orders/{order}/receipt:
    post:
      parameters: [{ name: order, in: path, required: true, schema: { type: string } }]
      responses:
        "200": { description: it, content: { application/json: { schema: { $ref: "#/components/schemas/Receipt" } } } }
components:
  schemas:
    Customer: { type: object, required: [id, status, addresses], properties: { id: { type: string }, status: { type: string }, addresses: { type: array, items: { type: string } } } }
    Lines: { type: object, required: [lines, ship_to], properties: { lines: { type: array, items: { type: string } }, ship_to: { type: string } } }
    Order: { type: object, required: [id, total], properties: { id: { type: string }, total: { type: integer } } }
    Receipt: { type: object, required: [receipt], properties: { receipt: { type: string } } }
"##;

const ORDER: &str = r#"arazzo: 1.0.1
info: { title: Orders, version: 1.0.0 }
sourceDescriptions: [{ name: shop, url: ./shop.yaml, type: openapi }]
workflows:
  - workflowId: receipt
    inputs: { type: object, properties: { order: { type: string } }, required: [order] }
    steps:
      - stepId: print
        operationPath: "{$sourceDescriptions.shop.url}#/paths/~1orders~1{order}~1receipt/post"
        parameters: [{ name: order, in: path, value: $inputs.order }]
        successCriteria:
          - { context: $response.body#/receipt, condition: "^R-[0-9]+$", type: regex }
        outputs: { number: $response.body#/receipt }
    outputs: { number: $steps.print.outputs.number }
  - workflowId: order
    inputs:
      type: object
      properties: { customer: { type: string }, lines: { type: array } }
      required: [customer, lines]
    steps:
      - stepId: find
        operationId: findCustomer
        parameters:
          - { name: id, in: path, value: $inputs.customer }
          - { name: tenant, in: header, value: main }
        successCriteria:
          - { condition: $statusCode == 200 }
          - { condition: $response.body#/status == 'active' }
        outputs: { address: $response.body#/addresses/0 }
      - stepId: place
        operationId: placeOrder
        requestBody: { contentType: application/json, payload: { lines: $inputs.lines, ship_to: $steps.find.outputs.address } }
        onFailure: [{ name: again, type: retry, retryAfter: 0, retryLimit: 2 }]
        outputs: { id: $response.body#/id, total: $response.body#/total }
      - stepId: receipt
        workflowId: receipt
        parameters: [{ name: order, value: $steps.place.outputs.id }]
        outputs: { number: $outputs.number }
    outputs:
      order: $steps.place.outputs.id
      total: $steps.place.outputs.total
      receipt: $steps.receipt.outputs.number
"#;

/// A project whose shop gives these answers, the imported document, and the requests to the shop.
struct Imported {
    place: TempDir,
    asked: std::sync::Arc<std::sync::Mutex<Vec<String>>>,
}

impl Imported {
    fn new(document: &str, answers: Vec<String>) -> Self {
        Self::over(SHOP, document, answers)
    }

    fn over(api: &str, document: &str, answers: Vec<String>) -> Self {
        let (address, asked) = server(answers);
        let settings = format!("tools:\n  shop: {{ openapi: shop.yaml, server: \"{address}\" }}\n");
        let place = folder([
            ("order.yaml", document),
            ("shop.yaml", api),
            ("planrun.yaml", settings.as_str()),
        ]);
        let made = planrun(["import", "order.yaml", "--output", "order.plan"])
            .within(place.path())
            .run();
        assert_eq!(made.status, 0, "{made:?}");
        Self { place, asked }
    }

    fn run(&self, plan: &str, inputs: &[&str]) -> Output {
        let mut arguments = vec!["run", "order.plan", "--plan", plan, "--format", "json"];
        for input in inputs {
            arguments.extend(["-i", input]);
        }
        planrun(arguments).within(self.place.path()).run()
    }

    /// Returns the first lines of the requests.
    fn lines(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        let lines = asked.iter().map(|request| request.lines().next().unwrap());
        lines
            .map(|line| line.trim_end_matches(" HTTP/1.1").to_owned())
            .collect()
    }
}

fn customer(status: &str) -> String {
    let body = json!({"id": "kim", "status": status, "addresses": ["Elm St 1", "Elm St 2"]});
    answered("200 OK", &body)
}

#[test]
fn steps_hand_on_outputs_and_try_again() {
    let shop = Imported::new(
        ORDER,
        vec![
            customer("active"),
            answered("503 Service Unavailable", &Json::Null),
            answered("429 Too Many Requests", &Json::Null),
            answered("201 Created", &json!({"id": "A1", "total": 7})),
            answered("200 OK", &json!({"receipt": "R-12"})),
        ],
    );
    let ran = shop.run("order", &["customer=kim", "lines=[\"tea\"]"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(
        ran.json()["reply"],
        json!({"order": "A1", "total": 7, "receipt": "R-12"})
    );
    assert_eq!(
        shop.lines(),
        [
            "GET /customers/kim",
            "POST /orders",
            "POST /orders",
            "POST /orders",
            "POST /orders/A1/receipt"
        ]
    );
    let asked = shop.asked.lock().unwrap();
    assert!(asked[0].contains("tenant: main\r\n"), "{}", asked[0]);
    assert!(asked[3].contains(r#""ship_to":"Elm St 1""#), "{}", asked[3]);
}

#[test]
fn a_broken_criterion_and_spent_attempts_end_a_workflow() {
    let shop = Imported::new(ORDER, vec![customer("blocked")]);
    let ran = shop.run("order", &["customer=kim", "lines=[\"tea\"]"]);
    assert_ne!(ran.status, 0, "{ran:?}");
    assert_eq!(ran.json()["error"]["class"], "validation.ensure", "{ran:?}");
    assert_eq!(shop.lines().len(), 1);

    let busy = || answered("503 Service Unavailable", &Json::Null);
    let shop = Imported::new(ORDER, vec![customer("active"), busy(), busy(), busy()]);
    let ran = shop.run("order", &["customer=kim", "lines=[\"tea\"]"]);
    assert_eq!(
        ran.json()["error"]["class"],
        "transient.unavailable",
        "{ran:?}"
    );
    assert_eq!(shop.lines().len(), 4, "the first attempt and two more");

    let shop = Imported::new(ORDER, vec![answered("200 OK", &json!({"receipt": "12"}))]);
    let ran = shop.run("receipt", &["order=A1"]);
    assert_eq!(ran.json()["error"]["class"], "validation.ensure", "{ran:?}");
}

const PARCELS: &str = r##"openapi: 3.1.0
info: { title: Parcels, version: "1" }
paths:
  /parcels/{parcel}:
    parameters: [{ name: parcel, in: path, required: true, schema: { type: string } }]
    get:
      operationId: weigh
      responses:
        "200": { description: it, content: { application/json: { schema: { $ref: "#/components/schemas/Parcel" } } } }
        "404": { description: none }
        "409": { description: no, content: { application/json: { schema: { type: object } } } }
    post:
      operationId: send
      responses:
        "200": { description: it, content: { application/json: { schema: { $ref: "#/components/schemas/Sent" } } } }
        "409": { description: no }
    put:
      operationId: freight
      responses:
        "200": { description: it, content: { application/json: { schema: { $ref: "#/components/schemas/Sent" } } } }
  /parts:
    post:
      operationId: part
      responses:
        "200": { description: it, content: { application/json: { schema: { type: object, required: [left], properties: { left: { type: integer } } } } } }
  /insurance:
    post:
      operationId: insure
      responses:
        "200": { description: it, content: { application/json: { schema: { type: object, required: [policy], properties: { policy: { type: string } } } } } }
components:
  schemas:
    Parcel:
      type: object
      required: [grams, state]
      properties:
        grams: { type: integer }
        state: { type: string }
        items: { type: array, items: { type: object, required: [count], properties: { name: { type: string }, count: { type: integer } } } }
    Sent: { type: object, required: [code], properties: { code: { type: string }, insured: { type: boolean } } }
"##;

const WAYS: &str = r#"arazzo: 1.0.1
info: { title: Parcels, version: 1.0.0 }
sourceDescriptions: [{ name: shop, url: ./shop.yaml, type: openapi }]
workflows:
  - workflowId: send
    inputs: { type: object, properties: { parcel: { type: string } }, required: [parcel] }
    parameters: [{ name: parcel, in: path, value: $inputs.parcel }]
    steps:
      - stepId: weigh
        operationId: weigh
        outputs: { grams: $response.body#/grams }
        onSuccess:
          - { name: heavy, type: end, criteria: [{ condition: $response.body#/grams > 30000 }] }
          - { name: big, type: goto, stepId: freight, criteria: [{ condition: $response.body#/grams > 10000 }] }
        onFailure:
          - { name: unknown, type: end, criteria: [{ condition: $statusCode == 404 }] }
          - name: busy
            type: goto
            stepId: freight
            criteria: [{ condition: $statusCode == 409 }, { condition: $response.body#/busy == true }]
      - stepId: letter
        operationId: send
        outputs: { code: $response.body#/code }
        onFailure: [{ name: again, type: retry, retryAfter: 0, retryLimit: 1, criteria: [{ condition: $statusCode == 503 }] }]
        onSuccess:
          - { name: insured, type: goto, workflowId: insurance, criteria: [{ condition: $response.body#/insured == true }] }
          - { name: sent, type: end }
      - stepId: freight
        operationId: freight
        outputs: { code: $response.body#/code }
    outputs:
      grams: $steps.weigh.outputs.grams
      letter: $steps.letter.outputs.code
      freight: $steps.freight.outputs.code
  - workflowId: insurance
    steps: [{ stepId: insure, operationId: insure, outputs: { policy: $response.body#/policy } }]
    outputs: { policy: $steps.insure.outputs.policy }
  - workflowId: parts
    steps:
      - stepId: part
        operationId: part
        outputs: { left: $response.body#/left }
        onSuccess: [{ name: more, type: goto, stepId: part, criteria: [{ condition: $response.body#/left > 0 }] }]
    outputs: { left: $steps.part.outputs.left }
  - workflowId: ready
    inputs: { type: object, properties: { parcel: { type: string } }, required: [parcel] }
    steps:
      - stepId: look
        operationId: weigh
        parameters: [{ name: parcel, in: path, value: $inputs.parcel }]
        successCriteria:
          - { context: $response.body#/state, condition: "^(ready|sent)$", type: regex }
          - { context: $response.body, condition: "$.items[?@.count > 1 && @.name != null]", type: jsonpath }
        onFailure: [{ name: wait, type: retry, retryAfter: 1, retryLimit: 5 }]
    outputs: { state: ready }
"#;

fn parcel(grams: i64) -> String {
    answered("200 OK", &json!({"grams": grams, "state": "new"}))
}

/// Runs the workflow `send` with these answers. Returns its output and the requests.
fn sent(answers: Vec<String>) -> (Output, Vec<String>) {
    let parcels = Imported::over(PARCELS, WAYS, answers);
    let ran = parcels.run("send", &["parcel=P1"]);
    (ran, parcels.lines())
}

#[test]
fn actions_lead_to_steps_to_workflows_and_to_the_end() {
    let (ran, asked) = sent(vec![parcel(40000)]);
    let nothing = json!({"grams": 40000, "letter": null, "freight": null});
    assert_eq!(ran.json()["reply"], nothing, "{ran:?}");
    assert_eq!(asked, ["GET /parcels/P1"]);

    let (ran, asked) = sent(vec![
        parcel(20000),
        answered("200 OK", &json!({"code": "F1"})),
    ]);
    let freight = json!({"grams": 20000, "letter": null, "freight": "F1"});
    assert_eq!(ran.json()["reply"], freight, "{ran:?}");
    assert_eq!(asked, ["GET /parcels/P1", "PUT /parcels/P1"]);

    let (ran, asked) = sent(vec![
        parcel(100),
        answered("503 Service Unavailable", &Json::Null),
        answered("200 OK", &json!({"code": "L1", "insured": false})),
    ]);
    let letter = json!({"grams": 100, "letter": "L1", "freight": null});
    assert_eq!(ran.json()["reply"], letter, "{ran:?}");
    assert_eq!(
        asked,
        ["GET /parcels/P1", "POST /parcels/P1", "POST /parcels/P1"]
    );

    let (ran, asked) = sent(vec![
        parcel(100),
        answered("200 OK", &json!({"code": "L1", "insured": true})),
        answered("200 OK", &json!({"policy": "I-1"})),
    ]);
    assert_eq!(ran.json()["reply"], json!({"policy": "I-1"}), "{ran:?}");
    assert_eq!(asked[2], "POST /insurance");
}

#[test]
fn failures_lead_where_their_status_and_body_say() {
    let (ran, asked) = sent(vec![answered("404 Not Found", &Json::Null)]);
    let nothing = json!({"grams": null, "letter": null, "freight": null});
    assert_eq!(ran.json()["reply"], nothing, "{ran:?}");
    assert_eq!(asked.len(), 1);

    let (ran, asked) = sent(vec![
        answered("409 Conflict", &json!({"busy": true})),
        answered("200 OK", &json!({"code": "F1"})),
    ]);
    let freight = json!({"grams": null, "letter": null, "freight": "F1"});
    assert_eq!(ran.json()["reply"], freight, "{ran:?}");
    assert_eq!(asked[1], "PUT /parcels/P1");

    let (ran, asked) = sent(vec![answered("409 Conflict", &json!({"busy": false}))]);
    assert_eq!(ran.json()["error"]["class"], "tool.conflict", "{ran:?}");
    assert_eq!(asked.len(), 1);
}

#[test]
fn ways_back_and_attempts_go_on_until_an_answer_is_right() {
    let left = |left: i64| answered("200 OK", &json!({"left": left}));
    let parcels = Imported::over(PARCELS, WAYS, vec![left(2), left(1), left(0)]);
    let ran = parcels.run("parts", &[]);
    assert_eq!(ran.json()["reply"], json!({"left": 0}), "{ran:?}");
    assert_eq!(parcels.lines(), ["POST /parts"; 3]);

    let status_answer = |state: &str, count: i64| {
        let items = json!([{"name": "tea", "count": count}, {"name": "cup", "count": 0}]);
        let body = json!({"grams": 1, "state": state, "items": items});
        answered("200 OK", &body)
    };
    let answers = vec![
        status_answer("new", 2),
        status_answer("ready", 1),
        status_answer("ready", 2),
    ];
    let parcels = Imported::over(PARCELS, WAYS, answers);
    let ran = parcels.run("ready", &["parcel=P1"]);
    assert_eq!(ran.json()["reply"], json!({"state": "ready"}), "{ran:?}");
    assert_eq!(parcels.lines().len(), 3, "until both criteria hold");
}
