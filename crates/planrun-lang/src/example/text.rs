//! Texts of a format, a length and a pattern.

use super::chance::{below, mixed};
use super::demand::Demand;
use super::pattern::matching;

/// Words that usual texts are made of.
pub(super) const WORDS: [&str; 16] = [
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "harbor", "indigo", "juniper",
    "kelp", "linen", "maple", "north", "opal", "pine",
];
/// A text with what programs trip over: accents, other scripts, a pair of surrogates, quotes, markup, a line break.
const UNUSUAL: &str = "Zoë 名字 😀 e\u{301} \"'<&\\ \n\t%s";
/// The longest texts where a schema names no limit, and the longest that are made at all.
const LONG: usize = 1_000;
const MAX_LENGTH: usize = 20_000;
/// So many texts are tried against patterns before the best guess is handed over.
const MAX_TRIES: u64 = 40;

/// Which text is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Usual,
    Shortest,
    Longest,
    Unusual,
}

/// A text for these demands; where none was found the best guess, which the validator then refuses.
pub(super) fn text(demand: &Demand, salt: u64, count: u64, wanted: Wanted) -> String {
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
    // A format that cannot be had with the rest is given up in the end.
    if let Some(format) = demand
        .formats
        .iter()
        .find(|format| known(format))
        .filter(|_| count < 150)
    {
        for round in 0..4 {
            let made = of_format(format, salt.wrapping_add(round), wanted);
            if fits(&made) {
                return made;
            }
            guess.get_or_insert(made);
        }
    }
    for pattern in &demand.patterns {
        for round in 0..MAX_TRIES {
            let stretch = stretch(demand, wanted, round);
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
    let plain = plain(demand, salt, wanted);
    if fits(&plain) && guess.is_none() {
        plain
    } else {
        guess.unwrap_or(plain)
    }
}

fn stretch(demand: &Demand, wanted: Wanted, round: u64) -> u32 {
    let least = u32::try_from(demand.length.least.min(4_000)).unwrap_or(0);
    match (wanted, round % 4) {
        (Wanted::Shortest, _) => {
            u32::try_from(round).unwrap_or(0) / 4 + u32::from(round > 20) * least
        }
        (Wanted::Longest, 0) => {
            u32::try_from(demand.length.most.unwrap_or(60).min(4_000)).unwrap_or(60)
        }
        (_, 0) => 4,
        (_, 1) => 1,
        (_, 2) => 12,
        _ => least.saturating_mul(2),
    }
}

fn plain(demand: &Demand, salt: u64, wanted: Wanted) -> String {
    let word = WORDS.get(below(salt, WORDS.len())).unwrap_or(&"word");
    match wanted {
        Wanted::Usual => fitted(&format!("{word}-{}", salt % 1000), demand),
        Wanted::Unusual => fitted(UNUSUAL, demand),
        Wanted::Shortest => "x".repeat(bounded(demand.length.least)),
        Wanted::Longest => {
            let most = demand
                .length
                .most
                .map_or(LONG.max(bounded(demand.length.least)), bounded);
            format!("{word} ").chars().cycle().take(most).collect()
        }
    }
}

/// Cut or filled up to the length that is asked for.
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
    !of_format(format, 0, Wanted::Usual).is_empty()
}

/// A text of a format; an empty one where the format is not known.
fn of_format(format: &str, salt: u64, wanted: Wanted) -> String {
    let day = salt % 28 + 1;
    match format {
        "date-time" => wanted.pick(
            format!("2026-01-{day:02}T09:30:00Z"),
            "1970-01-01T00:00:00Z",
            "9999-12-31T23:59:59.999999999Z",
            "2024-02-29T23:59:59.5+05:30",
        ),
        "date" => wanted.pick(
            format!("2026-01-{day:02}"),
            "1970-01-01",
            "9999-12-31",
            "2024-02-29",
        ),
        "time" => wanted.pick(
            "09:30:00Z".into(),
            "00:00:00Z",
            "23:59:59.999999999Z",
            "23:59:59.5+05:30",
        ),
        "duration" => wanted.pick(format!("PT{day}M"), "PT0S", "P9999Y", "P1Y2M3DT4H5M6S"),
        "planrun-duration" => wanted.pick(format!("{day}m"), "0s", "87600h", "-1h2m3.5s"),
        "planrun-bytes" => wanted.pick("cGxhbg==".into(), "", &"QUJD".repeat(200), "/+8A"),
        _ => of_network_format(format, salt, wanted),
    }
}

/// As [`of_format`], for names and addresses.
fn of_network_format(format: &str, salt: u64, wanted: Wanted) -> String {
    let word = WORDS.get(below(salt, WORDS.len())).unwrap_or(&"word");
    let day = salt % 28 + 1;
    let long = || "a".repeat(60);
    match format {
        "email" | "idn-email" => wanted.pick(
            format!("{word}@example.com"),
            "a@b.co",
            &format!("{}@{}.example.com", long(), long()),
            "first.last+tag'o@sub.example.com",
        ),
        "hostname" | "idn-hostname" => wanted.pick(
            format!("{word}.example.com"),
            "a",
            &[long(), long(), long()].join("."),
            "xn--mnchen-3ya.example",
        ),
        "ipv4" => wanted.pick(
            format!("192.0.2.{day}"),
            "0.0.0.0",
            "255.255.255.255",
            "127.0.0.1",
        ),
        "ipv6" => wanted.pick(
            format!("2001:db8::{day}"),
            "::",
            "2001:0db8:ffff:ffff:ffff:ffff:ffff:ffff",
            "::ffff:192.0.2.1",
        ),
        "uri" | "url" | "uri-reference" | "iri" | "iri-reference" => wanted.pick(
            format!("https://example.com/{word}"),
            "a:b",
            &format!("https://example.com/{}", "part/".repeat(100)),
            "https://user@example.com:8443/a%20b/%E5%90%8D?q=1&r=a+b#top",
        ),
        "uri-template" => wanted.pick(
            format!("https://example.com/{{{word}}}"),
            "{a}",
            "/{a}/{b}/{c}/{d}",
            "/x{?first,second*}",
        ),
        "json-pointer" => wanted.pick(format!("/{word}"), "/", &"/a".repeat(100), "/a~0b/~1c/0"),
        "relative-json-pointer" => wanted.pick(format!("1/{word}"), "0", "12/a/b/c/d", "0#"),
        "regex" => wanted.pick(format!("^{word}$"), "a", "^(a|b)*[c-e]{2,3}$", "^\\p{Lu}$"),
        "uuid" => {
            let bits = u128::from(salt) << 64 | u128::from(mixed(salt, "uuid"));
            let usual = uuid::Builder::from_random_bytes(bits.to_be_bytes())
                .into_uuid()
                .to_string();
            let (least, most) = (uuid::Uuid::nil().to_string(), uuid::Uuid::max().to_string());
            wanted.pick(usual.clone(), &least, &most, &usual.to_uppercase())
        }
        _ => String::new(),
    }
}

impl Wanted {
    /// The text of this kind.
    fn pick(self, usual: String, shortest: &str, longest: &str, unusual: &str) -> String {
        match self {
            Self::Usual => usual,
            Self::Shortest => shortest.to_owned(),
            Self::Longest => longest.to_owned(),
            Self::Unusual => unusual.to_owned(),
        }
    }
}
