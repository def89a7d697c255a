//! File names for tests: readable, portable and unique.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use planrun_lang::sema::test::SnapshotOf;
use unicode_ident::is_xid_continue;

/// The extension of plan files, which the names of their snapshots omit.
const PLAN_ENDING: &str = ".plan";
/// Separates the parts of a name; only the part of the plan may contain it.
const BETWEEN: &str = "__";
/// The maximum length of the part of the plan, in bytes. Together with the other parts, the extensions and the suffix
/// of an atomic write, a name stays below the limit of 255 bytes of file systems.
const MAX_OF_PLAN: usize = 80;
/// The maximum length of the part of the test, in bytes: 33 Chinese characters.
const MAX_OF_TEST: usize = 100;

/// The parts of a file name after that of the plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Named<'a> {
    pub test: &'a str,
    pub row: Option<usize>,
    pub kind: SnapshotOf,
}

/// Returns the name of a snapshot, without extension.
pub(super) fn join(plan: &str, named: Named<'_>) -> String {
    let row = named
        .row
        .map(|row| format!("{BETWEEN}{row}"))
        .unwrap_or_default();
    format!(
        "{plan}{BETWEEN}{}{row}{BETWEEN}{}",
        named.test,
        named.kind.name()
    )
}

/// Splits a name into its parts; `None` if it is not a snapshot of this plan but of another one in the same folder.
pub(super) fn split<'a>(name: &'a str, plan: &str) -> Option<Named<'a>> {
    let rest = name.strip_prefix(plan)?.strip_prefix(BETWEEN)?;
    let parts: Vec<&str> = rest.split(BETWEEN).collect();
    let (test, row, kind) = match parts.as_slice() {
        [test, kind] => (*test, None, *kind),
        [test, row, kind] => (*test, Some(row.parse().ok()?), *kind),
        _ => return None,
    };
    Some(Named {
        test,
        row,
        kind: SnapshotOf::find(kind)?,
    })
}

/// Returns false if a name cannot be that of a snapshot of any plan.
pub(super) fn may_be_own(name: &str) -> bool {
    let kind = name.rsplit_once(BETWEEN).map(|(_, kind)| kind);
    kind.is_some_and(|kind| SnapshotOf::find(kind).is_some())
}

/// Returns the part of a plan file: its name without `.plan`, or the full name of other files such as
/// `hire.plantest`, so that files in the same folder have different parts.
pub(in crate::plantest) fn plan_part(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let stem = name
        .strip_suffix(PLAN_ENDING)
        .filter(|stem| !stem.is_empty())
        .unwrap_or(&name);
    let keeps = |character: char| is_xid_continue(character) || matches!(character, '-' | '.');
    let part: String = stem
        .chars()
        .map(|character| if keeps(character) { character } else { '_' })
        .collect();
    if part == stem && part.len() <= MAX_OF_PLAN {
        part
    } else {
        hashed(&part, stem, MAX_OF_PLAN)
    }
}

/// Returns the part of each test of a file. Letters and digits of all scripts are kept in lower case; other
/// characters become `_`. If several tests would get the same part, a hash of its name is appended to each of them,
/// so that no part depends on the order of tests. Parts that are too long or empty get a hash as well.
pub(in crate::plantest) fn test_parts<'a>(
    tests: impl IntoIterator<Item = &'a str>,
) -> BTreeMap<String, String> {
    let tests: BTreeSet<&str> = tests.into_iter().collect();
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for test in &tests {
        *times.entry(slug(test)).or_default() += 1;
    }
    let part = |test: &str| {
        let slug = slug(test);
        let alone = times.get(&slug) == Some(&1) && !slug.is_empty() && slug.len() <= MAX_OF_TEST;
        if alone {
            slug
        } else {
            hashed(&slug, test, MAX_OF_TEST)
        }
    };
    tests
        .into_iter()
        .map(|test| (test.to_owned(), part(test)))
        .collect()
}

