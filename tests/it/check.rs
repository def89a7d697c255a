//! `planrun check` and `planrun explain`: the pages of all codes, fixture folders, exit codes, formats.

use std::collections::BTreeSet;
use std::path::Path;

use planrun_lang::builtins;
use planrun_lang::diag::codes::{self, Code};
use serde_json::Value;

use crate::support::{Output, compare, folder, planrun, root};

/// Bytes that are not a plan, for errors that are reported before parsing.
const BAD_BYTES: &[u8] = b"plan p(\xff) {}\n";
/// A plan without findings.
pub const GOOD: &str = "plan p() -> int {\n    reply 1\n}\n";

/// Introduces a plan in the JSON form.
const BAD_JSON: &str = "Bad, as `example.plan.json`:";
const GOOD_JSON: &str = "Good, as `example.plan.json`:";

/// The executable parts of a code's page.
#[derive(Default)]
pub struct Page {
    pub bad: Option<Vec<u8>>,
    pub good: Option<Vec<u8>>,
    /// Further files. Those before the bad plan belong to both plans; those between the plans override them for the
    /// good one.
    pub files: Vec<(String, Vec<u8>)>,
    /// Number of files before the bad plan.
    above_bad: usize,
    /// Whether its plans are in the JSON form.
    json: bool,
}

/// The meaning of the next fenced block of a page.
enum Next {
    Nothing,
    Bad,
    Good,
    File(String),
}

/// Bad plans that do not fit on a page; their pages describe them in words.
fn described(code: &Code) -> Option<Vec<u8>> {
    let nested = |depth| {
        format!(
            "plan p() -> int {{\n    reply {}1{}\n}}\n",
            "(".repeat(depth),
            ")".repeat(depth)
        )
    };
    match code.name {
        "file-too-large" => Some(vec![b' '; planrun_lang::source::MAX_FILE_BYTES + 1]),
        "too-deep" => Some(nested(5000).into_bytes()),
        _ => None,
    }
}

/// Returns true for codes that `check` does not report, because it does not connect to servers. Their pages are tested
/// in `tool_contracts`.
fn is_found_by_connecting(code: &Code) -> bool {
    code.name == "contract-broken"
}

/// Parses a page. `Bad:`, `Good:` and ``File `name`:`` introduce the fenced block that follows. In blocks, `⟨U+202E⟩`
/// stands for a character and `⟨byte FF⟩` for a byte that a page cannot contain.
pub fn parse(page: &str) -> Page {
    let mut parsed = Page::default();
    let mut next = Next::Nothing;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        parsed.json |= line == BAD_JSON;
        match line.trim_end() {
            "Bad:" | BAD_JSON => next = Next::Bad,
            "Good:" | GOOD_JSON => next = Next::Good,
            fence if fence.starts_with("```") => {
                let block: Vec<_> = lines
                    .by_ref()
                    .take_while(|line| !line.starts_with("```"))
                    .collect();
                let block = block.join("\n") + "\n";
                match std::mem::replace(&mut next, Next::Nothing) {
                    Next::Nothing => {}
                    Next::Bad => {
                        parsed.bad = Some(bytes(&block));
                        parsed.above_bad = parsed.files.len();
                    }
                    Next::Good => parsed.good = Some(bytes(&block)),
                    Next::File(name) => parsed.files.push((name, bytes(&block))),
                }
            }
            line => {
                if let Some(name) = line
                    .strip_prefix("File `")
                    .and_then(|rest| rest.strip_suffix("`:"))
                {
                    next = Next::File(name.to_owned());
                }
            }
        }
    }
    parsed
}

fn bytes(block: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut parts = block.split('⟨');
    out.extend(parts.next().unwrap_or("").bytes());
    for part in parts {
        let (name, rest) = part.split_once('⟩').expect("`⟨` without `⟩`");
        let number = |text: &str| u32::from_str_radix(text, 16).unwrap();
        if let Some(code) = name.strip_prefix("U+") {
            let character = char::from_u32(number(code)).unwrap();
            out.extend(character.encode_utf8(&mut [0; 4]).bytes());
        } else {
            out.push(u8::try_from(number(name.strip_prefix("byte ").unwrap())).unwrap());
        }
        out.extend(rest.bytes());
    }
    out
}

