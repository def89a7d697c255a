//! Searches tools by words: BM25 over their names, documentation and parameters.
//!
//! Implements Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with a weight
//! for each part of a contract. Words are compared by their stems and by common synonyms of the verbs and nouns of
//! tools; Chinese is compared by pairs of characters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use planrun_lang::types::Signature;
use rust_stemmers::{Algorithm, Stemmer};

/// How quickly the weight of a repeated word saturates: the `k1` of BM25.
const SATURATION: f64 = 1.2;
/// How strongly scores are normalized by the length of a contract: the `b` of BM25.
const LENGTH: f64 = 0.75;
/// Weight of a word in the name. Any other word weighs 1.
const NAME: f64 = 3.0;
/// Weight of a word in the first sentence, in addition to its weight in the documentation.
const FIRST_SENTENCE: f64 = 2.0;
/// Weight of a synonym relative to the word itself.
const SYNONYM: f64 = 0.5;

/// Words that do not describe a tool.
const STOP_WORDS: &str = "a all an and any are as at be but by can do does each every for from give has have how i if in into is it its \
    just me my need no not of on one only or please show so some tell than that the their them then there these they this those \
    to want was what when where whether which who whose will with you your";

/// Groups of words with the same meaning.
const SYNONYMS: [&str; 17] = [
    "add create insert make new",
    "allow authorize permit",
    "change diff difference modification",
    "connect link relate relation relationship",
    "date hour time clock",
    "delete discard drop erase remove rid",
    "directory folder",
    "edit modify replace update",
    "email mail message",
    "fetch get load read retrieve",
    "find lookup query search",
    "history log past",
    "image photo picture",
    "list listing enumerate",
    "move rename",
    "keep persist record save store write",
    "page site url web website",
];

/// A search index over the tools of a project.
pub struct ToolIndex {
    words: Words,
    tools: Vec<Document>,
    /// Number of tools that contain a word.
    frequency: BTreeMap<String, u32>,
    /// Average total weight of the words of a tool.
    average: f64,
}

struct Document {
    tool: Arc<Signature>,
    weights: BTreeMap<String, f64>,
    length: f64,
}

impl ToolIndex {
    pub fn new(tools: impl IntoIterator<Item = Arc<Signature>>) -> Self {
        let words = Words::new();
        let documents = tools.into_iter().map(|tool| Document::new(tool, &words));
        let tools: Vec<Document> = documents.collect();
        let mut frequency = BTreeMap::new();
        for word in tools.iter().flat_map(|tool| tool.weights.keys()) {
            *frequency.entry(word.clone()).or_default() += 1;
        }
        let whole: f64 = tools.iter().map(|tool| tool.length).sum();
        let average = whole / count(tools.len()).max(1.0);
        Self {
            words,
            tools,
            frequency,
            average,
        }
    }

    /// Returns the tools that match the words of a query, best first. Equal scores are sorted by name.
    pub fn find(&self, query: &str) -> Vec<&Arc<Signature>> {
        let query_words: BTreeSet<String> = self.words.of(query).into_iter().collect();
        let mut terms: BTreeMap<&str, f64> = BTreeMap::new();
        for word in &query_words {
            for other in self.words.synonyms(word) {
                terms.insert(other, SYNONYM);
            }
        }
        terms.extend(query_words.iter().map(|word| (word.as_str(), 1.0)));
        let scores = self
            .tools
            .iter()
            .map(|tool| (self.score(tool, &terms), &tool.tool));
        let mut found: Vec<(f64, &Arc<Signature>)> =
            scores.filter(|(score, _)| *score > 0.0).collect();
        found.sort_by(|(one, first), (other, second)| {
            other
                .total_cmp(one)
                .then_with(|| first.path().cmp(&second.path()))
        });
        found.into_iter().map(|(_, tool)| tool).collect()
    }

    fn score(&self, tool: &Document, terms: &BTreeMap<&str, f64>) -> f64 {
        let norm = SATURATION * (1.0 - LENGTH + LENGTH * tool.length / self.average.max(1.0));
        let score = terms.iter().filter_map(|(word, weight)| {
            let own = tool.weights.get(*word)?;
            let known = f64::from(*self.frequency.get(*word)?);
            let rarity = (1.0 + (count(self.tools.len()) - known + 0.5) / (known + 0.5)).ln();
            Some(weight * rarity * own * (SATURATION + 1.0) / (own + norm))
        });
        score.sum()
    }
}

