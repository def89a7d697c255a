//! Suggests the known name nearest to an unknown one.

/// A known name that resembles an unknown one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Near<'a> {
    pub name: &'a str,
    /// True if the unknown name is a misspelling of this one, and no other name is as near.
    pub certain: bool,
}

/// Minimum number of letters for certainty; shorter words resemble too many others.
const SURE_LETTERS: usize = 4;
/// Minimum number of letters of a word in which two edits still count as a misspelling.
const LONG_LETTERS: usize = 8;

/// Returns the candidate nearest to `word`, if it is near enough to be meant.
///
/// The distance is Damerau–Levenshtein (optimal string alignment) over lowercase text. It may be up to a third of the
/// word's letters, and at least one; words of one letter match nothing. If both have at least three bytes, a candidate
/// that contains `word` or is contained in it is near too (`emp` for `emp_id`). So is one that is a word of `word` with
/// at least two bytes (`hr` for `hr_agent_v1`).
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<Near<'a>> {
    choose(word, candidates, true)
}

/// Like [`nearest`], without candidates that only contain the word, or are contained in it: `get` is not a misspelling
/// of `getDate`.
#[must_use]
pub fn misspelt<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<Near<'a>> {
    choose(word, candidates, false)
}

/// Like [`nearest`], but returns only the name.
#[must_use]
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest(word, candidates).map(|near| near.name)
}

fn choose<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    parts: bool,
) -> Option<Near<'a>> {
    let lower_word = word.to_lowercase();
    let letters = lower_word.chars().count();
    let limit = if letters < 2 { 0 } else { (letters / 3).max(1) };
    let mut near: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let lower = candidate.to_lowercase();
            // Names whose lengths differ by more than the limit are further apart, and long ones take long to compare.
            let distance = match letters.abs_diff(lower.chars().count()) {
                difference if difference > limit => difference,
                _ => strsim::osa_distance(&lower_word, &lower),
            };
            let contained = parts
                && lower_word.len() >= 3
                && lower.len() >= 3
                && (lower.contains(&lower_word) || lower_word.contains(&lower));
            let is_a_word = parts
                && lower.len() >= 2
                && lower_word.split(['_', '-', '.']).any(|part| part == lower);
            (distance <= limit || contained || is_a_word).then_some((distance, candidate))
        })
        .collect();
    near.sort_unstable();
    near.dedup();
    let (_, name) = *near.first()?;
    let alone = near
        .iter()
        .filter(|(distance, _)| *distance <= limit)
        .count()
        == 1;
    Some(Near {
        name,
        certain: same_words(word, name) && near.len() == 1 || alone && is_slip(word, name),
    })
}

/// Returns true if two names differ only in case and in the separators between words.
fn same_words(one: &str, other: &str) -> bool {
    let plain = |name: &str| {
        name.chars()
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .collect::<String>()
    };
    plain(one) == plain(other)
}

/// Returns true if one name is the other with the ending of a plural or of the past: `page` and `pages`.
#[must_use]
pub fn is_other_form(one: &str, other: &str) -> bool {
    let longer = one.strip_prefix(other).or(other.strip_prefix(one));
    longer.is_some_and(|ending| ["s", "es", "d", "ed"].contains(&ending))
}

/// Returns true if one name is a misspelling of the other: one word, which is long enough, differs by one or two edits,
/// and no digit differs.
fn is_slip(one: &str, other: &str) -> bool {
    fn words(name: &str) -> Vec<String> {
        name.split(|c: char| !c.is_alphanumeric())
            .map(str::to_lowercase)
            .collect()
    }
    fn digits(name: &str) -> String {
        name.chars().filter(char::is_ascii_digit).collect()
    }
    let (ones, others) = (words(one), words(other));
    if ones.len() != others.len() {
        // The separators differ, and at most one letter.
        let (mine, theirs) = (ones.concat(), others.concat());
        let long = mine.chars().count().min(theirs.chars().count()) >= LONG_LETTERS;
        return long && digits(one) == digits(other) && strsim::osa_distance(&mine, &theirs) <= 1;
    }
    let mut apart = ones.iter().zip(&others).filter(|(one, other)| one != other);
    let (Some((mine, theirs)), None) = (apart.next(), apart.next()) else {
        return same_words(one, other);
    };
    let letters = mine.chars().count().min(theirs.chars().count());
    let most = if letters < LONG_LETTERS { 1 } else { 2 };
    letters >= SURE_LETTERS
        && digits(one) == digits(other)
        && strsim::osa_distance(mine, theirs) <= most
}

#[cfg(test)]
mod tests {
    use super::{Near, closest, misspelt, nearest};

    #[test]
    fn a_typo_is_found_and_a_stranger_is_not() {
        assert_eq!(closest("emplid", ["level", "emp_id"]), Some("emp_id"));
        assert_eq!(closest("emp", ["level", "emp_id"]), Some("emp_id"));
        assert_eq!(closest("hr_agent_v1", ["email", "hr", "it"]), Some("hr"));
        assert_eq!(closest("three_steps", ["hr", "it"]), None);
        assert_eq!(closest("banana", ["level", "emp_id"]), None);
        assert_eq!(closest("x", ["y", "i"]), None);
        assert_eq!(misspelt("get", ["getDate"]), None);
        assert_eq!(
            misspelt("lenght", ["length"]).map(|near| near.name),
            Some("length")
        );
    }

    #[test]
    fn c12_only_a_slip_without_a_rival_is_certain() {
        let certain = |word, names: &[&'static str]| {
            nearest(word, names.iter().copied()).is_some_and(|near: Near<'_>| near.certain)
        };
        for (word, names) in [
            ("amuont", &["amount", "name"][..]),
            ("custmer", &["customer"]),
            ("employeId", &["employee_id"]),
            ("employeeid", &["employee_id"]),
            ("customer_nmae", &["customer_name"]),
            ("cutsomre", &["customer"]),
        ] {
            assert!(certain(word, names), "{word}");
        }
        for (word, names) in [
            // Equally near candidates.
            ("delete_usrs", &["delete_user", "delete_users"][..]),
            ("tickt", &["ticket", "tick"]),
            // Another number, another single letter, another short word.
            ("source3", &["source1"]),
            ("user_a", &["user_b"]),
            ("max", &["map"]),
            // Two edits result in another word.
            ("include", &["exclude"]),
            // An added or missing word.
            ("emp", &["emp_id"]),
        ] {
            assert!(!certain(word, names), "{word}");
        }
    }
}