/// Checks one plan with its files, and enables the code if it is optional. Returns code and severity of each finding.
fn findings(
    asked: &Code,
    plan: &[u8],
    name: &str,
    files: &[(String, Vec<u8>)],
) -> Result<Vec<(String, String)>, String> {
    let files = files
        .iter()
        .map(|(name, content)| (name.as_str(), content.as_slice()));
    let folder = folder(files.chain([(name, plan)]));
    let enable = if asked.optional {
        vec!["--enable", asked.name]
    } else {
        Vec::new()
    };
    let output = planrun(
        ["check", "--format", "json", name]
            .into_iter()
            .chain(enable),
    )
    .within(folder.path())
    .run();
    if output.status > 1 {
        return Err(format!(
            "check ended with {}: {}",
            output.status, output.stderr
        ));
    }
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    let found = output.json()["diagnostics"].as_array().unwrap().clone();
    Ok(found
        .iter()
        .map(|finding| (text(finding, "code"), text(finding, "severity")))
        .collect())
}

/// Returns all faults in the page of a code.
fn faults(code: &Code) -> Vec<String> {
    let mut faults = Vec::new();
    let page = parse(code.page);
    let name = if page.json {
        "example.plan.json"
    } else {
        "example.plan"
    };
    let first = code.page.lines().next().unwrap_or("");
    if !first.ends_with('.') || first.starts_with(['#', '`']) {
        faults.push(format!("its first line is no sentence: `{first}`"));
    }
    match page
        .bad
        .or_else(|| described(code))
        .map(|plan| findings(code, &plan, name, &page.files[..page.above_bad]))
    {
        None => faults.push("it has no bad plan (`Bad:` and a fenced block)".into()),
        Some(Err(fault)) => faults.push(format!("its bad plan: {fault}")),
        Some(Ok(found)) => {
            if !found.iter().any(|(name, _)| name == code.name) {
                faults.push(format!("its bad plan is not reported: {found:?}"));
            }
            let strangers = found
                .iter()
                .filter(|(name, severity)| name != code.name && severity == "error");
            faults.extend(
                strangers.map(|(name, _)| format!("its bad plan also has the error {name}")),
            );
        }
    }
    match page
        .good
        .map(|plan| findings(code, &plan, name, &page.files))
    {
        None => faults.push("it has no good plan (`Good:` and a fenced block)".into()),
        Some(Err(fault)) => faults.push(format!("its good plan: {fault}")),
        Some(Ok(found)) if found.is_empty() => {}
        Some(Ok(found)) => faults.push(format!("its good plan is reported: {found:?}")),
    }
    faults
}

/// Returns the codes to test: the one in `PLANRUN_CODE`, or all.
fn chosen() -> impl Iterator<Item = &'static Code> {
    let name = std::env::var("PLANRUN_CODE").ok();
    codes::all().filter(move |code| name.as_deref().is_none_or(|name| name == code.name))
}

/// `PLANRUN_CODE=unknown-name cargo test --test it check::pages_hold` tests one page.
#[test]
fn pages_hold() {
    let mut faulty = Vec::new();
    for code in chosen().filter(|code| !code.page.is_empty() && !is_found_by_connecting(code)) {
        faulty.extend(
            faults(code)
                .into_iter()
                .map(|fault| format!("{}: {fault}", code.name)),
        );
    }
    assert!(
        faulty.is_empty(),
        "{} faults in pages\n{}",
        faulty.len(),
        faulty.join("\n")
    );
}

#[test]
fn every_code_has_a_page() {
    let missing: Vec<_> = chosen()
        .filter(|code| code.page.is_empty())
        .map(|code| code.name)
        .collect();
    assert!(
        missing.is_empty(),
        "{} codes have no page: {}",
        missing.len(),
        missing.join(", ")
    );
}

