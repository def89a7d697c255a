//! The texts of the measured plans.

use std::fmt::Write as _;

/// Each effect reads the result of the one before it.
pub fn chain(steps: usize) -> String {
    let mut text =
        String::from("use shop\n\nplan measured() -> int {\n    step s0 = shop.put(n: 0)\n");
    for step in 1..steps {
        let _ = writeln!(text, "    step s{step} = shop.put(n: s{})", step - 1);
    }
    let _ = writeln!(text, "    reply s{}\n}}", steps - 1);
    text
}

/// Layers with as many effects as there are layers; each effect reads two results of the previous layer, and waits for
/// nothing else.
pub fn layers(side: usize) -> String {
    let mut text = String::from("use shop\n\nplan measured() -> int {\n");
    let _ = writeln!(
        text,
        "    policy {{ concurrency: {side} }}\n    parallel {{"
    );
    for step in 0..side * side {
        let arguments = match step.checked_sub(side) {
            Some(above) => format!(
                "n: s{above}, with: s{}",
                above - above % side + (above + 1) % side
            ),
            None => "n: 0".to_owned(),
        };
        let _ = writeln!(text, "    step s{step} = shop.put({arguments})");
    }
    let _ = writeln!(text, "    }}\n    reply s{}\n}}", side * side - 1);
    text
}

/// One effect per element, and one after all of them.
pub fn elements(count: usize) -> String {
    format!(
        "use shop

plan measured() -> int {{
    policy {{ max_steps: {most} }}
    step all = each n in lists.range({count}) max {count} parallel 16 {{
        step put = shop.put(n: n)
        yield put
    }}
    step last = shop.last(n: size(all))
    reply last
}}
",
        most = count * 2 + 10
    )
}
