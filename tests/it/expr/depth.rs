//! Deep nesting: checking and evaluating stay within the stack of a small thread.

use planrun_lang::eval::evaluate;
use planrun_lang::sema::expr::{Checker, Expectation};
use planrun_lang::source::SourceFile;
use planrun_lang::syntax::parse_expression;
use planrun_lang::types::Type;
use planrun_lang::value::Value;

use super::world::World;

/// The maximum nesting that the parser accepts.
const LEVELS: usize = 250;

#[test]
fn nesting_up_to_the_cap_fits_a_thread_of_two_mebibytes() {
    let shapes: &[(&str, &str, &str)] = &[
        ("(", "x", ")"),
        ("[", "x", "]"),
        ("{ a: ", "x", " }"),
        ("-(1 + ", "x", ")"),
        ("string(", "x", ")"),
        ("[1].map(v, ", "x", ")"),
        ("true ? (", "x", ") : 1"),
        ("match x { _ => ", "x", " }"),
        ("x ?? (", "x", ")"),
        ("[x][", "0", "]"),
        ("!(true && ", "true", ")"),
        ("\"${", "x", "}\""),
        ("[1].filter(v, ", "true", ").size() == 1"),
    ];
    for (open, inner, close) in shapes {
        let text = open.repeat(LEVELS) + inner + &close.repeat(LEVELS);
        // The stack of the parser is not the subject of this test.
        let reader = std::thread::Builder::new().stack_size(64 << 20);
        let (tree, _) = reader
            .spawn(move || parse_expression(&SourceFile::new("deep", text)))
            .unwrap()
            .join()
            .unwrap();
        let work = move || {
            let world = World::default().name("x", Type::Int, Value::Int(0));
            let mut diagnostics = Vec::new();
            let code = Checker::new(&world, &mut diagnostics).check(&tree);
            let _ = evaluate(&code, &world);
            let expectation = Expectation::of(&"a test");
            let _ = Checker::new(&world, &mut diagnostics).check_against(
                &tree,
                &Type::Any.list().list(),
                expectation,
            );
        };
        println!("{open}");
        std::thread::Builder::new()
            .stack_size(2 << 20)
            .spawn(work)
            .unwrap()
            .join()
            .unwrap();
    }
}

#[test]
fn long_chains_are_flat() {
    let world = World::default().name("x", Type::Any, Value::Int(1));
    let sum = vec!["x"; 20_000].join(" + ");
    assert_eq!(world.value(&sum).unwrap(), Value::Int(20_000));
    let links = format!("x{}", "?.a".repeat(20_000));
    assert!(world.value(&links).is_err());
    let choices = "x == 2 ? 3 : ".repeat(5_000) + "4";
    assert_eq!(world.value(&choices).unwrap(), Value::Int(4));
}
