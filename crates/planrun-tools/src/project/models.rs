//! `models` of planrun.yaml: the models that can be queried, their addresses and prices.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::diag::nearest;
use reqwest::Url;
use serde::{Deserialize, Serialize};

use crate::tools::app::section::{Mistakes, Section};
use crate::tools::app::variables::{Variable, not_listed, variable_name};
use crate::tools::http::displayed;
use planrun_lang::yaml::{Entry, Node};

/// The key that names the model to use if no other model is requested.
const DEFAULT: &str = "default";
const KEYS: [&str; 11] = [
    "api",
    "base_url",
    "model",
    "key",
    "temperature",
    "max_tokens",
    "timeout",
    "first_token",
    "between_tokens",
    "retries",
    "price",
];
/// Maximum number of retries; more only delay the failure.
const MAX_RETRIES: u64 = 10;
/// Maximum value of `max_tokens`.
const MAX_TOKENS: u64 = 100_000_000;
/// Maximum price of a million tokens.
const MAX_PRICE: f64 = 1e9;
/// Maximum timeout.
const MAX_TIMEOUT: Duration = Duration::from_hours(24);

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelList {
    /// In the order of the file.
    pub models: Vec<ModelSettings>,
    /// The name of the model to use if no other model is requested.
    pub default: Option<Arc<str>>,
}

/// One model, by the name that the project gives it. The client chooses values that are `None`.
#[derive(Clone, PartialEq)]
pub struct ModelSettings {
    pub name: Arc<str>,
    pub api: ModelApi,
    /// With or without the version segment of the API.
    pub base_url: Url,
    /// The name of the model at its server.
    pub model: String,
    /// The environment variable that contains the API key; with `None`, no key is sent.
    pub key: Option<String>,
    pub temperature: Option<f64>,
    /// Maximum number of tokens of an answer.
    pub max_tokens: Option<u64>,
    /// Timeout of a whole answer, including retries.
    pub timeout: Option<Duration>,
    /// Timeout until the first token of an answer.
    pub first_token: Option<Duration>,
    /// Timeout between two tokens of an answer.
    pub between_tokens: Option<Duration>,
    /// Maximum number of retries of a request.
    pub retries: Option<u32>,
    pub price: Option<Price>,
}

impl ModelList {
    /// Returns the model with this name, or the default or only one. Fails with the reason in one sentence if there is
    /// no such model, or no model is selected.
    pub fn find(&self, name: Option<&str>) -> Result<&ModelSettings, String> {
        let names = || self.models.iter().map(|model| &*model.name);
        let listed = || names().collect::<Vec<_>>().join(", ");
        let Some(name) = name.or(self.default.as_deref()) else {
            return match &*self.models {
                [only] => Ok(only),
                _ => Err(format!(
                    "planrun.yaml has several models ({}) and no `default`: name one",
                    listed()
                )),
            };
        };
        let found = self.models.iter().find(|model| &*model.name == name);
        found.ok_or_else(|| {
            let near = nearest(name, names());
            let meant = near.map_or_else(String::new, |near| {
                format!("; did you mean `{}`?", near.name)
            });
            let listed = listed();
            format!("planrun.yaml has no model `{name}`; available: {listed}{meant}")
        })
    }
}

impl std::fmt::Debug for ModelSettings {
    /// Leaves out credentials in the URL.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelSettings")
            .field("name", &self.name)
            .field("api", &self.api)
            .field("base_url", &displayed(self.base_url.as_str()))
            .field("model", &self.model)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// The API that a server implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelApi {
    /// Chat completions, which most servers implement.
    Chat,
    /// Responses, the newer API of `OpenAI`.
    Responses,
    /// Messages, the API of `Anthropic`.
    Messages,
}

/// The price of a million tokens, in the currency of the project.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// Price of input that was read from a cache; `None` if it is the same as other input.
    #[serde(default)]
    pub cached: Option<f64>,
}

impl ModelApi {
    /// The names in planrun.yaml.
    const WORDS: [(&str, Self); 3] = [
        ("chat", Self::Chat),
        ("responses", Self::Responses),
        ("messages", Self::Messages),
    ];
}

