//! Relations between the paths of steps: `a.b` and `a[2].b` are inside `a`.

/// Returns true if `path` is the step `outer` or inside it.
#[must_use]
pub fn is_at_or_below(path: &str, outer: &str) -> bool {
    path == outer || is_below(path, outer)
}

/// Returns true if `path` is inside the step `outer`.
#[must_use]
pub fn is_below(path: &str, outer: &str) -> bool {
    let rest = path.strip_prefix(outer);
    rest.is_some_and(|rest| rest.starts_with(['.', '[']))
}
