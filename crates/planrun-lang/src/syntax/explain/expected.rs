//! Maps pest's rules to what an author would write.

use crate::syntax::grammar::diagnose::Rule;

/// Something that would have been valid where parsing failed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Expected {
    Value,
    Name,
    Type,
    Pattern,
    Text,
    /// `name: type`
    Parameter,
    /// A punctuation mark.
    Mark(&'static str),
    /// A keyword.
    Word(String),
    Clause,
    /// `{ … }`
    Block,
    /// The end of the text.
    End,
}

/// Maps the rules, without those that would only continue what is already complete.
pub(super) fn of_rules(rules: &[Rule]) -> Vec<Expected> {
    let mut expected: Vec<Expected> = rules.iter().filter_map(|rule| of_rule(*rule)).collect();
    expected.sort();
    expected.dedup();
    expected
}

fn of_rule(rule: Rule) -> Option<Expected> {
    let name = format!("{rule:?}");
    if let Some(word) = name.strip_prefix("kw_") {
        return keyword(word);
    }
    if name.ends_with("_clause") {
        return Some(Expected::Clause);
    }
    if name.starts_with("type_") && rule != Rule::type_item {
        return Some(Expected::Type);
    }
    if name.starts_with("pattern") {
        return Some(Expected::Pattern);
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
        | Rule::outcome => Expected::Value,
        Rule::text => Expected::Text,
        Rule::name
        | Rule::class_name
        | Rule::code_name
        | Rule::use_namespace
        | Rule::error_pattern => Expected::Name,
        Rule::match_arm | Rule::step_arm => Expected::Pattern,
        Rule::parameter | Rule::field_type | Rule::input_field | Rule::race_arm => {
            Expected::Parameter
        }
        Rule::comma => Expected::Mark(","),
        Rule::colon | Rule::otherwise => Expected::Mark(":"),
        Rule::equals => Expected::Mark("="),
        Rule::arrow | Rule::payload => Expected::Mark("->"),
        Rule::fat_arrow => Expected::Mark("=>"),
        Rule::open_paren | Rule::call_arguments | Rule::parameters => Expected::Mark("("),
        Rule::close_paren => Expected::Mark(")"),
        Rule::close_bracket => Expected::Mark("]"),
        Rule::close_brace => Expected::Mark("}"),
        Rule::close_angle => Expected::Mark(">"),
        Rule::open_brace => Expected::Mark("{"),
        Rule::block => Expected::Block,
        Rule::EOI | Rule::line_end => Expected::End,
        _ => return None,
    })
}

/// Returns what a keyword stands for; `None` for words that could only continue what is already complete.
fn keyword(word: &str) -> Option<Expected> {
    match word {
        "is" | "max" | "parallel" | "by" | "times" | "delay" | "details" | "statuses"
        | "expires" | "fails" | "key" | "match" | "known" => None,
        "signal" => Some(Expected::Value),
        "map" | "result" => Some(Expected::Type),
        word => Some(Expected::Word(word.to_owned())),
    }
}
