//! Hostile plans: the checker neither crashes nor hangs, and reports nothing twice.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use planrun_lang::diag::Diagnostic;
use planrun_lang::sema::{self, Files, Tools};
use planrun_lang::source::SourceFile;

/// The same size as in the program.
const STACK_BYTES: usize = 16 * 1024 * 1024;
const TOOL: &str = "use kit\n\ntool kit.do(x: any) -> { out: string, more?: string } read\n\n";

struct Memory(BTreeMap<String, String>);

impl Files for Memory {
    fn read(&self, _: &str, path: &str) -> Result<SourceFile, String> {
        let text = self
            .0
            .get(path)
            .ok_or_else(|| format!("`{path}` does not exist"))?;
        Ok(SourceFile::new(path, text.as_str()))
    }
}

/// Checks files in a thread with the stack size of the program. Returns the diagnostics.
fn check_files(name: &str, files: BTreeMap<String, String>) -> Vec<Diagnostic> {
    let root = SourceFile::new(name, files[name].as_str());
    let work =
        move || sema::check_without_rules(&root, &Tools::default(), &Memory(files)).diagnostics;
    std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(work)
        .unwrap()
        .join()
        .unwrap()
}

fn check(text: String) -> Vec<Diagnostic> {
    check_files(
        "root.plan",
        BTreeMap::from([("root.plan".to_owned(), text)]),
    )
}

fn count(found: &[Diagnostic], code: &str) -> usize {
    found.iter().filter(|found| found.code.name == code).count()
}

fn errors(found: &[Diagnostic]) -> Vec<&str> {
    found
        .iter()
        .filter(|found| found.is_error())
        .map(|found| found.code.name)
        .collect()
}

/// Returns a plan with this number of lines.
fn plan(lines: usize, line: impl Fn(usize) -> String) -> String {
    let mut text = format!("{TOOL}plan p(n: int, c: bool) {{\n");
    for number in 0..lines {
        writeln!(text, "    {}", line(number)).unwrap();
    }
    text + "}\n"
}

#[test]
fn ten_thousand_steps_in_a_row() {
    let found = check(plan(10_000, |number| match number {
        0 => "step s0 = kit.do(x: n)".to_owned(),
        _ => format!("step s{number} = kit.do(x: s{}.out)", number - 1),
    }));
    assert_eq!(errors(&found), [""; 0]);
}

#[test]
fn thousands_of_values_that_read_each_other() {
    let found = check(plan(3000, |number| match number {
        0 => "let a0 = [n]".to_owned(),
        _ => format!("let a{number} = a{} + a{}", number - 1, number / 2),
    }));
    assert_eq!(errors(&found), [""; 0]);
    // The reverse order: each line reads the next one.
    let found = check(plan(1000, |number| {
        format!("let a{number} = a{}", number + 1)
    }));
    assert_eq!(count(&found, "use-before-definition"), 999);
    assert_eq!(count(&found, "unknown-name"), 1);
}

#[test]
fn thousands_of_mistakes_are_told_in_bounded_space() {
    let found = check(plan(4000, |number| {
        format!("step s{number} = kit.do(x: nobody{number})")
    }));
    assert_eq!(count(&found, "unknown-name"), 4000);
    let reported: usize = found
        .iter()
        .map(|found| found.available.len() + found.help.as_ref().map_or(0, String::len))
        .sum();
    assert!(reported < 4_000_000, "{reported}");
}