#[test]
fn pages_are_read_with_their_files_and_hidden_characters() {
    let page = parse(
        "One.\n\nFile `apps/hr.yaml`:\n\n```yaml\nname: hr\n```\n\nBad:\n\n```plan\na⟨U+202E⟩b⟨byte FF⟩\n```\n\nGood:\n```plan\nx\n```\n",
    );
    assert_eq!(page.bad.unwrap(), b"a\xe2\x80\xaeb\xff\n");
    assert_eq!(page.good.unwrap(), b"x\n");
    assert_eq!(
        page.files,
        [("apps/hr.yaml".to_owned(), b"name: hr\n".to_vec())]
    );
}

/// Each folder in `tests/fixtures/check` is a project. Its `expected.txt` has standard output, standard error and the
/// exit code of the check. `PLANRUN_BLESS=1` rewrites it; review the difference.
#[test]
fn fixture_folders_come_out_as_expected() {
    let folder = root().join("tests/fixtures/check");
    let mut names: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    assert!(!names.is_empty());
    let results = names.iter().map(|project| {
        let Output {
            status,
            stdout,
            stderr,
        } = planrun(["check"]).within(project).run();
        compare(
            &project.join("expected.txt"),
            &format!("{stdout}{stderr}exit {status}\n"),
        )
    });
    let failed: Vec<_> = results.filter_map(Result::err).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A fix in the JSON output of a check.
struct JsonFix {
    file: String,
    code: String,
    edits: Vec<Value>,
}

/// Returns the codes of a project's errors, and the fixes of its findings.
fn errors_and_fixes(project: &Path) -> (BTreeSet<String>, Vec<JsonFix>) {
    let found = planrun(["check", "--format", "json"])
        .within(project)
        .run()
        .json();
    let mut codes = BTreeSet::new();
    let mut fixes = Vec::new();
    for finding in found["diagnostics"].as_array().unwrap() {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        if finding["severity"] == "error" {
            codes.insert(text(&finding["code"]));
        }
        if let Some(edits) = finding["fix"]["edits"].as_array() {
            fixes.push(JsonFix {
                file: text(&finding["file"]),
                code: text(&finding["code"]),
                edits: edits.clone(),
            });
        }
    }
    (codes, fixes)
}

/// Applies edits from the JSON output of a check to a text.
fn edited(text: &str, edits: &[Value]) -> String {
    let offset = |edit: &Value, end: &str| {
        usize::try_from(edit["span"][end]["offset"].as_u64().unwrap()).unwrap()
    };
    let mut ordered: Vec<&Value> = edits.iter().collect();
    ordered.sort_by_key(|edit| std::cmp::Reverse((offset(edit, "start"), offset(edit, "end"))));
    ordered.into_iter().fold(text.to_owned(), |text, edit| {
        let (before, behind) = (&text[..offset(edit, "start")], &text[offset(edit, "end")..]);
        format!("{before}{}{behind}", edit["text"].as_str().unwrap())
    })
}

#[test]
fn c12_no_fix_of_a_fixture_leads_to_another_error() {
    let mut tried = 0;
    for entry in std::fs::read_dir(root().join("tests/fixtures/check")).unwrap() {
        let fixture = entry.unwrap().path();
        let (codes, fixes) = errors_and_fixes(&fixture);
        // A fix of a syntax error can reveal findings that the error had hidden.
        let hidden = |code: &String| codes::GROUPS[0].1.iter().any(|group| group.name == code);
        if codes.iter().any(hidden) {
            continue;
        }
        for JsonFix { file, code, edits } in &fixes {
            let copy = copied(&fixture);
            let path = copy.path().join(file);
            let text = edited(&std::fs::read_to_string(&path).unwrap(), edits);
            std::fs::write(&path, text).unwrap();
            let (after, _) = errors_and_fixes(copy.path());
            assert!(
                after.is_subset(&codes),
                "{}: {code} leads from {codes:?} to {after:?}",
                fixture.display()
            );
            tried += 1;
        }
        for all in ["--fix", "--unsafe-fix"] {
            let copy = copied(&fixture);
            planrun(["check", all]).within(copy.path()).run();
            let (after, _) = errors_and_fixes(copy.path());
            assert!(
                after.is_subset(&codes),
                "{} {all}: from {codes:?} to {after:?}",
                fixture.display()
            );
        }
    }
    assert!(tried > 5, "only {tried} fixes");
}

/// Copies a folder to a temporary one.
fn copied(from: &Path) -> tempfile::TempDir {
    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
            let target = to.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                copy(&entry.path(), &target);
            } else {
                std::fs::copy(entry.path(), target).unwrap();
            }
        }
    }
    let target = tempfile::tempdir().unwrap();
    copy(from, target.path());
    target
}

