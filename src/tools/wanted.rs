//! What a call of a built-in tool needs to be allowed, from its arguments and before it is made.

use std::path::Path;

use planrun_lang::permission::{Permissions, reached_file};
use planrun_lang::types::Signature;
use planrun_lang::value::Value;
use reqwest::Url;

use super::CallError;
use crate::host::Host;

/// What a call reaches for.
pub struct Wanted {
    /// The setting of `allow` that speaks of it.
    pub setting: &'static str,
    /// As the call names it.
    pub thing: String,
    goal: Goal,
}

enum Goal {
    Net(Url),
    Read(std::path::PathBuf),
    Write(std::path::PathBuf),
    Run,
}

impl Wanted {
    /// Whether it is allowed.
    #[must_use]
    pub fn granted(&self, permissions: &Permissions) -> bool {
        self.check(permissions).is_ok()
    }

    /// Passes where it is allowed.
    ///
    /// # Errors
    /// What the call ends with where it is not.
    pub fn check(&self, permissions: &Permissions) -> Result<(), CallError> {
        Ok(match &self.goal {
            Goal::Net(url) => permissions.net(url),
            Goal::Read(path) => permissions.read(path, &self.thing),
            Goal::Write(path) => permissions.write(path, &self.thing),
            Goal::Run => permissions.run(&self.thing),
        }?)
    }
}

/// What a call reaches for, where its arguments tell. Apps are called where their files say, whatever a plan allows.
#[must_use]
pub fn wanted_permission(
    signature: &Signature,
    arguments: &Value,
    (host, root): (&dyn Host, &Path),
) -> Option<Wanted> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let file = |writes: bool| text("path").and_then(|path| reached_file(host, root, path, writes));
    let (setting, thing, goal) = match (&*signature.namespace, &*signature.name) {
        ("http", "fetch") => {
            let url = Url::parse(text("url")?).ok()?;
            ("net", super::http::shown(&url), Goal::Net(url))
        }
        ("fs", "write") => ("write", text("path")?.to_owned(), Goal::Write(file(true)?)),
        ("fs", _) => ("read", text("path")?.to_owned(), Goal::Read(file(false)?)),
        ("proc", "run") => {
            let argv = arguments.get("argv").and_then(Value::as_list)?;
            ("run", argv.first()?.as_str()?.to_owned(), Goal::Run)
        }
        _ => return None,
    };
    Some(Wanted {
        setting,
        thing,
        goal,
    })
}
