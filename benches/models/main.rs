//! What a model's client adds to streaming turns, beside a bare client that reads the same bytes, and the memory that it takes.
//!
//! `cargo bench --bench models` prints the table of `docs/performance.md`. The double is a process of its own.

#[path = "../report/mod.rs"]
#[expect(dead_code, reason = "cold starts are measured by the others")]
mod report;

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use peak_alloc::PeakAlloc;
use planrun_models::client::HttpModel;
use planrun_models::model::{Message, Model as _, Request, Turn};
use planrun_models::wire::{self, Addressee};
use planrun_tools::host::RealHost;
use planrun_tools::project::{ModelApi, ModelSettings};
use planrun_tools::tools::ProjectLimit;
use reqwest::Url;
use tokio::runtime::Runtime;

use report::{Parts, Table, Target, alternate, cold_start, millis, sized};

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
    let double = Double::start()?;
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

/// A double that says the same in each turn.
struct Double {
    process: Child,
    address: String,
}

impl Double {
    fn start() -> Result<Self, String> {
        let folder = cold_start::folder()?;
        let text: String = (0..WORDS).fold(String::new(), |mut text, word| {
            // Writing to a string cannot fail.
            let _ = write!(text, "word-{word} ");
            text
        });
        let script = format!("turns: [{{ text: '{text}', repeat: forever }}]\n");
        let script = cold_start::write(&folder, "turns.yaml", &script)?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_planrun"));
        command.args(["mock", "model", "--bind", "127.0.0.1:0", "--script"]);
        let started = command
            .arg(script)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut process = started.map_err(|error| error.to_string())?;
        let output = process.stdout.take().ok_or("the double says nothing")?;
        let mut address = String::new();
        let read = BufReader::new(output).read_line(&mut address);
        read.map_err(|error| error.to_string())?;
        let address = address.trim().to_owned();
        Ok(Self { process, address })
    }

    fn base(&self) -> Result<Url, String> {
        Url::parse(&self.address).map_err(|error| error.to_string())
    }

    fn endpoint(&self, api: ModelApi) -> Result<Url, String> {
        Ok(wire::endpoint(api, &self.base()?))
    }

    fn model(&self, api: ModelApi) -> Result<HttpModel, String> {
        let settings = ModelSettings {
            name: "bench".into(),
            api,
            base_url: self.base()?,
            model: "bench".to_owned(),
            key: None,
            temperature: None,
            max_tokens: None,
            timeout: None,
            first_token: None,
            between_tokens: None,
            retries: Some(0),
            price: None,
        };
        let limit = ProjectLimit::default();
        let model = HttpModel::new(settings, None, Arc::new(RealHost), &limit);
        model.map_err(|error| error.to_string())
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        // One that has ended already is ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
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
