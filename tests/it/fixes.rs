//! Applies fixes: the finding disappears, and no new finding appears.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::diag::fix::{self, Caution};
use planrun_lang::diag::{Diagnostic, Fix, codes};
use planrun_lang::lint;
use planrun_lang::permission::Permissions;
use planrun_lang::sema::{Files, Policy, Tools};
use planrun_lang::source::SourceFile;
use planrun_tools::host::{Host, MemoryHost};
use planrun_tools::tools::app::read_app;
use planrun_tools::tools::{Catalog, ProjectLimit};

use crate::check::{GOOD, parse};
use crate::support::{folder, planrun};

/// Mistakes with fixes, in addition to those of the pages.
const PLANS: &[&str] = &[
    // A `use` of several names, one or all of them unused.
    "use hr, email\n\ntool hr.find(id: string) -> { name: string } read\ntool email.send(to: string) -> string\n\n\
     plan p() {\n    step s = hr.find(id: \"1\")\n    reply s.name\n}\n",
    "use email, hr\n\ntool hr.find(id: string) -> { name: string } read\ntool email.send(to: string) -> string\n\n\
     plan p() {\n    step s = hr.find(id: \"1\")\n    reply s.name\n}\n",
    "/// Both.\nuse sys, hr\n\ntool hr.find(id: string) -> string\n\nplan p() -> int {\n    reply 1\n}\n",
    // Items and statements with their doc comments.
    "/// How high.\ntype Level = 1 | 2\n\n/// The plan.\nplan p() -> int {\n    reply 1\n}\n",
    "plan p() -> int {\n    /// Nobody wants it.\n    let a = 1\n    reply 2\n}\n",
    "plan p() -> int { let a = 1 reply 2 }\n",
    // Statements that come too late: a read, a `let`, one that reads what is between, one inside the reader's own
    // block.
    "use sys\n\nplan p() -> string {\n    let a = \"${b}\"\n    /// The id.\n    step b = sys.uuid()\n    reply a\n}\n",
    "use sys\n\nplan p() -> string {\n    let a = \"${b}\"\n    let c = \"c\"\n    let b = \"b${c}\"\n    reply a\n}\n",
    "plan p(n: int) -> int {\n    if n > 1 {\n        reply m when n > 2\n    }\n    let m = n + 1\n    reply m\n}\n",
    "use kit\n\ntool kit.do(x: string) -> string\n\nplan p() -> string {\n    step a = kit.do(x: b)\n    step b = kit.do(x: \"\")\n    reply a\n}\n",
    "use kit\n\ntool kit.do(x: string) -> string read\n\nplan p() -> string {\n    step a = kit.do(x: b)\n        timeout 3s\n    step b = kit.do(x: \"\")\n        timeout 4s\n    reply a\n}\n",
    // Clauses that are not applicable, on lines of their own or not.
    "use kit\n\ntool kit.do(x: string) -> string\n\nplan p() -> string {\n    step a = kit.do(x: \"1\") cache 5m timeout 3s\n    reply a\n}\n",
    "use kit\n\ntool kit.do(x: string) -> string\n\nplan p() -> string {\n    step a = kit.do(x: \"1\")\n        when true\n        timeout 3s\n    reply a\n}\n",
    "plan p() {\n    step w = wait 5m retry { attempts: 3 }\n    reply w\n}\n",
    // A missing `use`, above a doc comment.
    "/// Gives a new id.\nplan p() -> string {\n    step a = sys.uuid()\n    reply a\n}\n",
    "//! A file.\n\nuse kit\n\ntool kit.do(x: string) -> string read\n\nplan p() -> string {\n    step b = kit.do(x: \"\")\n    step a = sys.uuid()\n    reply a + b\n}\n",
    // Loops without a bound.
    "use kit\n\ntool kit.do(x: int) -> string read\n\nplan p(xs: int[]) {\n    step a = each x in (xs + [1]) parallel 2 {\n        step s = kit.do(x: x)\n        yield s\n    }\n    reply a\n}\n",
    "use kit\n\ntool kit.do(x: int) -> string read\n\nplan p() {\n    step a = repeat x = 1 {\n        step s = kit.do(x: x)\n        yield s\n        next x + 1\n    }\n    reply a\n}\n",
    // Names that need backquotes, and Chinese ones.
    "use 文件\n\ntool 文件.`读-取`(路径: string) -> { 内容: string } read\n\nplan 读(路径: string) -> string {\n    step 结果 = 文件.`读-去`(路径: 路径)\n    reply 结果.内容\n}\n",
    "use files\n\ntool files.read(`max-bytes`: int) -> string read\n\nplan p() -> string {\n    step a = files.read(5)\n    reply a\n}\n",
    // Lists that may be absent, calls inside of expressions, numbers as strings.
    "use kit\n\ntool kit.do(x: string) -> string read\n\nplan p(xs?: string[]) {\n    step a = each x in xs max 3 {\n        step s = kit.do(x: x)\n        yield s\n    }\n    reply a\n}\n",
    "use kit\n\ntool kit.do(x: string) -> string read\n\nplan p(n: int) -> string {\n    if n > 1 {\n        reply kit.do(x: string(n))\n    }\n    step a = kit.do(x: n)\n    reply a\n}\n",
];