fn slug(test: &str) -> String {
    let mut slug = String::new();
    for character in test.chars().flat_map(char::to_lowercase) {
        if character != '_' && (is_xid_continue(character) || character == '-') {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('_') {
            slug.push('_');
        }
    }
    slug.truncate(slug.trim_end_matches('_').len());
    slug
}

/// Appends a hash of the whole name to a part; the result has at most `max` bytes.
fn hashed(part: &str, name: &str, max: usize) -> String {
    const DIGITS: usize = 8;
    let mark = blake3::hash(name.as_bytes()).to_hex();
    let part = &part[..part.floor_char_boundary(max - DIGITS - 1)];
    let part = part.trim_end_matches('_');
    let hyphen = if part.is_empty() { "" } else { "-" };
    format!("{part}{hyphen}{}", &mark[..DIGITS])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts<'a>(tests: &[&'a str]) -> Vec<(&'a str, String)> {
        let parts = test_parts(tests.iter().copied());
        tests
            .iter()
            .map(|test| (*test, parts[*test].clone()))
            .collect()
    }

    #[test]
    fn names_stay_readable_and_differ() {
        let part = |test: &str| parts(&[test])[0].1.clone();
        assert_eq!(part("Hires three, then mails"), "hires_three_then_mails");
        assert_eq!(part("拒绝申请：金额过大"), "拒绝申请_金额过大");
        assert_eq!(part("  user_id __ gone!  "), "user_id_gone");
        assert_eq!(part("../../etc/passwd"), "etc_passwd");
        assert_eq!(part("🙂"), "2ea05578");
        assert_eq!(
            part(&"很".repeat(60)),
            format!("{}-{}", "很".repeat(30), &part(&"很".repeat(60))[91..])
        );
        let clash = parts(&["a b", "A-B", "a_b"]);
        assert_eq!(clash[1].1, "a-b");
        assert!(
            clash[0].1.starts_with("a_b-")
                && clash[2].1.starts_with("a_b-")
                && clash[0].1 != clash[2].1
        );
        assert_eq!(
            parts(&["a_b", "A-B", "a b"])[0].1,
            clash[2].1,
            "the order does not matter"
        );
    }

    #[test]
    fn plans_beside_each_other_have_parts_of_their_own() {
        let part = |file: &str| plan_part(Path::new(file));
        assert_eq!(
            [
                part("a/入职.plan"),
                part("b.plan.json"),
                part("b.plantest"),
                part("b.plan")
            ],
            ["入职", "b.plan.json", "b.plantest", "b"]
        );
        assert!(part("my plan.plan").starts_with("my_plan-"));
        assert!(part("my:plan.plan") != part("my plan.plan"));
        assert_eq!(
            part(&format!("{}.plan", "a".repeat(200))).len(),
            MAX_OF_PLAN
        );
    }

    #[test]
    fn names_are_taken_apart_as_they_were_joined() {
        let named = Named {
            test: "hires_three",
            row: Some(2),
            kind: SnapshotOf::Trace,
        };
        assert_eq!(join("a", named), "a__hires_three__2__trace");
        assert_eq!(split("a__hires_three__2__trace", "a"), Some(named));
        assert_eq!(
            split("a__b__reply", "a"),
            Some(Named {
                test: "b",
                row: None,
                kind: SnapshotOf::Reply
            })
        );
        for other in [
            "a__b",
            "b__b__reply",
            "a__tests__b__reply",
            "a__b__names",
            "ab__c__reply",
        ] {
            assert_eq!(split(other, "a"), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn parts_differ_and_lead_nowhere(tests in prop::collection::btree_set("(\\PC|[ _./\\\\:-]){0,60}", 1..6)) {
            let parts = test_parts(tests.iter().map(String::as_str));
            let distinct: BTreeSet<&String> = parts.values().collect();
            prop_assert_eq!(distinct.len(), tests.len());
            for part in parts.values() {
                prop_assert!(!part.is_empty() && part.len() <= MAX_OF_TEST && !part.contains(BETWEEN));
                prop_assert!(!part.contains(['/', '\\', ':', '*', '?', '"', '<', '>', '|', '.', ' ']));
                prop_assert!(!part.contains(char::is_control));
            }
        }
    }
}
