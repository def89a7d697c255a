//! The macros: forms that look like functions, but bind a name or read a name instead of its value.

use super::Example;

/// A macro. What it takes is checked where calls are checked; this describes it.
#[derive(Debug)]
pub struct Macro {
    pub name: &'static str,
    /// Whether it is called as `xs.name(…)` and runs over the elements of a list or map.
    pub over_elements: bool,
    /// The ways to write it.
    pub forms: &'static [&'static str],
    /// One or more sentences.
    pub description: &'static str,
    pub examples: &'static [Example],
}

/// Over a list, or over the keys of a map.
const fn over(
    name: &'static str,
    forms: &'static [&'static str],
    description: &'static str,
    examples: &'static [Example],
) -> Macro {
    Macro {
        name,
        over_elements: true,
        forms,
        description,
        examples,
    }
}

const fn example(expression: &'static str, result: &'static str) -> Example {
    Example { expression, result }
}

/// All macros.
pub static MACROS: &[Macro] = &[
    over(
        "all",
        &["xs.all(x, condition)", "xs.all(i, x, condition)"],
        "Whether the condition holds for every element; true for an empty list.",
        &[example("[1, 2].all(n, n > 0)", "true")],
    ),
    over(
        "exists",
        &["xs.exists(x, condition)", "xs.exists(i, x, condition)"],
        "Whether the condition holds for at least one element; false for an empty list.",
        &[example("[1, 2].exists(n, n > 1)", "true")],
    ),
    over(
        "exists_one",
        &[
            "xs.exists_one(x, condition)",
            "xs.exists_one(i, x, condition)",
        ],
        "Whether the condition holds for exactly one element.",
        &[example("[1, 2].exists_one(n, n > 1)", "true")],
    ),
    over(
        "existsOne",
        &[
            "xs.existsOne(x, condition)",
            "xs.existsOne(i, x, condition)",
        ],
        "Another name of `exists_one`.",
        &[example("[1, 1].existsOne(n, n == 1)", "false")],
    ),
    over(
        "filter",
        &["xs.filter(x, condition)"],
        "The elements for which the condition holds. The result has the narrowed type: without null after `x != null`.",
        &[example("[1, 2, 3].filter(n, n != 2)", "[1,3]")],
    ),
    over(
        "map",
        &["xs.map(x, value)", "xs.map(x, condition, value)"],
        "A list of the values for all elements, or for those for which the condition holds.",
        &[
            example("[1, 2].map(n, n * 10)", "[10,20]"),
            example("[1, 2].map(n, n > 1, n * 10)", "[20]"),
        ],
    ),
    over(
        "sortBy",
        &["xs.sortBy(x, key)"],
        "The elements in ascending order of their keys; elements with equal keys keep their order.",
        &[example("['ccc', 'a'].sortBy(s, size(s))", r#"["a","ccc"]"#)],
    ),
    over(
        "transformList",
        &[
            "xs.transformList(i, x, value)",
            "xs.transformList(i, x, condition, value)",
        ],
        "A list of values that may depend on the position, from 0; of a map, on the key.",
        &[example(
            "['a', 'b'].transformList(i, x, \"${i}${x}\")",
            r#"["0a","1b"]"#,
        )],
    ),
    over(
        "transformMap",
        &[
            "m.transformMap(key, x, value)",
            "m.transformMap(key, x, condition, value)",
        ],
        "A map with the same keys and other values; of a list, its keys are the positions.",
        &[example("{ a: 1 }.transformMap(k, n, n + 1)", r#"{"a":2}"#)],
    ),
    over(
        "transformMapEntry",
        &[
            "xs.transformMapEntry(i, x, { (key): value })",
            "xs.transformMapEntry(i, x, condition, { (key): value })",
        ],
        "A map with one entry for each element. Two elements with the same key are an error.",
        &[example(
            "['a', 'b'].transformMapEntry(i, x, { (x): i })",
            r#"{"a":0,"b":1}"#,
        )],
    ),
    Macro {
        name: "has",
        over_elements: false,
        forms: &["has(x.field)"],
        description: "Whether the field exists. It may still be null: to rule that out, write `x.field != null`.",
        examples: &[example("has({ a: 1 }.a)", "true")],
    },
    Macro {
        name: "bind",
        over_elements: false,
        forms: &["cel.bind(x, value, expression)"],
        description: "The expression, in which the name stands for the value.",
        examples: &[example("cel.bind(x, 1 + 2, x * x)", "9")],
    },
    Macro {
        name: "winner",
        over_elements: false,
        forms: &["winner(step)"],
        description: "The name of the branch of a `race` that succeeded first; null if a `recover` arm gave the value.",
        examples: &[],
    },
];