#[test]
fn a_safe_fix_removes_its_finding_and_brings_no_other() {
    let mut faults = Vec::new();
    let mut applied = BTreeMap::new();
    for case in cases() {
        let before = case.check(&case.text);
        for found in before.iter().filter(|found| found.fix.is_some()) {
            let fix = found.fix.as_ref().unwrap();
            *applied.entry((fix.safe, found.code.name)).or_insert(0) += 1;
            let text = apply(&case.text, fix);
            let after = case.check(&text);
            let mut left = names(&before);
            let own = left
                .iter()
                .position(|name| *name == name_of(found))
                .unwrap();
            left.remove(own);
            // A repaired text reveals further findings, and an absent value may be absent again one step further on.
            let revealed = |name: &String| {
                let found_after = after.iter().find(|other| name_of(other) == *name);
                found_after.is_some_and(|other| {
                    !other.is_error() && codes::GROUPS[0].1.contains(&found.code)
                }) || name.starts_with("maybe-absent") && found.code.name == "maybe-absent"
            };
            let gone = names(&after)
                .iter()
                .filter(|name| **name == name_of(found))
                .count()
                < names(&before)
                    .iter()
                    .filter(|name| **name == name_of(found))
                    .count();
            let broken = after
                .iter()
                .any(|found| codes::GROUPS[0].1.contains(&found.code));
            let new = names(&after)
                .into_iter()
                .filter(|name| !left.contains(name) && !revealed(name))
                .collect::<Vec<_>>();
            if !gone || (fix.safe && !new.is_empty()) || (broken && !new.is_empty()) {
                faults.push(format!(
                    "{}: {}\ngave\n{text}\nwith {new:#?}\nfrom\n{}",
                    name_of(found),
                    fix.title,
                    case.text
                ));
            }
        }
    }
    for ((safe, code), count) in &applied {
        println!(
            "{code}: {count} {} fixes applied",
            if *safe { "safe" } else { "unsafe" }
        );
    }
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        faults.join("\n")
    );
    assert!(
        applied.len() > 25,
        "only {} codes have fixes",
        applied.len()
    );
}

/// Returns true for the codes of damaged texts, whose fix reveals further findings.
fn shows_more(found: &Diagnostic) -> bool {
    codes::GROUPS[0].1.contains(&found.code)
}

/// Returns the codes of the errors.
fn error_codes(found: &[Diagnostic]) -> BTreeSet<&'static str> {
    found
        .iter()
        .filter(|found| found.is_error())
        .map(|found| found.code.name)
        .collect()
}

/// Returns the errors whose codes did not occur before.
fn new_errors(before: &[Diagnostic], after: &[Diagnostic]) -> Vec<String> {
    let known = error_codes(before);
    after
        .iter()
        .filter(|found| found.is_error() && !known.contains(found.code.name))
        .map(name_of)
        .collect()
}