#[test]
fn exit_codes_tell_findings_usage_and_environment_apart() {
    let folder = folder([("good.plan", GOOD.as_bytes()), ("bad.plan", BAD_BYTES)]);
    let status = |arguments: &[&str]| planrun(arguments).within(folder.path()).run().status;
    assert_eq!(status(&["check", "good.plan"]), 0);
    assert_eq!(status(&["check", "bad.plan"]), 1);
    assert_eq!(status(&["check", "good.plan", "bad.plan"]), 1);
    assert_eq!(
        status(&["check", "--allow", "not-utf8", "bad.plan"]),
        1,
        "an error stays"
    );
    assert_eq!(status(&["check", "--deny", "no-such-code", "good.plan"]), 2);
    assert_eq!(status(&["check", "--formt", "json"]), 2);
    assert_eq!(status(&["chekc"]), 2);
    assert_eq!(status(&[]), 2);
    assert_eq!(status(&["check", "missing.plan"]), 3);
    assert_eq!(status(&["--help"]), 0);
    assert_eq!(status(&["--version"]), 0);
}

#[test]
fn misspelt_flags_paths_and_codes_get_a_suggestion() {
    let folder = folder([("onboarding.plan", GOOD)]);
    let complaint = |arguments: &[&str]| planrun(arguments).within(folder.path()).run().stderr;
    assert!(complaint(&["check", "--formt", "json"]).contains("'--format'"));
    assert!(complaint(&["explain", "unknwon-name"]).contains("did you mean `unknown-name`?"));
    assert_eq!(
        complaint(&["check", "onbording.plan"]),
        "error: there is no file or folder `onbording.plan`; did you mean `onboarding.plan`?\n"
    );
}

#[test]
fn the_project_says_what_is_denied_and_allowed_for_check_and_run_alike() {
    let plan = "plan p() -> int {\n    let idle = 1\n    reply 2\n}\n";
    let status = |settings: &str, arguments: &[&str]| {
        let folder = folder([("planrun.yaml", settings), ("a.plan", plan)]);
        planrun(arguments).within(folder.path()).run().status
    };
    for command in [&["check"][..], &["run", "a.plan"]] {
        assert_eq!(status("", command), 0);
        assert_eq!(status("check: { deny: [warnings] }", command), 1);
        assert_eq!(status("check: { deny: [unused-let] }", command), 1);
        assert_eq!(
            status("check: { deny: [warnings], allow: [unused-let] }", command),
            0
        );
    }
    assert_eq!(
        status(
            "check: { deny: [warnings] }",
            &["check", "--allow", "unused-let"]
        ),
        0
    );
    assert_eq!(
        status(
            "check: { allow: [unused-let] }",
            &["check", "--deny", "unused-let"]
        ),
        1
    );
    let folder = folder([
        ("planrun.yaml", "check: { allow: [unused-lte] }\n"),
        ("a.plan", plan),
    ]);
    let output = planrun(["check", "--format", "short"])
        .within(folder.path())
        .run();
    assert_eq!(output.status, 1);
    assert_eq!(
        output.stdout,
        "a.plan:2:9: warning[unused-let] `idle` is never read\n\
         planrun.yaml:1:18: error[config-key] `check.allow` lists `unused-lte`, which is not the code of a diagnostic\n"
    );
}

