//! Did you mean: the nearest of the names that exist.

/// The candidate nearest to `word`, if it is near enough to be what was meant.
///
/// The distance is Damerau–Levenshtein (optimal string alignment) over lower-cased text; a third of the word, and
/// at least one edit, may differ; words of one letter have no neighbours. A candidate that only adds or drops a whole word (`emp` for `emp_id`) is near too,
/// and so is one that is a word of what is written, however short (`hr` for `hr_agent_v1`).
#[must_use]
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = word.to_lowercase();
    let letters = wanted.chars().count();
    let limit = if letters < 2 { 0 } else { (letters / 3).max(1) };
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let lower = candidate.to_lowercase();
            let distance = strsim::osa_distance(&wanted, &lower);
            let contained =
                wanted.len() >= 3 && lower.len() >= 3 && (lower.contains(&wanted) || wanted.contains(&lower));
            let is_a_word = lower.len() >= 2 && wanted.split(['_', '-', '.']).any(|part| part == lower);
            (distance <= limit || contained || is_a_word).then_some((distance, candidate))
        })
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn a_typo_is_found_and_a_stranger_is_not() {
        assert_eq!(closest("emplid", ["level", "emp_id"]), Some("emp_id"));
        assert_eq!(closest("emp", ["level", "emp_id"]), Some("emp_id"));
        assert_eq!(closest("hr_agent_v1", ["email", "hr", "it"]), Some("hr"));
        assert_eq!(closest("three_steps", ["hr", "it"]), None);
        assert_eq!(closest("banana", ["level", "emp_id"]), None);
        assert_eq!(closest("x", ["y", "i"]), None);
    }
}
