//! Reports the keys of a document that the import does not read.

use planrun_lang::diag::closest;
use planrun_lang::yaml::Node;

use super::{Draft, excerpt};

impl Draft<'_> {
    /// Reports the keys of a mapping that are not in `known`: those in `omitted` as changed, each with the reason why
    /// the plan does without it, extensions as changed, and all others as not carried. `of` describes the mapping.
    /// Several keys are separated by spaces.
    pub fn report_keys(&mut self, node: &Node, of: &str, known: &str, omitted: &[(&str, &str)]) {
        let has = |keys: &str, name: &str| keys.split_whitespace().any(|key| key == name);
        for entry in node.entries().unwrap_or_default() {
            let name = entry.name.as_str();
            if has(known, name) {
                continue;
            }
            let what = format!("the key `{}` of {of}", excerpt(name));
            let omitted = omitted.iter().find(|(keys, _)| has(keys, name));
            let extension = name
                .starts_with("x-")
                .then_some("it is an extension of the format");
            if let Some(why) = omitted.map(|(_, why)| *why).or(extension) {
                self.changed(entry.span, what, format!("is omitted: {why}"));
                continue;
            }
            let near = closest(name, known.split_whitespace());
            let help = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            self.lost(entry.span, what, format!("unknown key{help}"));
        }
    }
}