#[test]
fn a_folder_without_plans_is_said() {
    let folder = folder([("readme.md", "# nothing")]);
    let output = planrun(["check"]).within(folder.path()).run();
    assert_eq!(output.status, 3);
    assert!(
        output
            .stderr
            .starts_with("error: no plan files found in `.`"),
        "{output:?}"
    );
    assert_eq!(output.stdout, "");
}

#[test]
fn folders_are_searched_without_what_git_ignores() {
    let folder = folder([
        (".gitignore", "build/\n"),
        ("build/a.plan", GOOD),
        ("plans/b.plan", GOOD),
        ("plans/deep/c.plan", GOOD),
        ("plans/notes.txt", "no plan"),
    ]);
    let files = |arguments: &[&str]| {
        let output = planrun(arguments).within(folder.path()).run();
        output.json()["summary"]["files"].as_u64().unwrap()
    };
    assert_eq!(files(&["check", "--format", "json"]), 2);
    assert_eq!(
        files(&["check", "--format", "json", "build/a.plan"]),
        1,
        "named, so meant"
    );
    assert_eq!(
        files(&["check", "--format", "json", ".", "./plans", "plans/b.plan"]),
        2,
        "each once"
    );
}

#[cfg(unix)]
#[test]
fn an_unreadable_file_is_said_and_the_rest_is_checked() {
    let folder = folder([("a.plan", BAD_BYTES)]);
    std::os::unix::fs::symlink("nowhere.plan", folder.path().join("b.plan")).unwrap();
    let output = planrun(["check", "--format", "short"])
        .within(folder.path())
        .run();
    assert_eq!(output.status, 3);
    assert!(
        output.stdout.starts_with("a.plan:1:8: error[not-utf8]"),
        "{output:?}"
    );
    assert!(
        output
            .stderr
            .contains("error: cannot read `b.plan`: it does not exist\n"),
        "{output:?}"
    );
}

#[test]
fn findings_come_in_path_order_every_time() {
    let folder = folder((0..60).map(|number| (format!("{}/{number}.plan", number % 7), BAD_BYTES)));
    let output = planrun(["check", "--format", "short"])
        .within(folder.path())
        .run();
    let names: Vec<_> = output
        .stdout
        .lines()
        .map(|line| Path::new(line.split(':').next().unwrap()))
        .collect();
    assert_eq!(names.len(), 60);
    assert!(names.is_sorted(), "{names:?}");
    assert_eq!(output.stderr, "60 errors in 60 files\n");
    assert_eq!(
        planrun(["check", "--format", "short"])
            .within(folder.path())
            .run()
            .stdout,
        output.stdout
    );
}

#[test]
fn standard_input_is_a_plan_too() {
    let good = planrun(["check", "-"]).stdin(GOOD).run();
    assert_eq!((good.status, good.stdout.as_str()), (0, ""));
    assert_eq!(good.stderr, "no problems found in 1 file\n");
    let bad = planrun(["check", "-", "--format", "short"])
        .stdin(BAD_BYTES)
        .run();
    assert_eq!(bad.status, 1);
    assert!(
        bad.stdout.starts_with("<stdin>:1:8: error[not-utf8]"),
        "{bad:?}"
    );
}

#[test]
fn json_has_its_documented_shape() {
    let output = planrun(["check", "--format", "json", "-"])
        .stdin(BAD_BYTES)
        .run();
    insta::assert_snapshot!(output.stdout);
}

