//! Reduces a plan while it still shows a fault.

use crate::generate::Project;

/// Maximum number of smaller plans to try.
const TRIES: usize = 400;

/// Removes lines of the project's main plan as long as it is `still` faulty.
pub fn shrunk(project: &Project, still: &dyn Fn(&Project) -> bool) -> Project {
    let with = |text: &str| {
        let mut made = project.clone();
        text.clone_into(&mut made.plans[0].1);
        made
    };
    with(&shrunk_text(project.main(), &|text| still(&with(text))))
}

/// Removes lines of a text as long as it is `still` faulty.
pub fn shrunk_text(text: &str, still: &dyn Fn(&str) -> bool) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let mut chunk = (lines.len() / 2).max(1);
    let mut tries = 0;
    while tries < TRIES {
        let mut start = 0;
        let before = lines.len();
        while start < lines.len() && tries < TRIES {
            tries += 1;
            let end = (start + chunk).min(lines.len());
            let mut fewer = lines.clone();
            fewer.drain(start..end);
            if still(&(fewer.join("\n") + "\n")) {
                lines = fewer;
            } else {
                start = end;
            }
        }
        if chunk == 1 && lines.len() == before {
            break;
        }
        chunk = (chunk / 2).max(1);
    }
    lines.join("\n") + "\n"
}
