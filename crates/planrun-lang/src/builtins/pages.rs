//! Pages about functions and macros, in Markdown.

use std::fmt::Write as _;

use super::{Example, Form, Function, MACROS, Macro, all};

/// Returns the page of the functions and macros of this name, with or without its namespace; `None` if there are none.
#[must_use]
pub fn page(name: &str) -> Option<String> {
    let functions = all().filter(|one| one.name == name || one.title() == name);
    let macros = MACROS
        .iter()
        .filter(|one| one.name == name || one.title() == name);
    let pages: Vec<String> = functions
        .map(of_function)
        .chain(macros.map(of_macro))
        .collect();
    (!pages.is_empty()).then(|| pages.join("\n"))
}

/// Returns the page of a function: what it does, how it is called, and examples.
#[must_use]
pub fn of_function(function: &Function) -> String {
    let forms = function.forms.iter();
    let signatures = forms.flat_map(|form| function.signatures(*form));
    text(function.description, signatures, function.examples)
}

/// Returns the page of a macro.
#[must_use]
pub fn of_macro(one: &Macro) -> String {
    let forms = one.forms.iter().map(ToString::to_string);
    text(one.description, forms, one.examples)
}

fn text(
    description: &str,
    signatures: impl Iterator<Item = String>,
    examples: &[Example],
) -> String {
    let mut text = format!("{description}\n\n```text\n");
    for signature in signatures {
        let _ = writeln!(text, "{signature}");
    }
    if !examples.is_empty() {
        text.push('\n');
    }
    for example in examples {
        let _ = writeln!(text, "{}  =>  {}", example.expression, example.result);
    }
    text + "```\n"
}

impl Function {
    /// The name, with the namespace if it is called with one.
    #[must_use]
    pub fn title(&self) -> String {
        match self.forms {
            [Form::Namespace(namespace)] => format!("{namespace}.{}", self.name),
            _ => self.name.to_owned(),
        }
    }

    /// Returns the signatures of a form as an author would write them.
    #[must_use]
    pub fn signatures(&self, form: Form) -> Vec<String> {
        let signature = |overload: &super::Overload| {
            let parameters: Vec<String> = overload
                .parameters
                .iter()
                .map(ToString::to_string)
                .collect();
            let (prefix, parameters) = match (form, parameters.split_first()) {
                (Form::Method, Some((receiver, rest))) => (format!("{receiver}."), rest),
                (Form::Namespace(namespace), _) => (format!("{namespace}."), &parameters[..]),
                (Form::Method | Form::Global, _) => (String::new(), &parameters[..]),
            };
            let (name, given) = (self.name, parameters.join(", "));
            format!("{prefix}{name}({given}) -> {}", overload.result)
        };
        self.overloads.iter().map(signature).collect()
    }
}

impl Macro {
    /// The name, with the namespace if it is called with one.
    #[must_use]
    pub fn title(&self) -> String {
        let is_namespaced = self.forms.iter().any(|form| form.starts_with("cel."));
        format!("{}{}", if is_namespaced { "cel." } else { "" }, self.name)
    }
}
