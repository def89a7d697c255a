//! Generates texts of a given format, length and pattern.

use super::chance::{below, mixed};
use super::demand::Demand;
use super::pattern::matching;

/// Words that usual texts consist of.
pub(super) const WORDS: [&str; 16] = [
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "harbor", "indigo", "juniper",
    "kelp", "linen", "maple", "north", "opal", "pine",
];
/// A text that programs often handle incorrectly: accents, other scripts, a surrogate pair, quotes, markup, a line
/// break.
const UNUSUAL: &str = "Zoë 名字 😀 e\u{301} \"'<&\\ \n\t%s";
/// Maximum length in characters of a text without a stated limit, and of any generated text.
const LONG: usize = 1_000;
const MAX_LENGTH: usize = 20_000;
/// Maximum number of texts that are tried against a pattern before the best guess is returned.
const MAX_TRIES: u64 = 40;

/// Selects a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Usual,
    Shortest,
    Longest,
    Unusual,
}

/// Generates a text that meets the constraints. If none is found, returns the best guess, which the validator then
/// rejects.
pub(super) fn text(demand: &Demand, salt: u64, count: u64, target: Target) -> String {
    let patterns: Vec<regex::Regex> = demand
        .patterns
        .iter()
        .filter_map(|pattern| regex::Regex::new(pattern).ok())
        .collect();
    let fits = |text: &str| {
        let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
        length >= demand.length.least
            && demand.length.most.is_none_or(|most| length <= most)
            && patterns.iter().all(|pattern| pattern.is_match(text))
    };
    let mut guess = None;
    // A format that conflicts with the other constraints is dropped after 150 attempts.
    if let Some(format) = demand
        .formats
        .iter()
        .find(|format| known(format))
        .filter(|_| count < 150)
    {
        for round in 0..4 {
            let made = of_format(format, salt.wrapping_add(round), target);
            if fits(&made) {
                return made;
            }
            guess.get_or_insert(made);
        }
    }
    for pattern in &demand.patterns {
        for round in 0..MAX_TRIES {
            let stretch = stretch(demand, target, round);
            let Some(made) = matching(pattern, salt.wrapping_add(round), stretch) else {
                break;
            };
            let sized = fitted(&made, demand);
            for made in [made, sized] {
                if fits(&made) {
                    return made;
                }
                guess.get_or_insert(made);
            }
        }
    }
    let plain = plain(demand, salt, target);
    if fits(&plain) && guess.is_none() {
        plain
    } else {
        guess.unwrap_or(plain)
    }
}

fn stretch(demand: &Demand, target: Target, round: u64) -> u32 {
    let least = u32::try_from(demand.length.least.min(4_000)).unwrap_or(0);
    match (target, round % 4) {
        (Target::Shortest, _) => {
            u32::try_from(round).unwrap_or(0) / 4 + u32::from(round > 20) * least
        }
        (Target::Longest, 0) => {
            u32::try_from(demand.length.most.unwrap_or(60).min(4_000)).unwrap_or(60)
        }
        (_, 0) => 4,
        (_, 1) => 1,
        (_, 2) => 12,
        _ => least.saturating_mul(2),
    }
}

fn plain(demand: &Demand, salt: u64, target: Target) -> String {
    let word = WORDS.get(below(salt, WORDS.len())).unwrap_or(&"word");
    match target {
        Target::Usual => fitted(&format!("{word}-{}", salt % 1000), demand),
        Target::Unusual => fitted(UNUSUAL, demand),
        Target::Shortest => "x".repeat(bounded(demand.length.least)),
        Target::Longest => {
            let most = demand
                .length
                .most
                .map_or(LONG.max(bounded(demand.length.least)), bounded);
            format!("{word} ").chars().cycle().take(most).collect()
        }
    }
}

/// Cuts or pads a text to the required length.
fn fitted(text: &str, demand: &Demand) -> String {
    let least = bounded(demand.length.least);
    let length = text.chars().count();
    let filled = if length < least {
        format!("{text}{}", "x".repeat(least - length))
    } else {
        text.to_owned()
    };
    let most = demand.length.most.map_or(usize::MAX, |most| {
        usize::try_from(most).unwrap_or(usize::MAX)
    });
    filled.chars().take(most).collect()
}

