//! What a model's client adds to streaming turns, beside a bare client that reads the same bytes, and the memory that it takes;
//! how soon a plan begins that a model has written, and what is gained where its reads begin while it is written.
//!
//! `cargo bench --bench models` prints the table of `docs/performance.md`. The double is a process of its own.

#[path = "../report/mod.rs"]
#[expect(dead_code, reason = "cold starts are measured by the others")]
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

/// Turns of one round, rounds, and words of a turn: each word is an event of its stream.
const TURNS: usize = 50;
const PAIRS: usize = 9;
const WORDS: usize = 400;

/// What is asked for.
const MAX_RATIO: f64 = 5.0;
const MAX_MEGABYTES: f64 = 20.0;

/// The shapes, by the words of `planrun.yaml`.
const SHAPES: [(&str, ModelApi); 3] = [
    ("chat", ModelApi::Chat),
    ("responses", ModelApi::Responses),
    ("messages", ModelApi::Messages),
];

fn main() -> ExitCode {
    report::run(measure)
}

fn measure(parts: &Parts, table: &mut Table) -> Result<(), String> {
    if parts.wants("writing") {
        writing::measure(table)?;
    }
    if !SHAPES.iter().any(|(word, _)| parts.wants(word)) {
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
    for (word, api) in SHAPES.into_iter().filter(|(word, _)| parts.wants(word)) {
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
        #[expect(clippy::cast_precision_loss, reason = "a figure of two digits")]
        let megabytes = bytes as f64 / 1e6;
        let target = Target::at_most(megabytes, MAX_MEGABYTES);
        let told = format!("{megabytes:.2} MB");
        table.row(
            &format!("{word}, memory at its peak"),
            &told,
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

/// The same requests, whose answers are read and not looked at.
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
