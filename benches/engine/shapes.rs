//! The shapes of the measured plans: the dependencies between steps, and the text of the plan.

use std::fmt::Write;

/// Steps by number; each waits for steps with lower numbers.
pub struct Shape {
    pub name: String,
    pub waits: Vec<Vec<u32>>,
}

/// Returns every shape with about this many steps.
pub fn all(steps: u32) -> [Shape; 4] {
    [chain(steps), fan_out(steps), layers(steps), random(steps)]
}

/// Each step waits for the one before it.
pub fn chain(steps: u32) -> Shape {
    let waits = (0..steps).map(|step| step.checked_sub(1).into_iter().collect());
    Shape {
        name: format!("chain of {steps}"),
        waits: waits.collect(),
    }
}

/// One step, many that wait for it, and a reply that waits for all of them.
fn fan_out(steps: u32) -> Shape {
    let waits = (0..steps).map(|step| if step == 0 { Vec::new() } else { vec![0] });
    Shape {
        name: format!("fan-out, 1 to {} to 1", steps - 1),
        waits: waits.collect(),
    }
}

/// Layers with as many steps as there are layers; each step waits for two steps of the previous layer.
fn layers(steps: u32) -> Shape {
    let side = steps.isqrt();
    let waits = (0..side * side).map(|step| match step.checked_sub(side) {
        Some(above) => vec![above, above - above % side + (above + 1) % side],
        None => Vec::new(),
    });
    Shape {
        name: format!("{side} layers of {side}"),
        waits: waits.collect(),
    }
}

/// Each step waits for one to three earlier ones, chosen with a fixed seed.
fn random(steps: u32) -> Shape {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut draw = |below: u32| {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        u32::try_from((state >> 32) % u64::from(below)).unwrap_or(0)
    };
    let waits = (0..steps).map(|step| {
        if step == 0 {
            return Vec::new();
        }
        let mut waits: Vec<u32> = (0..=draw(3)).map(|_| draw(step)).collect();
        waits.sort_unstable();
        waits.dedup();
        waits
    });
    Shape {
        name: format!("random, {steps}"),
        waits: waits.collect(),
    }
}

/// The plan of a shape: steps that do nothing, ordered by `after`.
pub fn plan_text(shape: &Shape) -> String {
    let mut text =
        String::from("use sys\n\nplan measured() {\n    policy { max_steps: 1000000 }\n");
    for (step, waits) in shape.waits.iter().enumerate() {
        let _ = write!(text, "    step s{step} = sys.nothing()");
        for (index, above) in waits.iter().enumerate() {
            let _ = write!(text, "{} s{above}", if index == 0 { " after" } else { "," });
        }
        text.push('\n');
    }
    text.push_str("    reply 1\n}\n");
    text
}
