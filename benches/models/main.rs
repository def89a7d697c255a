//! The cost of a model client for streamed turns, compared with a bare client that reads the same bytes, and its
//! memory; the time until a plan of a model starts, and the gain of starting its reads early.
//!
//! `cargo bench --bench models` prints the table of `docs/performance.md`. The double is a separate process.

#[path = "../report/mod.rs"]
#[expect(dead_code, reason = "other benchmarks measure cold starts")]
mod report;

mod double;
mod writing;

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use peak_alloc::PeakAlloc;
use planrun_models::client::HttpModel;
use planrun_models::model::{Message, Model as _, Request, Turn};
use planrun_models::wire::{self, Addressee};
use planrun_tools::project::ModelApi;
use reqwest::Url;
use tokio::runtime::Runtime;

use double::Double;
use report::{Parts, Table, Target, alternate, millis, sized};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Number of turns per round, of rounds, and of words per turn. Each word is an event of the stream.
const TURNS: usize = 50;
const PAIRS: usize = 9;
const WORDS: usize = 400;

/// Targets.
const MAX_RATIO: f64 = 5.0;
const MAX_MEGABYTES: f64 = 20.0;

/// The wire formats, by their names in `planrun.yaml`.
const SHAPES: [(&str, ModelApi); 3] = [
    ("chat", ModelApi::Chat),
    ("responses", ModelApi::Responses),
    ("messages", ModelApi::Messages),
];

fn main() -> ExitCode {
    report::run(measure)
}

fn measure(parts: &Parts, table: &mut Table) -> Result<(), String> {
    if parts.includes("writing") {
        writing::measure(table)?;
    }
    if !SHAPES.iter().any(|(word, _)| parts.includes(word)) {
        return Ok(());
    }
    let text: String = (0..WORDS).fold(String::new(), |mut text, word| {
        // Writing to a string cannot fail.
        let _ = write!(text, "word-{word} ");
        text
    });
    let double = Double::start(&format!("turns: [{{ text: '{text}', repeat: forever }}]\n"))?;
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    Table::head(
        &format!(
            "{TURNS} streaming turns of {WORDS} words, against a client that reads their bytes"
        ),
        "ours",
        "other",
    );
    for (word, api) in SHAPES.into_iter().filter(|(word, _)| parts.includes(word)) {
        let model = double.model(api)?;
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        runtime.block_on(turns(&model))?;
        let bytes = MEMORY.peak_usage().saturating_sub(before);
        let client = client()?;
        let (ours, other) = alternate(
            PAIRS,
            || runtime.block_on(turns(&model)),
            || runtime.block_on(bare(&client, &double.endpoint(api)?, api)),
        )?;
        let ratio = ours.as_secs_f64() / other.as_secs_f64();
        let target = Target::at_most(ratio, MAX_RATIO);
        table.row(word, &millis(ours), &millis(other), ratio, Some(&target));
        #[expect(clippy::cast_precision_loss, reason = "only two digits are printed")]
        let megabytes = bytes as f64 / 1e6;
        let target = Target::at_most(megabytes, MAX_MEGABYTES);
        let used = format!("{megabytes:.2} MB");
        table.row(
            &format!("{word}, memory at its peak"),
            &used,
            "",
            megabytes,
            Some(&target),
        );
    }
    Ok(())
}

fn request() -> Request {
    let text = "Say it.".to_owned();
    Request {
        messages: vec![Message::User { text }],
        ..Request::default()
    }
}

async fn turns(model: &HttpModel) -> Result<Duration, String> {
    let begun = Instant::now();
    for _ in 0..sized(TURNS) {
        let turn = Turn::collect(model.answer(request())).await;
        let turn = turn.map_err(|error| error.to_string())?;
        let words = turn.text.split_whitespace().count();
        if words != WORDS {
            return Err(format!("{words} words came"));
        }
    }
    Ok(begun.elapsed())
}

fn client() -> Result<reqwest::Client, String> {
    let client = reqwest::Client::builder().no_proxy().build();
    client.map_err(|error| error.to_string())
}

/// Sends the same requests, and reads the answers without parsing them.
async fn bare(client: &reqwest::Client, endpoint: &Url, api: ModelApi) -> Result<Duration, String> {
    let begun = Instant::now();
    let addressee = Addressee {
        model: "bench",
        endpoint,
    };
    for _ in 0..sized(TURNS) {
        let body = wire::body(api, addressee, &request()).to_string();
        let sent = client.post(endpoint.clone()).body(body).send().await;
        let mut response = sent.map_err(|error| error.to_string())?;
        let mut bytes = 0;
        while let Some(piece) = response.chunk().await.map_err(|error| error.to_string())? {
            bytes += piece.len();
        }
        if bytes < WORDS {
            return Err(format!("{bytes} bytes came"));
        }
    }
    Ok(begun.elapsed())
}