#[test]
fn colour_is_for_those_who_want_it() {
    let run = |arguments: &[&str]| {
        planrun(arguments)
            .stdin(BAD_BYTES)
            .without_variable("NO_COLOR")
            .run()
            .stdout
    };
    assert!(
        !run(&["check", "-"]).contains('\u{1b}'),
        "a pipe is no terminal"
    );
    assert!(run(&["check", "-", "--color", "always"]).contains("\u{1b}[31merror[not-utf8]"));
    assert!(!run(&["check", "-", "--color", "never"]).contains('\u{1b}'));
    let forced = planrun(["check", "-"])
        .stdin(BAD_BYTES)
        .variable("CLICOLOR_FORCE", "1")
        .run()
        .stdout;
    assert!(!forced.contains('\u{1b}'), "NO_COLOR wins");
}

#[test]
fn escapes_in_files_and_names_are_shown_not_sent() {
    let folder = folder([(
        "a\u{1b}[2J.plan",
        b"\x1b]0;owned\x07 \xe2\x80\xae \xff".as_slice(),
    )]);
    for format in ["human", "short", "json"] {
        let output = planrun(["check", "--format", format])
            .within(folder.path())
            .run();
        assert_eq!(output.status, 1);
        let all = output.stdout + &output.stderr;
        assert!(
            all.chars()
                .all(|character| character == '\n'
                    || !character.is_control() && character != '\u{202e}'),
            "{all:?}"
        );
    }
}

#[test]
fn quiet_leaves_results_and_errors() {
    let output = planrun(["check", "-q", "--format", "short", "-"])
        .stdin(BAD_BYTES)
        .run();
    assert_eq!((output.status, output.stderr.as_str()), (1, ""));
    assert!(!output.stdout.is_empty());
    assert!(
        !planrun(["check", "-q", "missing.plan"])
            .run()
            .stderr
            .is_empty()
    );
}

#[cfg(unix)]
#[test]
fn a_reader_that_leaves_is_no_failure() {
    let folder = folder((0..300).map(|number| (format!("{number}.plan"), BAD_BYTES)));
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_planrun"))
        .args(["check"])
        .current_dir(folder.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "300 errors in 300 files\n"
    );
}

#[test]
fn explain_lists_every_code_under_its_heading() {
    let output = planrun(["explain"]).run();
    assert_eq!(output.status, 0);
    let (found, _) = output.stdout.split_once("\nBuilt-in tools\n").unwrap();
    let listed: Vec<_> = found
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .collect();
    assert_eq!(
        listed,
        codes::all().map(|code| code.name).collect::<Vec<_>>()
    );
}

#[test]
fn explain_takes_a_code_as_it_is_printed() {
    let output = planrun(["explain", "error[unknown-name]"]).run();
    assert_eq!(output.status, 0);
    assert!(
        output.stdout.starts_with("unknown-name (error)\n"),
        "{output:?}"
    );
}

#[test]
fn explain_says_what_a_word_of_the_language_is() {
    for (word, told) in [
        ("recover", "`recover` is no code: it is a clause of a step"),
        ("each", "the beginning of a statement"),
    ] {
        let output = planrun(["explain", word]).run();
        assert_eq!(output.status, 2, "{output:?}");
        assert!(output.stderr.contains(told), "{told}: {output:?}");
        assert!(
            output.stderr.contains("planrun explain --language"),
            "{output:?}"
        );
    }
}

#[test]
fn a_plan_named_without_its_folder_or_ending_is_found() {
    let files = folder([("plans/tidy.plan", GOOD), ("other.plan.json", "{}")]);
    for (name, near) in [
        ("tidy", "did you mean `plans/tidy.plan`?"),
        ("tidy.plan", "did you mean `plans/tidy.plan`?"),
        ("other", "did you mean `other.plan.json`?"),
        ("othr.plan.json", "did you mean `other.plan.json`?"),
    ] {
        for command in ["run", "check"] {
            let output = planrun([command, name]).within(files.path()).run();
            assert_eq!(output.status, 3, "{output:?}");
            assert!(output.stderr.contains(near), "{command} {name}: {output:?}");
        }
    }
}

