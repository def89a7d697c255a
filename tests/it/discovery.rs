//! The descriptions of real tools for a model: 527 tools from 70 servers, all within the length limits and in the
//! language itself.

use std::sync::{Arc, LazyLock};

use planrun_lang::source::SourceFile;
use planrun_lang::syntax::parse;
use planrun_lang::types::Signature;
use planrun_serve::discovery::Index;
use planrun_serve::tokens::tokens;
use planrun_tools::contract::OfferedTool;
use serde_json::Value as Json;

use crate::support::cases;

/// Returns the signatures of the tools in a file of cases, as their servers offer them. `None` if the cases are not
/// available.
pub fn offered(name: &str, schema: &str) -> Option<Vec<Arc<Signature>>> {
    let path = cases("mcp")?.join(name);
    let tools: Vec<Json> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let signature = |tool: &Json| {
        let text = |key: &str| tool[key].as_str().unwrap_or_default().to_owned();
        let offered = OfferedTool {
            description: Some(text("description")),
            input: tool[schema].clone(),
            ..OfferedTool::default()
        };
        let class = offered.annotations.class(false);
        Arc::new(offered.signature(&text("server").into(), &text("tool"), class))
    };
    Some(tools.iter().map(signature).collect())
}

static TOOLS: LazyLock<Option<Vec<Arc<Signature>>>> =
    LazyLock::new(|| offered("tools-527.json", "inputSchema"));

/// Returns the queries of the golden set, and the first words of each tool's description.
fn questions(tools: &[Arc<Signature>]) -> Vec<String> {
    let golden = std::fs::read_to_string(cases("mcp").unwrap().join("queries.json")).unwrap();
    let golden: Vec<Json> = serde_json::from_str(&golden).unwrap();
    let golden = golden
        .iter()
        .map(|query| query["query"].as_str().unwrap().to_owned());
    let words = |tool: &Arc<Signature>| tool.first_sentence().chars().take(40).collect();
    golden.chain(tools.iter().map(words)).collect()
}

#[test]
fn hits_are_short_lines_and_there_are_always_some() {
    let Some(tools) = &*TOOLS else { return };
    let index = Index::new(tools.iter().cloned(), []);
    let mut lines = Vec::new();
    for question in questions(tools) {
        let listing = index.search(&question, None, 10);
        assert!(!listing.is_empty());
        assert!(
            tokens(&listing) <= 350,
            "{question}: {} tokens\n{listing}",
            tokens(&listing)
        );
        let hits = listing.lines().filter(|line| line.contains('('));
        lines.extend(hits.map(tokens));
        assert!(!listing.contains(|character: char| character.is_control() && character != '\n'));
    }
    lines.sort_unstable();
    assert!(lines.len() > 3000);
    assert!(lines[lines.len() * 95 / 100] <= 50, "{:?}", lines.last());
}

#[test]
fn every_contract_is_within_its_bound_and_in_the_language() {
    let Some(tools) = &*TOOLS else { return };
    let index = Index::new(tools.iter().cloned(), []);
    let mut shortened = 0;
    for tool in tools {
        let path = tool.path();
        for full in [false, true] {
            let description = index.describe(&[&path], full);
            assert!(
                full || tokens(&description) <= 400,
                "{} tokens\n{description}",
                tokens(&description)
            );
            assert!(
                !full || !description.contains("\n// left out"),
                "{description}"
            );
            shortened += usize::from(!full && description.contains("\n// left out"));
            let source = SourceFile::new("contract.plan", description.clone());
            let wrong = parse(&source).diagnostics;
            assert!(wrong.is_empty(), "{wrong:?}\n{description}");
        }
    }
    assert!(
        (20..tools.len() / 3).contains(&shortened),
        "{shortened} are shortened"
    );
}