#[test]
fn one_name_for_everything() {
    let found = check(plan(5000, |_| "step s = kit.do(x: n)".to_owned()));
    assert_eq!(count(&found, "duplicate-name"), 4999);
    let tools = "tool kit.do(x: any) -> string\n".repeat(3000);
    let found = check(format!(
        "use kit\n\n{tools}\nplan p() {{\n    step s = kit.do(x: 1)\n    reply s\n}}\n"
    ));
    assert_eq!(errors(&found), vec!["duplicate-name"; 2999]);
    let plans = "plan p() -> int {\n    reply 1\n}\n".repeat(1000);
    assert_eq!(errors(&check(plans)), ["duplicate-name"; 999]);
    let types = "type T = int\n".repeat(1000);
    assert_eq!(
        errors(&check(format!(
            "{types}plan p(t: T) -> int {{\n    reply t\n}}\n"
        ))),
        ["duplicate-name"; 999]
    );
    let uses = "use kit\n".repeat(1000);
    assert_eq!(
        count(
            &check(format!(
                "{uses}{TOOL}plan p() {{\n    step s = kit.do(x: 1)\n    reply s\n}}\n"
            )),
            "duplicate-name"
        ),
        1000
    );
}

#[test]
fn unions_and_matches_of_thousands() {
    let members = (0..3000)
        .map(|number| format!("\"m{number}\""))
        .collect::<Vec<_>>();
    let arms = members
        .iter()
        .map(|member| format!("        {member} => 1,\n"))
        .collect::<Vec<_>>()
        .concat();
    let ty = members.join(" | ");
    let text = format!(
        "type T = {ty}\n\nplan p(t: T) -> int {{\n    let n = match t {{\n{arms}    }}\n    reply n\n}}\n"
    );
    assert_eq!(errors(&check(text.clone())), [""; 0]);
    let text = text.replace("        \"m1500\" => 1,\n", "");
    assert_eq!(errors(&check(text)), ["non-exhaustive-match"]);
}

#[test]
fn types_that_double_with_each_name() {
    let mut text = "type T0 = { a: int }\n".to_owned();
    for number in 1..60 {
        writeln!(
            text,
            "type T{number} = {{ x: T{0}, y: T{0} | null }}",
            number - 1
        )
        .unwrap();
    }
    text.push_str("\nplan p(t: T59, u: T59) -> T59 {\n    reply t when t == u\n    reply u\n}\n");
    assert!(errors(&check(text)).contains(&"too-deep"));
}

#[test]
fn values_that_double_with_each_name() {
    let found = check(plan(60, |number| match number {
        0 => "let a0 = { x: n }".to_owned(),
        59 => "reply a58 == a57 ? a58.x : a56.y".to_owned(),
        _ => format!("let a{number} = {{ x: a{0}, y: a{0} }}", number - 1),
    }));
    assert_eq!(count(&found, "unknown-name"), 0);
    let found = check(plan(60, |number| match number {
        0 => "step a0 = kit.do(x: n)".to_owned(),
        _ => format!(
            "step a{number} = do {{ yield {{ x: a{0}, y: a{0} }} }}",
            number - 1
        ),
    }));
    assert_eq!(errors(&found), [""; 0]);
}

#[test]
fn a_chain_of_types_deeper_than_any() {
    let mut text = String::new();
    for number in 0..2000 {
        writeln!(text, "type T{number} = {{ a: T{} }}", number + 1).unwrap();
    }
    text.push_str("type T2000 = int\n\nplan p(t: T0) -> int {\n    reply t.a.a\n}\n");
    assert!(errors(&check(text)).contains(&"too-deep"));
    let mut circle = String::new();
    for number in 0..1000 {
        writeln!(circle, "type T{number} = {{ a: T{} }}", (number + 1) % 1000).unwrap();
    }
    assert!(!errors(&check(circle)).is_empty());
}

#[test]
fn conditions_over_conditions() {
    // One chain of many arms, and many statements in sequence.
    let mut text = format!(
        "{TOOL}plan p(n: int) {{\n    if n == 0 {{\n        step s0 = kit.do(x: 0)\n    }}"
    );
    for number in 1..1500 {
        write!(
            text,
            " else if n == {number} {{\n        step s{number} = kit.do(x: s0?.out)\n    }}"
        )
        .unwrap();
    }
    let found = check(text + "\n}\n");
    assert_eq!(errors(&found), [""; 0]);
    let found = check(plan(3000, |number| {
        format!("step s{number} = kit.do(x: {number}) when n > {number} && !c")
    }));
    assert_eq!(errors(&found), [""; 0]);
}

