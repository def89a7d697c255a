//! Generated example values for every available schema: each conforms, the same seed gives the same value, and the edge
//! cases conform too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use planrun_lang::example::{Choice, Examples};
use planrun_lang::types::{Validator, decode, from_schema, to_schema};
use planrun_tools::host::RealHost;
use planrun_tools::tools::app::{app_files, load_apps};
use serde_json::{Map, Value as Json, json};

use crate::support::{cases, root};

/// The results for the schemas of one source.
#[derive(Default)]
struct Tally {
    made: usize,
    edges: u64,
    could_not: Vec<String>,
    /// Edge cases are tested for one in this number of schemas.
    every: usize,
}

impl Tally {
    /// Generates values of a schema that has some, and validates each against it.
    fn schema(&mut self, name: &str, schema: &Json, documents: &[(String, Json)]) {
        let validator = Validator::with_documents(schema, documents).unwrap();
        let examples = Examples::with_documents(schema, documents)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let ty = from_schema(schema);
        let none = Map::new();
        let holds = |value: &Json, what: &str| {
            assert!(
                validator.is_valid(value),
                "{name}: {what}: {value} of {schema}"
            );
            assert!(
                decode(value, &ty).is_ok(),
                "{name}: {what}: {value} is no {ty}"
            );
        };
        for seed in 0..2 {
            match examples.make(&none, seed, Choice::Usual) {
                Ok(value) => {
                    holds(&value, "usual");
                    assert_eq!(
                        examples.make(&none, seed, Choice::Usual).as_ref(),
                        Ok(&value),
                        "{name}"
                    );
                    self.made += usize::from(seed == 0);
                }
                Err(error) => {
                    assert!(!error.keyword.is_empty() && !error.message.is_empty());
                    assert_eq!(
                        examples.make(&none, seed, Choice::Usual).as_ref(),
                        Err(&error),
                        "{name}"
                    );
                    if seed == 0 {
                        self.could_not.push(format!("{error} of {name}"));
                    }
                }
            }
        }
        if !(self.made + self.could_not.len()).is_multiple_of(self.every.max(1)) {
            return;
        }
        self.edges += examples.edge_count();
        let mut seen = BTreeSet::new();
        for number in 0..examples.edge_count() {
            let value = examples.make(&none, 0, Choice::Edge(number)).unwrap();
            holds(&value, "edge");
            assert!(
                seen.insert(value.to_string()),
                "{name}: edge {number} is there twice: {value}"
            );
        }
        if examples.edge_count() > 0 {
            holds(
                &examples.make(&none, 9, Choice::Edge(0)).unwrap(),
                "edge with another seed",
            );
        }
    }

    /// Prints the counts, and asserts that at least `share` per mille of the schemas have a value.
    fn at_least(&self, what: &str, share: usize) {
        let all = self.made + self.could_not.len();
        println!("{what}: {} of {all} made, {} edges", self.made, self.edges);
        self.could_not
            .iter()
            .for_each(|error| println!("  could not: {error}"));
        assert!(
            all > 0 && self.made * 1000 >= all * share,
            "{what}: only {} of {all}",
            self.made
        );
    }
}

fn lines(path: &Path) -> Vec<Json> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the distinct schemas under these keys of the tools in each line.
fn of_tools(path: &Path, keys: &[&str]) -> BTreeMap<String, Json> {
    let mut schemas = BTreeMap::new();
    for line in lines(path) {
        for tool in line["tools"].as_array().unwrap() {
            for schema in keys.iter().filter_map(|key| tool.get(key)) {
                schemas
                    .entry(schema.to_string())
                    .or_insert_with(|| schema.clone());
            }
        }
    }
    schemas
}

#[test]
fn of_the_tools_of_nestools() {
    let Some(path) = cases("nestools/plans.jsonl") else {
        return;
    };
    let mut tally = Tally {
        every: 40,
        ..Tally::default()
    };
    for (text, schema) in of_tools(&path, &["input_schema", "output_schema"]) {
        tally.schema(&text, &schema, &[]);
    }
    tally.at_least("nestools", 1000);
}

#[test]
fn of_the_tools_of_bfcl() {
    let Some(path) = cases("bfcl/single-turn.jsonl") else {
        return;
    };
    let mut tally = Tally {
        every: 40,
        ..Tally::default()
    };
    for (text, schema) in of_tools(&path, &["input_schema"]) {
        tally.schema(&text, &schema, &[]);
    }
    // One schema requires a list that equals one of several strings, which is impossible.
    tally.at_least("bfcl", 999);
}

#[test]
fn of_the_apps_beside_the_plans() {
    let files = app_files(&RealHost, &root().join("plans/apps")).unwrap();
    let mut tally = Tally::default();
    for app in load_apps(&RealHost, &files, &BTreeSet::new()).apps {
        for tool in &app.tools {
            let signature = &tool.signature;
            let returns = signature.output_schema.as_ref().map_or_else(
                || to_schema(&signature.returns),
                |contract| contract.normalized().clone(),
            );
            tally.schema(&signature.path(), &returns, &[]);
            if let Some(contract) = &signature.input_schema {
                tally.schema(&signature.path(), contract.normalized(), &[]);
            }
        }
    }
    tally.at_least("plans/apps", 1000);
}

#[test]
fn of_the_published_cases() {
    let Some(folder) = cases("json-schema") else {
        return;
    };
    for (draft, address, share) in [
        (
            "draft2020-12",
            "https://json-schema.org/draft/2020-12/schema",
            1000,
        ),
        ("draft7", "http://json-schema.org/draft-07/schema#", 1000),
    ] {
        let documents = crate::types::documents(&folder, draft);
        let mut tally = Tally {
            every: 2,
            ..Tally::default()
        };
        let mut files: Vec<_> = std::fs::read_dir(folder.join(draft))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        for path in files {
            let cases: Json =
                serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            for case in cases.as_array().unwrap() {
                let mut schema = case["schema"].clone();
                if let Some(object) = schema.as_object_mut() {
                    object.entry("$schema").or_insert_with(|| json!(address));
                }
                // A schema without valid values has no examples.
                if case["tests"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|test| test["valid"] == true)
                {
                    let file = path.file_stem().unwrap().to_string_lossy();
                    tally.schema(
                        &format!("{draft}/{file}: {}", case["description"]),
                        &schema,
                        &documents,
                    );
                }
            }
        }
        tally.at_least(draft, share);
    }
}