#[test]
fn c12_no_fix_leads_to_another_error() {
    let mut faults = Vec::new();
    let mut tried = 0;
    for case in cases() {
        let before = case.check(&case.text);
        for found in before.iter().filter(|found| !shows_more(found)) {
            let Some(fix) = &found.fix else { continue };
            tried += 1;
            let text = apply(&case.text, fix);
            let new = new_errors(&before, &case.check(&text));
            if !new.is_empty() {
                faults.push(format!(
                    "{}: {}\nled to {new:#?} in\n{text}",
                    name_of(found),
                    fix.title
                ));
            }
        }
        for caution in [Caution::Safe, Caution::Unsafe] {
            let mended = case.mend(&case.text, caution);
            let new = if before.iter().any(shows_more) {
                Vec::new()
            } else {
                new_errors(&before, &mended.left)
            };
            if !new.is_empty() {
                faults.push(format!(
                    "{caution:?}: together led to {new:#?} in\n{}",
                    mended.text
                ));
            }
        }
    }
    println!("{tried} fixes tried");
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        faults.join("\n")
    );
    assert!(tried > 60, "only {tried} fixes");
}

#[test]
fn c12_a_warning_is_never_safely_mended_by_a_guess() {
    let guesses = ["did you mean", "add `", "allow `", "write `https"];
    for case in cases() {
        for found in case
            .check(&case.text)
            .iter()
            .filter(|found| !found.is_error())
        {
            let Some(fix) = found.fix.as_ref().filter(|fix| fix.safe) else {
                continue;
            };
            let texts = [fix.title.as_str(), found.help.as_deref().unwrap_or("")];
            let guess = guesses
                .iter()
                .find(|guess| texts.iter().any(|text| text.starts_with(**guess)));
            assert!(guess.is_none(), "{}: {}", name_of(found), fix.title);
        }
    }
}

#[test]
fn c12_what_drops_a_bound_or_widens_what_is_allowed_is_not_safe() {
    let head = "use kit, http\n\ntool kit.look(x: string) -> string read\ntool kit.act(x: string) -> string\n\
                tool kit.pay(x: string) -> string irreversible\n\n";
    let cases = [
        (
            "clause-not-applicable",
            "step a = wait 5m retry { attempts: 3 }\n    reply a",
        ),
        (
            "poll-without-end",
            "step a = kit.look(x: \"\")\n        until a == \"x\" every 1s\n    reply a",
        ),
        (
            "cache-with-effect",
            "step a = kit.act(x: \"\") cache 5m\n    reply a",
        ),
        (
            "undo-of-read",
            "step a = kit.look(x: \"\")\n        undo kit.act(x: \"\")\n    reply a",
        ),
        (
            "irreversible-unconfirmed",
            "step a = kit.pay(x: \"\")\n    reply a",
        ),
        (
            "permission-missing",
            "allow { net: [\"example.com:*\"] }\n    step a = http.fetch(url: \"https://example.org/\")\n    reply a",
        ),
        // The step no longer waits for the one that the condition reads, which may fail.
        (
            "constant-condition",
            "step a = kit.look(x: \"\")\n    step b = kit.act(x: \"\")\n        when a == \"x\" || true\n    reply b",
        ),
        (
            "constant-condition",
            "step a = kit.look(x: \"\")\n    let c = true || a == \"x\"\n    step b = kit.act(x: \"\")\n        when c\n    reply b",
        ),
        (
            "insecure-url",
            "allow { net: [\"example.org:*\"] }\n    step a = http.fetch(url: \"http://example.org/\")\n    reply a",
        ),
        (
            "maybe-absent",
            "step a = kit.look(x: \"\") when n > 1\n    reply a.trim()",
        ),
        (
            "unbounded-loop",
            "step a = each x in xs {\n        yield x\n    }\n    reply a",
        ),
    ];
    for (code, statements) in cases {
        let text = format!("{head}plan p(n: int, xs: string[]) -> any {{\n    {statements}\n}}\n");
        let case = Case {
            text: text.clone(),
            files: BTreeMap::new(),
        };
        let found = case.check(&text);
        let own = found
            .iter()
            .find(|found| found.code.name == code)
            .unwrap_or_else(|| panic!("{code}: {found:#?}"));
        assert!(
            !own.fix
                .as_ref()
                .unwrap_or_else(|| panic!("{code} has no fix"))
                .safe,
            "{code}"
        );
    }
}