#[test]
fn blocks_as_deep_as_the_language_lets() {
    for depth in [10, 50, 100, 1000, 20_000] {
        let open = (0..depth)
            .map(|number| format!("step s{number} = do {{ "))
            .collect::<Vec<_>>()
            .concat();
        let close = (0..depth).map(|_| " yield 1 }").collect::<String>();
        let found = check(format!("plan p() {{ {open}{close} }}\n"));
        assert!(
            errors(&found).iter().all(|code| *code == "too-deep"),
            "{depth}: {:?}",
            errors(&found)
        );
        let open = "if c { ".repeat(depth);
        let found = check(format!(
            "plan p(c: bool) {{ {open} ensure c else \"no\" {} }}\n",
            "}".repeat(depth)
        ));
        assert!(
            errors(&found).iter().all(|code| *code == "too-deep"),
            "{depth}: {:?}",
            errors(&found)
        );
    }
}

#[test]
fn files_that_use_each_other() {
    let body = |uses: &[String]| {
        let mut text = String::new();
        for (number, path) in uses.iter().enumerate() {
            writeln!(text, "use \"{path}\" as f{number}").unwrap();
        }
        text.push_str("\nplan p() {\n");
        for number in 0..uses.len() {
            writeln!(text, "    step s{number} = f{number}.p()").unwrap();
        }
        text + "    reply 1\n}\n"
    };
    let name = |number: usize| format!("./{number}.plan");
    // Each file uses the next one twice, which makes 2^30 paths.
    let doubled = (0..30).map(|number| (name(number), body(&[name(number + 1), name(number + 1)])));
    let doubled = doubled.chain([(name(30), body(&[]))]).collect();
    assert_eq!(errors(&check_files("./0.plan", doubled)), [""; 0]);
    // A long cycle, and a chain that is longer than the limit.
    let circle = (0..20)
        .map(|number| (name(number), body(&[name((number + 1) % 20)])))
        .collect();
    assert_eq!(errors(&check_files("./0.plan", circle)), ["recursive-plan"]);
    let own = [(name(0), body(&[name(0)]))].into();
    assert_eq!(errors(&check_files("./0.plan", own)), ["recursive-plan"]);
    let chain = (0..200)
        .map(|number| (name(number), body(&[name(number + 1)])))
        .collect();
    assert_eq!(errors(&check_files("./0.plan", chain)), ["unresolved-use"]);
    // Every file uses every other file.
    let all = (0..12).map(|own| {
        (
            name(own),
            body(
                &(0..12)
                    .filter(|other| *other != own)
                    .map(name)
                    .collect::<Vec<_>>(),
            ),
        )
    });
    let found = check_files("./0.plan", all.collect());
    assert!(
        errors(&found)
            .iter()
            .all(|code| ["recursive-plan", "unresolved-use"].contains(code)),
        "{:?}",
        errors(&found)
    );
    let missing = [(name(0), body(&[name(1), name(2)]))].into();
    assert_eq!(
        errors(&check_files("./0.plan", missing)),
        ["unresolved-use", "unresolved-use"]
    );
}

#[test]
fn arguments_and_parameters_of_thousands() {
    let parameters = (0..2000)
        .map(|number| format!("a{number}: int"))
        .collect::<Vec<_>>()
        .join(", ");
    let arguments = (0..2000)
        .map(|number| format!("a{number}: {number}"))
        .collect::<Vec<_>>()
        .join(", ");
    let text = |arguments: &str| {
        format!(
            "use kit\n\ntool kit.do({parameters}) -> int read\n\nplan p() {{\n    step s = kit.do({arguments})\n    reply s\n}}\n"
        )
    };
    assert_eq!(errors(&check(text(&arguments))), [""; 0]);
    assert_eq!(errors(&check(text(""))), ["missing-argument"]);
    assert_eq!(
        errors(&check(text(&arguments.replace("a1000:", "b1000:")))),
        ["unknown-argument"]
    );
    let same = "a1: 1, ".repeat(2000);
    assert!(errors(&check(text(&same))).contains(&"duplicate-field"));
}