#[test]
fn a_call_that_no_list_could_allow_is_reported_although_its_target_is_an_input() {
    let plan = |allow: &str, call: &str| {
        format!(
            "use fs, http, proc\nplan a(t: string) -> any {{ {allow} step s = {call} reply s }}"
        )
    };
    let read = "fs.read(path: t)";
    for (project, allow, call, whose) in [
        (
            "net: ['x:*']",
            "",
            read,
            Some("the project's `allow` has no `read`"),
        ),
        (
            "read: ['**']",
            "allow { write: [\"out/*\"] }",
            read,
            Some("the plan's `allow` has no `read`"),
        ),
        (
            "read: []",
            "allow { net: [\"x\"] }",
            read,
            Some("neither the plan nor the project has `read`"),
        ),
        (
            "read: ['**']",
            "",
            "fs.write(path: t, content: \"\")",
            Some("has no `write`"),
        ),
        (
            "read: ['**']",
            "",
            "http.fetch(url: t)",
            Some("has no `net`"),
        ),
        (
            "read: ['**']",
            "",
            "proc.run(argv: [t])",
            Some("has no `run`"),
        ),
        ("read: ['**']", "", read, None),
        (
            "run: [ls]",
            "",
            "proc.run(argv: [\"ls\"], cwd: \"sub\")",
            None,
        ),
        (
            "net: ['x:*']",
            "",
            "fs.read(path: t) recover denied.policy => \"\"",
            None,
        ),
    ] {
        let project = format!("allow: {{ {project} }}");
        let files = folder([("planrun.yaml", &project), ("a.plan", &plan(allow, call))]);
        let output = planrun(["check", "a.plan"]).within(files.path()).run();
        let found = output.stdout.contains("error[permission-missing]");
        assert_eq!(found, whose.is_some(), "{project} {call}: {output:?}");
        if let Some(whose) = whose {
            assert!(output.stdout.contains(whose), "{output:?}");
        }
    }
}

#[test]
fn explain_has_a_page_for_every_function_and_macro() {
    let all = planrun(["explain", "functions"]).run().stdout;
    let functions = builtins::all().map(|one| (one.title(), one.description));
    let macros = builtins::MACROS.iter();
    for (title, description) in functions.chain(macros.map(|one| (one.title(), one.description))) {
        let line = format!("  {title:<18}  {description}\n");
        assert!(all.contains(&line), "{line}");
    }
    for (name, signature) in [
        ("slice", "T[].slice(int, int) -> T[]"),
        ("math.abs", "math.abs(int) -> int"),
        ("abs", "math.abs(double) -> double"),
        ("size", "size(string) -> int"),
        ("join", "string[].join(string) -> string"),
        ("transformList", "xs.transformList(i, x, condition, value)"),
        ("cel.bind", "cel.bind(x, value, expression)"),
    ] {
        let page = planrun(["explain", name]).run();
        assert_eq!(page.status, 0, "{page:?}");
        assert!(page.stdout.contains(signature), "{signature}: {page:?}");
    }
    let misspelt = planrun(["explain", "transformLst"]).run();
    assert!(
        misspelt.stderr.contains("did you mean `transformList`?"),
        "{misspelt:?}"
    );
    let own = planrun(["explain", "desk.find"]).run();
    assert!(
        own.stderr.contains("`planrun tools show desk.find`"),
        "{own:?}"
    );
}

#[test]
fn a_plan_file_outside_of_the_project_has_to_come_into_it() {
    let used = "plan b() -> int { reply 1 }";
    let plan = "use \"../b.plan\" as b plan a() -> int { step one = b.b() reply one }";
    let files = folder([("p/planrun.yaml", ""), ("p/a.plan", plan), ("b.plan", used)]);
    let output = planrun(["check", "a.plan"])
        .within(files.path().join("p"))
        .run();
    assert!(
        output
            .stdout
            .contains("`../b.plan` is outside of the project"),
        "{output:?}"
    );
    assert!(
        output.stdout.contains("put it into the project"),
        "{output:?}"
    );
}