/// Reads the models. `variables` are the environment variables that configuration may read, and `filled` those that
/// were filled into the texts.
pub(super) fn models(
    node: &Node,
    (variables, filled): (&BTreeSet<String>, &[Variable]),
    found: &Mistakes,
) -> ModelList {
    let Some(entries) = node.entries() else {
        let message = format!(
            "`models` must be a mapping from names, but is {}",
            node.kind()
        );
        found.add(node.span, message);
        return ModelList::default();
    };
    let strays = filled.iter().filter(|one| node.has_part_at(one.span));
    let strays = strays.filter(|one| !variables.contains(&one.name));
    strays.for_each(|one| found.push(not_listed(&one.name, one.span)));
    let mut list = ModelList::default();
    for entry in entries.iter().filter(|entry| entry.name != DEFAULT) {
        list.models.extend(model(entry, variables, found));
    }
    if let Some(written) = node.get(DEFAULT) {
        list.default = default(written, entries, found);
    }
    list
}

/// Reads `default: fast`; reports a name that is not in `models`.
fn default(node: &Node, entries: &[Entry], found: &Mistakes) -> Option<Arc<str>> {
    let names = || {
        let names = entries.iter().map(|entry| &*entry.name);
        names.filter(|name| *name != DEFAULT)
    };
    let written = node.text().unwrap_or_default();
    if let Some(name) = names().find(|name| *name == written) {
        return Some(name.into());
    }
    let message = match node.text() {
        Some(text) => format!("there is no model `{text}` under `models`"),
        None => format!(
            "`default` of `models` must be the name of one of them, but is {}",
            node.kind()
        ),
    };
    let finding = found.at(node.span, message).available(names());
    found.push(finding.suggest(written, names(), "use the name of one of the models"));
    None
}

fn model(entry: &Entry, variables: &BTreeSet<String>, found: &Mistakes) -> Option<ModelSettings> {
    let what = format!("the model `{}`", entry.name);
    let section = Section::new(what, &entry.value, found)?;
    section.expect_keys(&KEYS);
    let words = ModelApi::WORDS.map(|(word, _)| word);
    let find = |text: &str| ModelApi::WORDS.iter().find(|(word, _)| *word == text);
    let api = section.word("api", &words, find);
    let (base_url, model) = (base_url(&section), section.required("model"));
    let key = section.get("key");
    let key = key.and_then(|node| variable_name(node, variables, found));
    let time = |name: &str| section.time(name, MAX_TIMEOUT);
    let retries = section.count("retries", (0, MAX_RETRIES));
    Some(ModelSettings {
        name: (&*entry.name).into(),
        api: api.map_or(ModelApi::Chat, |(_, api)| *api),
        base_url: base_url?,
        model: model?,
        key,
        temperature: section.number("temperature", 2.0),
        max_tokens: section.count("max_tokens", (1, MAX_TOKENS)),
        timeout: time("timeout"),
        first_token: time("first_token"),
        between_tokens: time("between_tokens"),
        retries: retries.and_then(|retries| u32::try_from(retries).ok()),
        price: price(&section),
    })
}

/// Reads a web address without credentials.
fn base_url(section: &Section) -> Option<Url> {
    let text = section.required("base_url")?;
    let node = section.get("base_url")?;
    let url = Url::parse(&text).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let (message, help) = match url {
        Some(url) if url.username().is_empty() && url.password().is_none() => return Some(url),
        Some(_) => (
            "`base_url` must not contain credentials",
            "put the key into an environment variable, list it in `env`, and write its name under `key`",
        ),
        None => (
            "`base_url` must be an HTTP or HTTPS URL",
            "write a URL such as `https://api.example.com/v1`",
        ),
    };
    section.found.explain(node.span, message, help);
    None
}