/// A step of its own is made whenever it is reached, and only once.
#[test]
fn a_call_is_moved_safely_only_out_of_what_is_always_evaluated() {
    let head = "use kit\n\ntool kit.look(x: string) -> { n: int } read\ntool kit.act(x: string) -> { n: int }\n\n";
    let cases = [
        ("let a = kit.look(x: \"\").n\n    reply a", true),
        ("reply kit.look(x: \"\").n", true),
        (
            "step a = kit.act(x: string(kit.look(x: \"\").n))\n    reply a.n",
            true,
        ),
        ("reply kit.act(x: \"\").n when n > 1\n    reply 2", false),
        (
            "ensure n > 1 else \"no ${kit.act(x: \"\").n}\"\n    reply 2",
            false,
        ),
        (
            "step a = kit.act(x: string(kit.look(x: \"\").n)) when n > 1\n    reply a",
            false,
        ),
        (
            "step a = kit.act(x: \"\")\n        undo kit.act(x: string(kit.look(x: \"\").n))\n    reply a.n",
            false,
        ),
        (
            "step a = kit.act(x: \"\")\n        recover _ => { n: kit.look(x: \"\").n }\n    reply a.n",
            false,
        ),
        (
            "step a = kit.act(x: \"\")\n        confirm \"now ${kit.look(x: \"\").n}?\"\n    reply a.n",
            false,
        ),
    ];
    for (statements, safe) in cases {
        let text = format!("{head}plan p(n: int) -> any {{\n    {statements}\n}}\n");
        let case = Case {
            text: text.clone(),
            files: BTreeMap::new(),
        };
        let found = case.check(&text);
        let own = found
            .iter()
            .find(|found| found.code.name == "call-in-expression");
        let own = own.unwrap_or_else(|| panic!("{statements}: {found:#?}"));
        assert_eq!(
            own.fix.as_ref().map(|fix| fix.safe),
            Some(safe),
            "{statements}"
        );
    }
}

/// The steps that two fixes add have two names.
#[test]
fn two_calls_that_are_moved_get_two_names() {
    let text = "use kit\n\ntool kit.look(x: string) -> { n: int } read\n\nplan p() -> int {\n    \
                reply kit.look(x: \"a\").n + kit.look(x: \"b\").n\n}\n";
    let case = Case {
        text: text.to_owned(),
        files: BTreeMap::new(),
    };
    let fixed = fix::apply_fixes(
        &SourceFile::new("p.plan", text),
        case.check(text),
        Caution::Safe,
        |source| case.check(source.text()),
    );
    let errors = error_codes(&case.check(&fixed.text));
    assert!(errors.is_empty(), "{errors:?}: {}", fixed.text);
    assert!(fixed.text.contains("step look_2 ="), "{}", fixed.text);
}

#[test]
fn fixes_come_to_an_end() {
    for case in cases() {
        for caution in [Caution::Safe, Caution::Unsafe] {
            let mended = case.mend(&case.text, caution);
            let expected = |found: &&Diagnostic| {
                found
                    .fix
                    .as_ref()
                    .is_some_and(|fix| fix.safe || caution == Caution::Unsafe)
            };
            let fixable = mended.left.iter().filter(expected).count();
            assert!(
                fixable <= mended.refused.len(),
                "still {:#?} in\n{}\nfrom\n{}",
                mended.left,
                mended.text,
                case.text
            );
            assert!(
                mended.refused.is_empty() || caution == Caution::Unsafe,
                "{:?} in\n{}",
                mended.refused,
                case.text
            );
        }
    }
}