impl Document {
    fn new(tool: Arc<Signature>, words: &Words) -> Self {
        let documentation = tool.description.as_deref().unwrap_or_default().trim();
        let parameters = tool
            .parameters
            .iter()
            .map(|parameter| (&*parameter.name, 1.0));
        let parts = [
            (&*tool.name, NAME),
            (&*tool.namespace, 1.0),
            (tool.first_sentence(), FIRST_SENTENCE),
            (documentation, 1.0),
        ];
        let mut weights: BTreeMap<String, f64> = BTreeMap::new();
        for (text, weight) in parts.into_iter().chain(parameters) {
            for word in words.of(text) {
                *weights.entry(word).or_default() += weight;
            }
        }
        let length = weights.values().sum();
        Self {
            tool,
            weights,
            length,
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a catalog has fewer than 2^52 tools"
)]
fn count(tools: usize) -> f64 {
    tools as f64
}

/// Splits texts into the words that are compared.
struct Words {
    stemmer: Stemmer,
    stop: BTreeSet<&'static str>,
    /// The stems of a word's synonyms, by the stem of the word.
    synonyms: BTreeMap<String, BTreeSet<String>>,
}

impl Words {
    fn new() -> Self {
        let stemmer = Stemmer::create(Algorithm::English);
        let mut synonyms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for group in SYNONYMS {
            let stems = group
                .split_whitespace()
                .map(|word| stemmer.stem(word).into_owned());
            let stems: BTreeSet<String> = stems.collect();
            for stem in &stems {
                let others = stems.iter().filter(|other| *other != stem).cloned();
                synonyms.entry(stem.clone()).or_default().extend(others);
            }
        }
        Self {
            stemmer,
            stop: STOP_WORDS.split_whitespace().collect(),
            synonyms,
        }
    }

    fn synonyms(&self, stem: &str) -> impl Iterator<Item = &str> {
        self.synonyms
            .get(stem)
            .into_iter()
            .flatten()
            .map(String::as_str)
    }

    /// Returns the stems of the words of a text. A word ends at a character that is not alphanumeric and where a
    /// lowercase letter is followed by an uppercase one. Scripts without word boundaries are split into pairs of
    /// characters.
    fn of(&self, text: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut word = String::new();
        let mut before = Kind::Other;
        for character in text.chars() {
            let kind = Kind::of(character);
            let begins = kind != before && !(before == Kind::Capital && kind == Kind::Small);
            if begins {
                self.end(&mut word, before, &mut words);
            }
            if kind != Kind::Other {
                word.extend(character.to_lowercase());
            }
            before = kind;
        }
        self.end(&mut word, before, &mut words);
        words
    }

    fn end(&self, word: &mut String, kind: Kind, words: &mut Vec<String>) {
        let ended = std::mem::take(word);
        if ended.is_empty() || self.stop.contains(&*ended) {
            return;
        }
        if kind != Kind::Ideograph {
            words.push(self.stemmer.stem(&ended).into_owned());
            return;
        }
        let characters: Vec<char> = ended.chars().collect();
        match characters.len() {
            1 => words.push(ended),
            _ => words.extend(
                characters
                    .windows(2)
                    .map(|pair| pair.iter().collect::<String>()),
            ),
        }
    }
}

/// The class of a character for splitting words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Small,
    Capital,
    Ideograph,
    Other,
}

impl Kind {
    fn of(character: char) -> Self {
        match character {
            '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' => {
                Self::Ideograph
            }
            _ if character.is_uppercase() => Self::Capital,
            _ if character.is_alphanumeric() => Self::Small,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, description: &str) -> Arc<Signature> {
        Arc::new(Signature {
            description: Some(description.into()),
            ..Signature::unknown("desk".into(), name.into())
        })
    }

    #[test]
    fn words_end_where_people_see_them_end() {
        let words = |text: &str| Words::new().of(text).join(" ");
        assert_eq!(words("listOpenTickets"), "list open ticket");
        assert_eq!(words("read_text-file"), "read text file");
        assert_eq!(words("HTTPServer of the cities"), "httpserver citi");
        assert_eq!(words("查询天气 now"), "查询 询天 天气 now");
        assert_eq!(words("读"), "读");
    }

    #[test]
    fn the_best_comes_first_and_what_has_nothing_in_common_is_left_out() {
        let tools = [
            tool("open_ticket", "Opens a ticket."),
            tool("search_tickets", "Finds tickets by words."),
            tool("发邮件", "给客户发送邮件。"),
            tool("weather", "The forecast of a city."),
        ];
        let index = ToolIndex::new(tools);
        let found = |query: &str| {
            let found = index
                .find(query)
                .into_iter()
                .map(|tool| tool.name.to_string());
            found.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(found("find a ticket"), "search_tickets open_ticket");
        assert_eq!(found("邮件"), "发邮件");
        assert_eq!(found("the forecasts"), "weather");
        assert_eq!(found("banana"), "");
        assert_eq!(found(""), "");
    }
}
