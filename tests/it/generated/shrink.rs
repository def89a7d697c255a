//! Makes a plan smaller while it still shows what is wrong.

use crate::generate::Project;

/// So many smaller plans are tried.
const TRIES: usize = 400;

/// The project with as few lines in its main plan as are needed.
pub fn shrunk(project: &Project, still: &dyn Fn(&Project) -> bool) -> Project {
    let mut smallest = project.clone();
    let mut lines: Vec<String> = project.main().lines().map(str::to_owned).collect();
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
            let mut made = smallest.clone();
            made.plans[0].1 = fewer.join("\n") + "\n";
            if still(&made) {
                (lines, smallest) = (fewer, made);
            } else {
                start = end;
            }
        }
        if chunk == 1 && lines.len() == before {
            break;
        }
        chunk = (chunk / 2).max(1);
    }
    smallest
}