fn bounded(count: u64) -> usize {
    usize::try_from(count).unwrap_or(MAX_LENGTH).min(MAX_LENGTH)
}

fn known(format: &str) -> bool {
    !of_format(format, 0, Target::Usual).is_empty()
}

/// Returns a text of a format; empty if the format is unknown.
fn of_format(format: &str, salt: u64, target: Target) -> String {
    let day = salt % 28 + 1;
    match format {
        "date-time" => target.pick(
            format!("2026-01-{day:02}T09:30:00Z"),
            "1970-01-01T00:00:00Z",
            "9999-12-31T23:59:59.999999999Z",
            "2024-02-29T23:59:59.5+05:30",
        ),
        "date" => target.pick(
            format!("2026-01-{day:02}"),
            "1970-01-01",
            "9999-12-31",
            "2024-02-29",
        ),
        "time" => target.pick(
            "09:30:00Z".into(),
            "00:00:00Z",
            "23:59:59.999999999Z",
            "23:59:59.5+05:30",
        ),
        "duration" => target.pick(format!("PT{day}M"), "PT0S", "P9999Y", "P1Y2M3DT4H5M6S"),
        "planrun-duration" => target.pick(format!("{day}m"), "0s", "87600h", "-1h2m3.5s"),
        "planrun-bytes" => target.pick("cGxhbg==".into(), "", &"QUJD".repeat(200), "/+8A"),
        _ => of_network_format(format, salt, target),
    }
}

/// Like [`of_format`], for names and addresses.
fn of_network_format(format: &str, salt: u64, target: Target) -> String {
    let word = WORDS.get(below(salt, WORDS.len())).unwrap_or(&"word");
    let day = salt % 28 + 1;
    let long = || "a".repeat(60);
    match format {
        "email" | "idn-email" => target.pick(
            format!("{word}@example.com"),
            "a@b.co",
            &format!("{}@{}.example.com", long(), long()),
            "first.last+tag'o@sub.example.com",
        ),
        "hostname" | "idn-hostname" => target.pick(
            format!("{word}.example.com"),
            "a",
            &[long(), long(), long()].join("."),
            "xn--mnchen-3ya.example",
        ),
        "ipv4" => target.pick(
            format!("192.0.2.{day}"),
            "0.0.0.0",
            "255.255.255.255",
            "127.0.0.1",
        ),
        "ipv6" => target.pick(
            format!("2001:db8::{day}"),
            "::",
            "2001:0db8:ffff:ffff:ffff:ffff:ffff:ffff",
            "::ffff:192.0.2.1",
        ),
        "uri" | "url" | "uri-reference" | "iri" | "iri-reference" => target.pick(
            format!("https://example.com/{word}"),
            "a:b",
            &format!("https://example.com/{}", "part/".repeat(100)),
            "https://user@example.com:8443/a%20b/%E5%90%8D?q=1&r=a+b#top",
        ),
        "uri-template" => target.pick(
            format!("https://example.com/{{{word}}}"),
            "{a}",
            "/{a}/{b}/{c}/{d}",
            "/x{?first,second*}",
        ),
        "json-pointer" => target.pick(format!("/{word}"), "/", &"/a".repeat(100), "/a~0b/~1c/0"),
        "relative-json-pointer" => target.pick(format!("1/{word}"), "0", "12/a/b/c/d", "0#"),
        "regex" => target.pick(format!("^{word}$"), "a", "^(a|b)*[c-e]{2,3}$", "^\\p{Lu}$"),
        "uuid" => {
            let bits = u128::from(salt) << 64 | u128::from(mixed(salt, "uuid"));
            let usual = uuid::Builder::from_random_bytes(bits.to_be_bytes())
                .into_uuid()
                .to_string();
            let (least, most) = (uuid::Uuid::nil().to_string(), uuid::Uuid::max().to_string());
            target.pick(usual.clone(), &least, &most, &usual.to_uppercase())
        }
        _ => String::new(),
    }
}

impl Target {
    /// Returns the text for this target.
    fn pick(self, usual: String, shortest: &str, longest: &str, unusual: &str) -> String {
        match self {
            Self::Usual => usual,
            Self::Shortest => shortest.to_owned(),
            Self::Longest => longest.to_owned(),
            Self::Unusual => unusual.to_owned(),
        }
    }
}