/// Reads `price: { input: 2.5, output: 10, cached: 1.25 }`.
fn price(model: &Section) -> Option<Price> {
    let section = model.inner("price", &["input", "output", "cached"])?;
    for name in ["input", "output"] {
        if section.get(name).is_none() {
            let message = format!("`price` lacks the key `{name}`");
            let help = "add the price of a million tokens, in the currency of your budgets";
            section.found.explain(section.span(), message, help);
        }
    }
    let part = |name: &str| section.number(name, MAX_PRICE);
    let (cached, input, output) = (part("cached"), part("input"), part("output"));
    Some(Price {
        input: input?,
        output: output?,
        cached,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Location, Project};
    use super::*;
    use crate::host::MemoryHost;

    fn load(text: &str) -> (ModelList, Vec<String>) {
        let host = MemoryHost::default()
            .with_file("/p/planrun.yaml", text)
            .with_variable("BASE", "http://127.0.0.1:9/v1");
        let location = Location::of(&host, None, Some(Path::new("/p"))).unwrap();
        let (project, findings) = Project::open(&host, &location).unwrap();
        let found = findings.iter().flat_map(|one| {
            one.diagnostics.iter().map(|finding| {
                let fix = finding.fix.as_ref().map_or("", |fix| &fix.edits[0].text);
                let place = one.source.slice(finding.span);
                format!("`{place}` {} [{fix}]", finding.message)
            })
        });
        (project.settings.models, found.collect())
    }

    #[test]
    fn models_are_read() {
        let text = "
env: [KEY, BASE]
models:
  fast:
    base_url: ${BASE}
    model: small
  best:
    api: chat
    base_url: https://models.example.com
    model: large
    key: KEY
    temperature: 0.5
    max_tokens: 4096
    timeout: 5m
    first_token: 30s
    between_tokens: 10s
    retries: 0
    price: { input: 2.5, output: 10 }
  default: fast
";
        let (list, found) = load(text);
        assert_eq!(found, [""; 0]);
        assert_eq!(list.default.as_deref(), Some("fast"));
        let [fast, best] = &*list.models else {
            panic!("{list:?}")
        };
        assert_eq!(fast.base_url.as_str(), "http://127.0.0.1:9/v1");
        assert_eq!((fast.key.as_deref(), fast.retries), (None, None));
        assert_eq!((best.key.as_deref(), best.retries), (Some("KEY"), Some(0)));
        assert_eq!(best.first_token, Some(Duration::from_secs(30)));
        let price = Price {
            input: 2.5,
            output: 10.0,
            cached: None,
        };
        assert_eq!(best.price, Some(price));
    }

    #[test]
    fn mistakes_have_their_place() {
        let of = |text: &str| load(&format!("models: {{ fast: {{ {text} }} }}")).1;
        let base = "base_url: 'http://a', model: m";
        let cases = [
            (
                "model: m",
                "`model` the model `fast` lacks the key `base_url` []",
            ),
            (
                "base_url: 'http://a', modle: m",
                "`modle` the model `fast` has no key `modle` [model]",
            ),
            (
                "base_url: a.b/v1, model: m",
                "`a.b/v1` `base_url` must be an HTTP or HTTPS URL []",
            ),
            (
                "base_url: 'http://u:p@a', model: m",
                "`'http://u:p@a'` `base_url` must not contain credentials []",
            ),
            (
                &format!("{base}, api: chatt"),
                "`chatt` `api` of the model `fast` cannot be `chatt` [chat]",
            ),
            (
                &format!("{base}, key: sk-123"),
                "`sk-123` this must be the name of an environment variable []",
            ),
            (
                &format!("{base}, key: K"),
                "`K` K is read from the environment, but `env` in planrun.yaml does not list it []",
            ),
            (
                &format!("{base}, timeout: soon"),
                "`soon` `timeout` must be a duration such as `30s`, at most 86400s []",
            ),
            (
                &format!("{base}, retries: 99"),
                "`99` `retries` must be a whole number from 0 to 10 []",
            ),
            (
                &format!("{base}, temperature: hot"),
                "`hot` `temperature` must be a number from 0 to 2 []",
            ),
            (
                &format!("{base}, price: {{ input: 1 }}"),
                "`input` `price` lacks the key `output` []",
            ),
        ];
        for (text, expected) in cases {
            let found = of(text);
            assert_eq!(found.first().map(String::as_str), Some(expected), "{text}");
        }
        let found = load("models: { fast: { base_url: 'http://a', model: m }, default: fats }").1;
        assert_eq!(
            found,
            ["`fats` there is no model `fats` under `models` [fast]"]
        );
        let found = load("models: { fast: { base_url: '${BASE}', model: m } }").1;
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("`env` in planrun.yaml does not list it"));
    }
}