#[test]
fn whatever_is_broken_is_not_broken_further() {
    let mut applied = 0;
    for case in cases() {
        for text in mutants(&case.text) {
            let before = errors(&case.check(&text));
            let mended = case.mend(&text, Caution::Unsafe);
            let after = case.check(&mended.text);
            assert!(
                errors(&after) <= before,
                "{before} errors became {after:#?} in\n{}\nfrom\n{text}",
                mended.text
            );
            assert_eq!(
                names(&after),
                names(&mended.left),
                "what is left is what is there"
            );
            applied += mended.applied;
        }
    }
    println!("{applied} fixes applied");
    assert!(applied > 1000, "only {applied} fixes were applied");
}

/// Returns variants of the text with one piece deleted, duplicated, or swapped with the next, spread over the text.
fn mutants(text: &str) -> impl Iterator<Item = String> {
    let pieces = text
        .split_inclusive(|c: char| !c.is_alphanumeric())
        .collect::<Vec<_>>();
    let stride = (pieces.len() / 8).max(1);
    let places = (0..pieces.len()).step_by(stride);
    places.flat_map(move |place| {
        let (before, at, after) = (
            pieces[..place].concat(),
            pieces[place],
            pieces[place + 1..].concat(),
        );
        [
            format!("{before}{after}"),
            format!("{before}{at}{at}{after}"),
            format!("{before}\"{at}{after}"),
        ]
    })
}

fn errors(found: &[Diagnostic]) -> usize {
    found.iter().filter(|found| found.is_error()).count()
}

#[test]
fn a_new_use_leaves_doc_comments_where_they_are() {
    let text = "//! Head.\n\n/// Gives a new id.\nplan p() -> string {\n    step a = sys.uuid()\n    reply a\n}\n";
    let case = Case {
        text: text.to_owned(),
        files: BTreeMap::new(),
    };
    let found = case.check(text);
    let fixed = apply(text, found[0].fix.as_ref().unwrap());
    assert_eq!(fixed, text.replace("/// Gives", "use sys\n/// Gives"));
}

#[test]
fn a_statement_moves_with_its_comment_and_an_effect_only_when_asked() {
    let head =
        "use kit\n\ntool kit.look(x: string) -> string read\ntool kit.act(x: string) -> string\n\n";
    let text = |tool: &str| {
        format!(
            "{head}plan p() -> string {{\n    let a = b + \"!\"\n    /// Why.\n    step b = kit.{tool}(x: \"\")\n        timeout 3s\n    reply a\n}}\n"
        )
    };
    for (tool, safe) in [("look", true), ("act", false)] {
        let case = Case {
            text: text(tool),
            files: BTreeMap::new(),
        };
        let found = case.check(&case.text);
        let fix = found[0].fix.as_ref().unwrap();
        assert_eq!(fix.safe, safe);
        let expected = format!(
            "{head}plan p() -> string {{\n    /// Why.\n    step b = kit.{tool}(x: \"\")\n        timeout 3s\n    let a = b + \"!\"\n    reply a\n}}\n"
        );
        assert_eq!(apply(&case.text, fix), expected);
        assert!(!case.check(&expected).iter().any(Diagnostic::is_error));
    }
}

/// Safe and unsafe fixes, and a mistake without a fix.
const MIXED: &str = "use sys\n\nplan p(n: int) -> string {\n    let idle = 1\n    reply \"!\" when n\n    reply nobody\n}\n";

const MENDED: &str = "\nplan p(n: int) -> string {\n    reply \"!\" when n\n    reply nobody\n}\n";

#[test]
fn the_command_writes_what_it_mends_and_tells_the_rest() {
    let folder = folder([
        ("a.plan", MIXED),
        ("b/crlf.plan", &MIXED.replace('\n', "\r\n")),
        ("good.plan", GOOD),
    ]);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let run = |arguments: &[&str]| planrun(arguments).within(folder.path()).run();
    let diff = run(&["check", "--diff"]);
    assert_eq!(
        (diff.status, read("a.plan").as_str()),
        (1, MIXED),
        "{diff:?}"
    );
    insta::assert_snapshot!(diff.stdout.replace('\r', "␍"));
    let fixed = run(&["check", "--fix", "--format", "short"]);
    assert_eq!(
        (fixed.status, read("a.plan").as_str()),
        (1, MENDED),
        "{fixed:?}"
    );
    assert_eq!(read("b/crlf.plan"), MENDED.replace('\n', "\r\n"));
    assert_eq!(read("good.plan"), GOOD);
    assert!(fixed.stderr.starts_with("4 fixes applied\n"), "{fixed:?}");
    assert_eq!(fixed.stdout.lines().count(), 4, "{fixed:?}");
    run(&["check", "--unsafe-fix", "-q"]);
    assert_eq!(read("a.plan"), MENDED.replace("when n", "when n != 0"));
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        3,
        "nothing is left beside the files"
    );
    assert_eq!(run(&["check", "--diff", "good.plan"]).status, 0);
}

