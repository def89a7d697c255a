//! From pest's rules to what an author would write.

use crate::syntax::grammar::diagnose::Rule;

/// Something that could have stood where reading stopped.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Want {
    Value,
    Name,
    Type,
    Pattern,
    Text,
    /// `name: type`
    Parameter,
    /// A punctuation mark.
    Mark(&'static str),
    /// A word of the language.
    Word(String),
    Clause,
    /// `{ … }`
    Block,
    /// Nothing more.
    End,
}

/// What the rules stand for, without those that only go on with what is complete.
pub(super) fn of(rules: &[Rule]) -> Vec<Want> {
    let mut wants: Vec<Want> = rules.iter().filter_map(|rule| want(*rule)).collect();
    wants.sort();
    wants.dedup();
    wants
}

fn want(rule: Rule) -> Option<Want> {
    let name = format!("{rule:?}");
    if let Some(word) = name.strip_prefix("kw_") {
        return keyword(word);
    }
    if name.ends_with("_clause") {
        return Some(Want::Clause);
    }
    if name.starts_with("type_") && rule != Rule::type_item {
        return Some(Want::Type);
    }
    if name.starts_with("pattern") {
        return Some(Want::Pattern);
    }
    Some(match rule {
        Rule::expression
        | Rule::argument
        | Rule::entry
        | Rule::number
        | Rule::call_body
        | Rule::list
        | Rule::object
        | Rule::paren
        | Rule::match_expression
        | Rule::signal_condition
        | Rule::sign
        | Rule::outcome => Want::Value,
        Rule::text => Want::Text,
        Rule::name
        | Rule::class_name
        | Rule::code_name
        | Rule::use_namespace
        | Rule::error_pattern => Want::Name,
        Rule::match_arm | Rule::step_arm => Want::Pattern,
        Rule::parameter | Rule::field_type | Rule::input_field | Rule::race_arm => Want::Parameter,
        Rule::comma => Want::Mark(","),
        Rule::colon | Rule::otherwise => Want::Mark(":"),
        Rule::equals => Want::Mark("="),
        Rule::arrow | Rule::payload => Want::Mark("->"),
        Rule::fat_arrow => Want::Mark("=>"),
        Rule::open_paren | Rule::call_arguments | Rule::parameters => Want::Mark("("),
        Rule::close_paren => Want::Mark(")"),
        Rule::close_bracket => Want::Mark("]"),
        Rule::close_brace => Want::Mark("}"),
        Rule::close_angle => Want::Mark(">"),
        Rule::open_brace => Want::Mark("{"),
        Rule::block => Want::Block,
        Rule::EOI => Want::End,
        _ => return None,
    })
}

/// Words that only go on with a complete value are no help.
fn keyword(word: &str) -> Option<Want> {
    match word {
        "is" | "max" | "parallel" | "by" | "times" | "delay" | "details" | "statuses"
        | "expires" | "fails" | "key" | "match" | "known" => None,
        "signal" => Some(Want::Value),
        "map" | "result" => Some(Want::Type),
        word => Some(Want::Word(word.to_owned())),
    }
}
