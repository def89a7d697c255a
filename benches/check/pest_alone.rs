//! The parser that pest generates from the grammar, alone: the tree is built and dropped.

use pest::Parser as _;
use planrun_lang::source::{SourceFile, Span};
use rayon::prelude::*;

#[derive(pest_derive::Parser)]
#[grammar = "../grammar/plan.pest"]
#[grammar = "../grammar/parse.pest"]
struct PlanParser;

/// Parses every item of a file, in parallel on all threads. Returns the number of top-level nodes.
///
/// # Errors
/// Returns an error if pest cannot parse an item.
pub fn read(file: &SourceFile, items: &[Span]) -> Result<usize, String> {
    let one = |span: &Span| {
        let tree =
            PlanParser::parse(Rule::file, file.slice(*span)).map_err(|error| error.to_string())?;
        Ok(tree.count())
    };
    if items.len() > 100 {
        items.par_iter().map(one).sum()
    } else {
        items.iter().map(one).sum()
    }
}
