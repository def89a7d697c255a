//! Names of errors that tools declare: a misspelt name is an error everywhere (3.9).

use crate::support::{folder, planrun};

const APP: &str = "name: desk
system_context: A desk.
tools:
  - name: open
    description: Opens it.
    endpoint: http://127.0.0.1:1/tool
    effect: read
    parameters:
      type: object
      properties: { id: { type: string } }
      required: [id]
    returns:
      type: object
      properties: { id: { type: string } }
      required: [id]
    errors:
      - { reason: busy, class: tool.busy, happened: \"no\" }
      - { reason: sold_out, class: tool.sold_out, happened: \"no\" }
";

/// Returns the codes and the suggested edits for a file.
fn check(text: &str) -> (Vec<String>, Vec<String>) {
    let project = "apps: [apps/*.yaml]\n";
    let folder = folder([
        ("apps/desk.yaml", APP),
        ("planrun.yaml", project),
        ("a.plan", text),
    ]);
    let output = planrun(["check", "--format", "json", "a.plan"])
        .within(folder.path())
        .run();
    let found = output.json()["diagnostics"].as_array().unwrap().clone();
    let values = |key: &str| {
        found
            .iter()
            .map(|found| found[key].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    let (codes, helps): (Vec<String>, Vec<String>) = (values("code"), values("help"));
    (codes, helps)
}

#[test]
fn b16_a_misspelt_error_of_a_tool_is_an_error_with_a_suggestion() {
    for (clause, expected, near) in [
        (
            "recover tool.sold_ot => { id: \"\" }",
            "unknown-error-class",
            "did you mean `tool.sold_out`?",
        ),
        (
            "recover [auth, tool.buzy] => { id: \"\" }",
            "unknown-error-class",
            "did you mean `tool.busy`?",
        ),
        (
            "retry { on: [transient, tool.bussy] }",
            "unknown-error-class",
            "did you mean `tool.busy`?",
        ),
        (
            "recover tool.elsewhere => { id: \"\" }",
            "unreachable-recover",
            "",
        ),
        (
            "retry { on: [transient, tool.elsewhere] }",
            "retry-never-matches",
            "",
        ),
    ] {
        let text = format!(
            "use desk\nplan p(id: string) -> any {{\n step s = desk.open(id: id) {clause}\n reply s.id\n}}\n"
        );
        let (codes, helps) = check(&text);
        assert_eq!(codes, [expected], "{clause}");
        assert!(near.is_empty() || helps == [near], "{clause}: {helps:?}");
    }
    for clause in [
        "recover tool.sold_out => { id: \"\" }",
        "retry { on: [tool.busy] }",
        "recover tool.failed => { id: \"\" }",
    ] {
        let text = format!(
            "use desk\nplan p(id: string) -> any {{\n step s = desk.open(id: id) {clause}\n reply s.id\n}}\n"
        );
        let (codes, _) = check(&text);
        assert!(
            !codes.contains(&"unknown-error-class".to_owned()),
            "{clause}: {codes:?}"
        );
    }
}

#[test]
fn b16_a_tool_item_that_misspells_an_error_of_its_contract_is_an_error() {
    let of = |fails: &str| {
        let (codes, helps) = check(&format!(
            "use desk\ntool desk.open(id: string) -> {{ id: string }} read fails {fails}\nplan p(id: string) -> any {{\n \
             step s = desk.open(id: id)\n reply s.id\n}}\n"
        ));
        (codes.join(" "), helps.join(" "))
    };
    assert_eq!(
        of("sold_ot"),
        (
            "unknown-error-class".into(),
            "did you mean `sold_out`?".into()
        )
    );
    assert_eq!(of("[busy, sold_ot]").0, "unknown-error-class");
    assert_eq!(of("sold_out").0, "");
    assert_eq!(
        of("on_strike").0,
        "",
        "an error that the contract does not know"
    );
    assert_eq!(
        of("sold_out, sold_outs").0,
        "",
        "what is near is named as well"
    );
}
