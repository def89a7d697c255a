//! `// allow(code): reason`: which findings it suppresses, which it cannot, and findings about the comment itself.

use crate::support::{folder, planrun};

/// Returns the findings of a plan file, as `line: severity[code]`.
fn found(text: &str) -> Vec<String> {
    let output = planrun(["check", "--format", "json", "-"])
        .stdin(text)
        .run();
    let findings = output.json()["diagnostics"].as_array().unwrap().clone();
    let show = |found: &serde_json::Value| {
        let (line, severity, code) = (
            &found["span"]["start"]["line"],
            &found["severity"],
            &found["code"],
        );
        format!(
            "{line}: {}[{}]",
            severity.as_str().unwrap(),
            code.as_str().unwrap()
        )
    };
    findings.iter().map(show).collect()
}

#[test]
fn a_comment_speaks_of_what_follows_it_or_of_its_line() {
    let body = |statements: &str| format!("plan p() -> int {{\n{statements}    reply 1\n}}\n");
    let quiet = [
        "    // allow(unused-let): later\n    let a = 1\n",
        "    let a = 1 // allow(unused-let): later\n",
        "    // allow(unused-let): later\n    // and more prose\n\n    /// Documented.\n    let a = 1\n",
        "    // allow(unused-let): later\n    let a = [\n        1,\n    ]\n",
        "    // allow(constant-condition, unused-let): both\n    if true {\n        let a = 1\n    }\n",
    ];
    for statements in quiet {
        assert_eq!(found(&body(statements)), [""; 0], "{statements}");
    }
    let loud = [
        (
            "    // allow(unused-let): later\n    let a = 1\n    let b = 2\n",
            "4: warning[unused-let]",
        ),
        (
            "    let a = 1\n    // allow(unused-let): too late\n",
            "2: warning[unused-let] 3: warning[unused-allow]",
        ),
        (
            "    /// allow(unused-let): a document\n    let a = 1\n",
            "3: warning[unused-let]",
        ),
        (
            "    // allow(unused-let)\n    let a = 1\n",
            "2: note[allow-without-reason]",
        ),
        (
            "    // allow(unused-lte): x\n    let a = 1\n",
            "2: error[unknown-allow] 3: warning[unused-let]",
        ),
        (
            "    let a = nobody // allow(unknown-name): x\n",
            "2: warning[unused-let] 2: error[unknown-name] 2: warning[unused-allow]",
        ),
    ];
    for (statements, expected) in loud {
        assert_eq!(found(&body(statements)).join(" "), expected, "{statements}");
    }
}

#[test]
fn items_can_be_spoken_of_as_a_whole() {
    let text = "// allow(unused-use): for the next plan\nuse sys\n\n// allow(unused-let, unused-input): a sketch\nplan p(n: int) -> int {\n    let a = 1\n    reply 1\n}\n";
    assert_eq!(found(text), [""; 0]);
    let other = format!("{text}\nplan q(n: int) -> int {{\n    reply 1\n}}\n");
    assert_eq!(found(&other), ["10: warning[unused-input]"]);
}

#[test]
fn text_that_cannot_be_read_makes_no_comment_useless() {
    let text = "// allow(unused-let): x\nplan p() -> int {\n    let a = (1\n    reply 1\n}\n";
    assert!(
        found(text)
            .iter()
            .all(|found| !found.contains("unused-allow")),
        "{:?}",
        found(text)
    );
}

#[test]
fn what_is_allowed_is_not_denied_and_the_count_of_the_unknown_stays() {
    let text = "use kit\n\ntool kit.do(x: int) -> any read\n\nplan p() -> any {\n    // allow(unknown-read): the tool says nothing\n    step a = kit.do(x: 1)\n    reply a.b\n}\n";
    let output = planrun(["check", "--format", "json", "-", "--deny", "unknown-read"])
        .stdin(text)
        .run();
    let document = output.json();
    assert_eq!(
        (output.status, &document["summary"]["unknown"]),
        (0, &serde_json::json!(1)),
        "{document}"
    );
}

#[test]
fn run_listens_to_the_same_comments() {
    let text =
        "plan p() -> int {\n    // allow(unused-let): later\n    let a = 1\n    reply 2\n}\n";
    let folder = folder([
        ("planrun.yaml", "check: { deny: [warnings] }\n"),
        ("a.plan", text),
    ]);
    let output = planrun(["run", "a.plan"]).within(folder.path()).run();
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (0, "2\n"),
        "{output:?}"
    );
}

#[test]
fn a_single_call_is_not_told_to_write_something_in_its_plan() {
    let files = crate::support::folder([("a.txt", "x")]);
    let call = ["tools", "run", "fs.read", "--input", "{\"path\":\"a.txt\"}"];
    let output = crate::support::planrun(call).within(files.path()).run();
    let told = "reading files requires a permission, but the project allows nothing; add `allow: { read: […] }` to planrun.yaml";
    assert!(output.stderr.contains(told), "{output:?}");
    assert_ne!(output.status, 0);
}
