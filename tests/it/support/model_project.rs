//! A project with one app, a mock of that app, and a scripted model, each as a separate process.

use serde_json::Value as Json;
use tempfile::TempDir;

use super::{Mock, Program, folder, planrun};

/// A project whose app is `desk`, which has its address in `DESK_URL`.
pub struct ModelProject {
    pub folder: TempDir,
    pub desk: Mock,
    pub model: Mock,
}

impl ModelProject {
    /// Takes the app file, the turns of the model as a YAML list, and further files.
    pub fn new(app: &str, turns: &str, files: &[(&str, &str)]) -> Self {
        let script = format!("turns:\n{turns}");
        let own = [
            ("planrun.yaml", "env: [DESK_URL]\napps: [apps/desk.yaml]\n"),
            ("apps/desk.yaml", app),
            ("script.yaml", &*script),
        ];
        let folder = folder(own.iter().chain(files).copied());
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        let desk = Mock::of(["--apps", &path("apps")]);
        let model = Mock::of(["model", "--script", &path("script.yaml")]);
        Self {
            folder,
            desk,
            model,
        }
    }

    /// Returns a command in this project, with its app and its model.
    pub fn program(&self, arguments: &[&str]) -> Program {
        let program = planrun(arguments)
            .within(self.folder.path())
            .variable("OPENAI_BASE_URL", self.model.address())
            .variable("OPENAI_MODEL", "tiny")
            .variable("OPENAI_API_KEY", "sk-hunter2-is-secret");
        self.desk.answering(program, &["desk"])
    }

    /// Returns the bodies of the requests to the model.
    pub fn requests(&self) -> Vec<Json> {
        let log = self.model.log().into_iter();
        log.map(|line| line["body"].clone()).collect()
    }
}

/// Returns the text of the last message of a request.
pub fn last_words(request: &Json) -> &str {
    let messages = request["messages"].as_array().unwrap();
    messages.last().unwrap()["content"].as_str().unwrap()
}