/// The clauses of `USEFUL` change runs: a person may refuse the payment, the project repeats it otherwise, the pause is
/// too long, and `sys.fail` fails with what it is given.
const USEFUL: &str = r#"use bank, sys

tool bank.pay(sum: int) -> { id: string } effect

plan pay() -> string {
    step one = bank.pay(sum: 1)
        retry { attempts: 1 }
        recover denied.human => "no"
    step nap = sys.sleep(duration: 1m)
        timeout 1s
        retry { attempts: 2 }
        recover => null
    step bad = sys.fail(class: "denied.human")
        recover denied.human => null
    reply "${one}${nap}${bad}"
}
"#;

#[test]
fn clauses_stay_that_a_setting_of_the_project_makes_useful() {
    let useful = "confirm: [bank.pay]\nretry: { bank.*: { attempts: 3 } }\n";
    for (settings, stay) in [(useful, true), ("{}\n", false)] {
        let folder = folder([("planrun.yaml", settings), ("pay.plan", USEFUL)]);
        let run = |arguments: &[&str]| planrun(arguments).within(folder.path()).run();
        let output = run(&["check", "--fix", "--format", "short"]);
        let text = std::fs::read_to_string(folder.path().join("pay.plan")).unwrap();
        let kept = text.contains("attempts: 1") && text.contains("recover denied.human => \"no\"");
        assert_eq!(kept, stay, "{output:?}\n{text}");
        let kept = text.contains("attempts: 2") && text.contains("recover denied.human => null");
        assert!(kept, "{output:?}\n{text}");
    }
}

#[test]
fn c1_the_bound_of_a_form_keeps_its_value_under_its_name() {
    let text = "plan p() -> string {\n    step form = input \"Which?\" by \"desk\" expires 2d -> { a: string }\n    reply form.a\n}\n";
    let case = Case {
        text: text.to_owned(),
        files: BTreeMap::new(),
    };
    assert_eq!(
        case.check(text)
            .iter()
            .map(|found| found.code.name)
            .collect::<Vec<_>>(),
        ["clause-not-applicable"]
    );
    let mended = case.mend(text, Caution::Safe);
    assert_eq!(
        (&*mended.text, mended.left.len()),
        (&*text.replace("expires", "within"), 0)
    );
    let formatted = planrun(["fmt", "-"]).stdin(text).run();
    let expected = text.replace(
        "input \"Which?\" by \"desk\" expires 2d -> { a: string }",
        "input \"Which?\" -> { a: string }\n        by \"desk\"\n        within 2d",
    );
    assert_eq!((formatted.status, formatted.stdout), (0, expected));
}

#[test]
fn standard_input_comes_back_mended() {
    let output = planrun(["check", "--fix", "-"]).stdin(MIXED).run();
    assert_eq!(output.status, 1);
    assert_eq!(output.stdout, MENDED);
    assert!(output.stderr.contains("error[unknown-name]"), "{output:?}");
    let raw = "plan p() -> string {\n    let idle = 1\n    reply \"\u{1b}[31m\"\n}\n";
    let output = planrun(["check", "--fix", "-"]).stdin(raw).run();
    assert_eq!(
        output.stdout,
        raw.replace("    let idle = 1\n", ""),
        "byte for byte"
    );
}

