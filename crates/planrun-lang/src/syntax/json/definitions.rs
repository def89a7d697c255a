//! Canonical texts of statements and files, to compare what they mean: documentation, layout, and the order of clauses
//! and arguments do not affect them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::print::without_docs;
use super::type_names::{TypeNames, defined_names};
use crate::syntax::ast::File;
use crate::value::sorted_json;

/// The plans of a file as canonical texts; plans and statements with the same text do the same. The texts cover the
/// definitions of the types that they name.
#[derive(Debug)]
pub struct PlanTexts {
    /// The items of the file in JSON form; null if it has none.
    items: Value,
}

impl PlanTexts {
    #[must_use]
    pub fn of(file: &File) -> Self {
        let file = without_docs(file, defined_names(file));
        let items = file.and_then(|mut file| file.get_mut("items").map(Value::take));
        Self {
            items: items.unwrap_or_default(),
        }
    }

    /// Returns the text of a plan; `None` if the file could not be parsed or has no such plan.
    #[must_use]
    pub fn plan(&self, name: &str) -> Option<String> {
        self.item(name).map(|plan| sorted_json(plan).to_string())
    }

    /// Returns a text for each named statement of a plan, by name. The text covers nested statements and the conditions
    /// of the `if`s around the statement; a name that several branches of an `if` define has the texts of all of them.
    /// Empty if the file could not be parsed or has no such plan.
    #[must_use]
    pub fn statements(&self, plan: &str) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        if let Some(plan) = self.item(plan) {
            statements(&plan["body"], "", &mut found);
        }
        found
    }

    /// Returns a text for each parameter of a plan, by name. Empty if the file could not be parsed or has no such plan.
    #[must_use]
    pub fn parameters(&self, plan: &str) -> BTreeMap<String, String> {
        let parameters = self.item(plan).map(|plan| &plan["parameters"]);
        let parameters = parameters.and_then(Value::as_array).into_iter().flatten();
        parameters
            .filter_map(|parameter| {
                let name = parameter["name"].as_str()?.to_owned();
                Some((name, sorted_json(parameter).to_string()))
            })
            .collect()
    }

    fn item(&self, plan: &str) -> Option<&Value> {
        let mut items = self.items.as_array().into_iter().flatten();
        items.find(|item| item["kind"] == "plan" && item["name"] == plan)
    }
}

/// Returns a text for a whole file; files with the same text mean the same. `None` if the file has no JSON form.
#[must_use]
pub fn canonical_json(file: &File) -> Option<String> {
    without_docs(file, TypeNames::new()).map(|file| sorted_json(&file).to_string())
}

fn statements(list: &Value, around: &str, found: &mut BTreeMap<String, String>) {
    for statement in list.as_array().into_iter().flatten() {
        if statement["kind"] == "if" {
            branches(statement, around, found);
        } else if statement["kind"] == "parallel" {
            statements(&statement["body"], around, found);
        } else if let Some(name) = statement["name"].as_str() {
            let text = found.entry(name.to_owned()).or_default();
            text.push_str(around);
            text.push_str(&sorted_json(statement).to_string());
        }
    }
}

fn branches(statement: &Value, around: &str, found: &mut BTreeMap<String, String>) {
    let mut before = around.to_owned();
    let first = std::iter::once(statement);
    for arm in first.chain(statement["else_if"].as_array().into_iter().flatten()) {
        let condition = sorted_json(&arm["condition"]);
        statements(&arm["then"], &format!("{before}if {condition} "), found);
        before = format!("{before}unless {condition} ");
    }
    statements(&statement["else"], &before, found);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceFile;
    use crate::syntax::parse;

    fn of(text: &str) -> BTreeMap<String, String> {
        let source = SourceFile::new("a.plan", text);
        PlanTexts::of(&parse(&source).file).statements("p")
    }

    #[test]
    fn looks_change_nothing_and_meanings_do() {
        let first = of(
            "plan p() { step a = x.y(b: 1, c: (2)) timeout 5s when true\n if q { step d = x.z() } else { let e = 1 } }",
        );
        let second = of(
            "/// Told.\nplan p() {\n    // A comment.\n    /// More.\n    step a = x.y(\n        c: 2,\n        b: 1,\n    )\n        \
             when true\n        timeout 5s\n    if q { step d = x.z() } else { let e = 1 }\n}",
        );
        assert_eq!(first, second);
        assert_eq!(
            first.keys().map(String::as_str).collect::<Vec<_>>(),
            ["a", "d", "e"]
        );
        let other = of(
            "plan p() { step a = x.y(b: 1, c: 3) timeout 5s when true\n if r { step d = x.z() } else { let e = 1 } }",
        );
        assert!(
            other.iter().all(|(name, text)| first[name] != *text),
            "{other:?}"
        );
        let doc = of("plan p() { step a = x.y(doc: 1) }");
        assert_ne!(
            doc,
            of("plan p() { step a = x.y(doc: 2) }"),
            "an argument of that name is no documentation"
        );
    }

    #[test]
    fn the_types_that_a_statement_names_are_part_of_it() {
        let plan = |types: &str| {
            of(&format!(
                "{types} plan p() {{ step a = input \"a\" -> {{ f: Form[] }}\n step b = input \"b\" -> {{ f: int }} }}"
            ))
        };
        let before = plan("type Form = { n: Level } type Level = \"L1\" | \"L2\" type Other = int");
        for (types, changed) in [
            ("type Level = \"L1\" | \"L2\" type Form = { n: Level }", ""),
            ("type Form = { n: Level } type Level = \"L1\" | \"L3\"", "a"),
            (
                "type Form = { n: Level? } type Level = \"L1\" | \"L2\"",
                "a",
            ),
            ("type Form = { n: Level } type Level = { f: Form }", "a"),
        ] {
            let after = plan(types);
            let differ = before.keys().filter(|name| before[*name] != after[*name]);
            assert_eq!(
                differ.map(String::as_str).collect::<Vec<_>>().join(" "),
                changed,
                "{types}"
            );
        }
    }

    #[test]
    fn statements_of_a_parallel_and_all_branches_of_a_name_are_covered() {
        let plan = |condition: &str, inner: &str, first: &str| {
            of(&format!(
                "plan p() {{ parallel {{ step a = x.y(b: 1)\n if {condition} {{ step c = x.y(b: {inner}) }} }}
                 if q {{ step d = x.y(b: {first}) }} else {{ step d = x.y(b: 2) }} }}"
            ))
        };
        let all = plan("q", "1", "1");
        assert_eq!(
            all.keys().map(String::as_str).collect::<Vec<_>>(),
            ["a", "c", "d"]
        );
        for (other, changed) in [
            (plan("q", "1", "1"), ""),
            (plan("r", "1", "1"), "c"),
            (plan("q", "2", "1"), "c"),
            (plan("q", "1", "3"), "d"),
        ] {
            let differ = all.keys().filter(|name| all[*name] != other[*name]);
            let differ: Vec<&str> = differ.map(String::as_str).collect();
            assert_eq!(differ.join(" "), changed);
        }
    }
}