#[test]
fn a_value_that_doubles_within_one_expression() {
    let text = format!(
        "plan p(n: int) {{\n    reply [n]{}\n}}\n",
        ".map(x, { a: x, b: x })".repeat(60)
    );
    assert_eq!(errors(&check(text)), [""; 0]);
    let text = format!(
        "plan p(n: int) {{\n    reply [n]{}\n}}\n",
        ".map(x, [x, [x]])".repeat(60)
    );
    assert_eq!(errors(&check(text)), [""; 0]);
}

/// Prefix operators and `[]` suffixes count as nesting like brackets, alone and mixed.
#[test]
fn f5_every_recursion_counts_as_depth() {
    let reply = |value: String| format!("plan p(c: bool) {{\n    reply {value}\n}}\n");
    let parameter = |ty: String| format!("plan p(c: {ty}) {{\n    reply c\n}}\n");
    for many in [300, 1_000_000] {
        for text in [
            reply("!".repeat(many) + "c"),
            reply("-".repeat(many) + "1"),
            reply("!-".repeat(many) + "c"),
            parameter("int".to_owned() + &"[]".repeat(many)),
            parameter("int".to_owned() + &"[]?".repeat(many)),
        ] {
            let found = check(text.clone());
            assert_eq!(count(&found, "too-deep"), 1, "{}", &text[..60]);
        }
    }
    let signs = format!("{}c{}", "!!!(".repeat(100), ")".repeat(100));
    assert_eq!(errors(&check(reply(signs))), ["too-deep"]);
    let lists = format!("{}int{}", "{ a: ".repeat(100), "[][][] }".repeat(100));
    assert!(
        errors(&check(parameter(lists)))
            .iter()
            .all(|code| *code == "too-deep")
    );
    // Realistic expressions are far below the limit.
    let signs = format!("{}c{}", "!(".repeat(100), ")".repeat(100));
    assert_eq!(errors(&check(reply(signs))), [""; 0]);
    let lists = format!("{}int{}", "{ a: ".repeat(100), "[] }".repeat(100));
    assert_eq!(errors(&check(parameter(lists))), [""; 0]);
    let row = (0..2000)
        .map(|_| "!c && [] == [1 - 2 - -3]")
        .collect::<Vec<_>>();
    assert_eq!(errors(&check(reply(row.join(" || ")))), [""; 0]);
}

/// Every unknown name is reported, but the search for a similar name runs a bounded number of times.
#[test]
fn f6_suggestions_take_no_time_that_grows_with_both_sides() {
    let found = check(plan(20_000, |number| {
        format!("step step{number} = kit.do(x: stepp{number})")
    }));
    assert_eq!(count(&found, "unknown-name"), 20_000);
    let suggested = found
        .iter()
        .filter(|found| found.fix.is_some() || !found.available.is_empty());
    let suggested = suggested.count();
    assert!((100..1000).contains(&suggested), "{suggested}");
}

/// The number of conditions is bounded per plan and per file. It counts each statement once per enclosing condition.
#[test]
fn f7_a_chain_of_arms_takes_bounded_space() {
    let chain = |arms: usize, plans: usize| {
        let plan = |plan: usize| {
            let arm =
                |arm: usize| format!("if n == {arm} {{\n        let a{arm} = n\n    }} else ");
            let arms = (0..arms).map(arm).collect::<String>();
            format!("plan p{plan}(n: int) {{\n    {arms}{{}}\n    reply n\n}}\n")
        };
        count(&check((0..plans).map(plan).collect()), "too-deep")
    };
    assert_eq!(chain(1000, 1), 0);
    assert_eq!(chain(50_000, 1), 1);
    assert_eq!(chain(1000, 40), 40);
}