#[cfg(unix)]
#[test]
fn a_mended_file_keeps_its_permissions_and_its_links() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder([("real/a.plan", MIXED)]);
    let real = folder.path().join("real/a.plan");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("real/a.plan", folder.path().join("link.plan")).unwrap();
    planrun(["check", "--fix", "link.plan"])
        .within(folder.path())
        .run();
    assert!(folder.path().join("link.plan").is_symlink());
    assert_eq!(
        std::fs::metadata(&real).unwrap().permissions().mode() & 0o777,
        0o640
    );
    assert!(!std::fs::read_to_string(&real).unwrap().contains("idle"));
}

#[test]
fn a_fix_in_one_file_reaches_those_that_use_it() {
    let inner = "plan count(amount: int) -> int {\n    let idle = 1\n    reply amuont\n}\n";
    let outer = "use \"./z.plan\" as z\n\nplan p() -> int {\n    step a = z.count(amount: 1)\n    reply a\n}\n";
    let folder = folder([("z.plan", inner), ("a.plan", outer)]);
    let output = planrun(["check", "--fix"]).within(folder.path()).run();
    assert_eq!(
        (output.status, output.stderr.as_str()),
        (0, "2 fixes applied\nno problems found in 2 files\n"),
        "{output:?}"
    );
}

/// A plan and the other files of its project.
pub struct Case {
    pub text: String,
    pub files: BTreeMap<String, String>,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for code in codes::all() {
        let page = parse(code.page);
        let Some(Ok(text)) = page.bad.map(String::from_utf8) else {
            continue;
        };
        let text_of = |(name, content): (String, Vec<u8>)| {
            Some((format!("./{name}"), String::from_utf8(content).ok()?))
        };
        cases.push(Case {
            text,
            files: page.files.into_iter().filter_map(text_of).collect(),
        });
    }
    cases.extend(PLANS.iter().map(|text| Case {
        text: (*text).to_owned(),
        files: BTreeMap::new(),
    }));
    cases
}

impl Case {
    fn mend(&self, text: &str, caution: Caution) -> fix::FixedText {
        let source = SourceFile::new("example.plan", text);
        fix::apply_fixes(&source, self.check(text), caution, |source| {
            self.check(source.text())
        })
    }

    pub fn check(&self, text: &str) -> Vec<Diagnostic> {
        let host: Arc<dyn Host> = Arc::new(MemoryHost::new(1));
        let mut catalog = Catalog::new(
            host.clone(),
            PathBuf::from("/"),
            &Arc::new(Permissions::none()),
        );
        for (name, content) in self
            .files
            .iter()
            .filter(|(name, _)| name.starts_with("./apps/"))
        {
            let (app, _) = read_app(
                &SourceFile::new(name.as_str(), content.as_str()),
                &*host,
                &BTreeSet::new(),
            );
            if let Some(app) = &app {
                catalog.add_app(app, &ProjectLimit::default());
            }
        }
        let tools: Tools = catalog.signatures().cloned().collect();
        let policy = Policy::default();
        let project = lint::Project {
            limits: &planrun_lang::sema::Budget::default(),
            policy: &policy,
            allow: None,
            root: Path::new("/"),
            paths: &*host,
            tools: None,
            severities: None,
            calls: None,
            by_model: false,
            is_call: false,
        };
        lint::check_file(
            &SourceFile::new("example.plan", text),
            &tools,
            self,
            &project,
        )
        .diagnostics
    }
}

impl Files for Case {
    fn read(&self, _: &str, path: &str) -> Result<SourceFile, String> {
        let text = self
            .files
            .get(path)
            .ok_or_else(|| format!("there is no `{path}`"))?;
        Ok(SourceFile::new(path, text.as_str()))
    }
}

/// Applies the edits of a fix to a text.
fn apply(text: &str, fix: &Fix) -> String {
    fix::apply(text, &fix.edits).unwrap_or_else(|| panic!("edits overlap: {:?}", fix.edits))
}

fn names(found: &[Diagnostic]) -> Vec<String> {
    found.iter().map(name_of).collect()
}

fn name_of(found: &Diagnostic) -> String {
    format!("{}: {}", found.code.name, found.message)
}
