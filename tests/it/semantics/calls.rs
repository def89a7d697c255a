//! Calls of plans in the same file (10.13).

use serde_json::json;

use super::names::{errors_of, findings};
use crate::world::{World, after, give};

const TOOLS: &str = "
use a
tool a.get(x?: any) -> { id: string } read
tool a.write(x?: any) -> { id: string } effect
";

fn world() -> World {
    World::new()
        .tool("a.get", [after(10, give(json!({"id": "got"})))])
        .tool("a.write", [after(10, give(json!({"id": "written"})))])
}

#[tokio::test(start_paused = true)]
async fn c6_r10_13_a_plan_calls_another_of_its_file_wherever_that_stands() {
    let called = "plan greet(name: string, loud: bool = false) -> string { step g = a.get(x: name) reply loud ? g.id + \"!\" : g.id }";
    let main = "plan main() -> string { step first = greet(name: \"a\") step second = greet(name: first, loud: true) reply first + second }";
    for text in [
        format!("{TOOLS} {called} {main}"),
        format!(
            "{TOOLS} {main} {called} {last}",
            last = "plan last() -> string { step all = main() reply all }"
        ),
    ] {
        let ran = world().run(&text).await;
        assert_eq!(ran.reply(), json!("gotgot!"));
        let path = if text.contains("last") {
            "all.second.g"
        } else {
            "second.g"
        };
        assert_eq!(ran.status(path), "completed");
    }
}

#[tokio::test(start_paused = true)]
async fn c6_a_plan_stands_wherever_a_call_may() {
    let text = format!(
        "{TOOLS}
        plan back(id: string) -> string {{ step w = a.write(x: id) reply w.id }}
        plan find() -> string {{ step g = a.get() reply g.id }}
        plan main() -> any {{
            step made = a.write(x: 1) undo back(id: \"x\")
            step some = match made.id {{ \"written\" => find(), _ => \"none\" }}
            step all = each i in [1, 2] max 2 {{ step one = find() yield one }}
            step found = find() recover _ => find()
            reply {{ some: some, all: all, found: found }}
        }}"
    );
    let ran = world().run(&text).await;
    assert_eq!(
        ran.reply(),
        json!({"some": "got", "all": ["got", "got"], "found": "got"})
    );
}

#[test]
fn c6_what_a_call_of_an_own_plan_may_not_be() {
    let of = |body: &str| {
        let called = "plan greet(name: string) -> string { step g = a.get(x: name) reply g.id }";
        errors_of(&format!(
            "{TOOLS} {called} plan main(n: int) -> any {{ {body} }}"
        ))
    };
    for (body, expected) in [
        ("step x = greet(name: \"a\") reply x.size() + n", &[][..]),
        (
            "step greet = greet(name: \"a\") reply greet.size() + n",
            &[],
        ),
        (
            "let greet = n step x = greet(name: \"${greet}\") reply x",
            &[],
        ),
        ("step x = greet(name: n) reply x", &["wrong-type"]),
        ("step x = greet() reply x + \"${n}\"", &["missing-argument"]),
        (
            "step x = greet(name: \"a\", other: n) reply x",
            &["unknown-argument"],
        ),
        ("step x = greet(\"${n}\") reply x", &["positional-argument"]),
        ("step x = gret(name: \"${n}\") reply x", &["unknown-plan"]),
        (
            "let x = greet(name: \"${n}\") reply x",
            &["call-in-expression"],
        ),
        ("step x = main(n: n) reply x", &["recursive-plan"]),
        (
            "step x = a.get(x: n) retry { attempts: 2 } step y = greet(name: x.id) retry { attempts: 2 } reply y",
            &["clause-not-applicable"],
        ),
    ] {
        assert_eq!(of(body), expected, "{body}");
    }
}

#[test]
fn c6_r10_3_a_circle_is_told_once_at_the_call_that_closes_it() {
    let text = "plan one() -> any { step x = two() reply x }\nplan two() -> any { step x = three() reply x }\n\
                plan three() -> any { step x = one() reply x }\nplan four() -> any { step x = one() reply x }";
    let found = findings(text);
    let circles = found
        .iter()
        .filter(|found| found.code.name == "recursive-plan")
        .collect::<Vec<_>>();
    let [circle] = circles.as_slice() else {
        panic!("{found:#?}")
    };
    assert_eq!(
        &text[circle.span.start as usize..circle.span.end as usize],
        "one()"
    );
    assert!(
        circle.message.contains("one → two → three → one"),
        "{}",
        circle.message
    );
    assert_eq!(circle.labels.len(), 2);
    assert_eq!(errors_of(text), ["recursive-plan"]);
}

#[test]
fn c6_calls_of_plans_have_a_depth_and_a_number() {
    let row = |plans: usize, calls: &dyn Fn(usize) -> String| {
        let one = |index| format!("plan p{index}() -> any {{ {} reply 1 }}\n", calls(index));
        errors_of(&format!(
            "{}plan p{plans}() -> any {{ reply 1 }}",
            (0..plans).map(one).collect::<String>()
        ))
    };
    let one = |index: usize| format!("step x = p{}()", index + 1);
    assert_eq!(row(31, &one), [] as [&str; 0]);
    assert_eq!(row(32, &one), ["too-deep"]);
    assert!(row(2000, &one).iter().all(|code| *code == "too-deep"));
    let two = |index: usize| format!("step x = p{0}() step y = p{0}()", index + 1);
    assert_eq!(row(12, &two), [] as [&str; 0]);
    assert!(row(14, &two).contains(&"too-deep"));
}

#[test]
fn c6_a_function_of_the_same_name_stays_a_function_where_values_are_given_by_place() {
    let text = format!(
        "{TOOLS} plan size(of: string) -> int {{ step g = a.get(x: of) reply g.id.size() }}
        plan main(text: string) -> int {{ step x = size(of: text) let y = size(text) reply x + y }}"
    );
    assert_eq!(errors_of(&text), [] as [&str; 0]);
}
