//! `OpenAPI` documents that `planrun.yaml` names: the address of their operations and the credentials.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::diag::codes::contracts::CONFIG_VARIABLE;
use planrun_lang::diag::render::command;
use planrun_lang::diag::{Diagnostic, nearest};
use planrun_lang::secrets::credentials_in_address;
use planrun_lang::source::SourceFile;
use planrun_lang::types::Effect;

use super::display_path;
use super::servers::{ServerReader, address};
use crate::tools::app::Findings;
use crate::tools::app::section::Section;
use crate::tools::app::variables::variable_name;
use crate::tools::http::displayed;
use crate::tools::openapi::{Access, Api, KeyScheme, MAX_DOCUMENT_BYTES, Operation, read_api};
use planrun_lang::yaml::Node;

/// The operations of a document with their address and credentials.
#[derive(Clone)]
pub struct ApiSettings {
    pub api: Api,
    /// The address in `planrun.yaml`. It takes precedence over those of the document.
    pub server: Option<Arc<str>>,
    pub access: Arc<Access>,
    /// An environment variable of `auth` that is not set.
    pub unset: Option<Arc<str>>,
    /// Values that are sent to the server and must be redacted in its answers.
    pub secrets: Vec<String>,
}

impl std::fmt::Debug for ApiSettings {
    /// Leaves out the secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiSettings")
            .field("api", &self.api)
            .field("server", &self.server.as_deref().map(displayed))
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}

impl ApiSettings {
    /// Returns the address that the path of an operation is appended to.
    pub fn base(&self, operation: &Operation) -> Option<Arc<str>> {
        let own = || operation.server.clone().or_else(|| self.api.server.clone());
        self.server.clone().or_else(own)
    }
}

/// Reads the credentials of one entry, and collects what must be redacted.
struct AuthReader<'a> {
    reader: &'a ServerReader<'a>,
    secrets: Vec<String>,
    unset: Option<Arc<str>>,
}

impl ServerReader<'_> {
    /// Reads the document of one entry of `tools`. Diagnostics in the document are returned separately from those in
    /// `planrun.yaml`.
    pub(super) fn api(
        &self,
        (name, section): (&str, &Section),
        node: &Node,
        classes: &BTreeMap<String, Effect>,
        documents: &mut Vec<Findings>,
    ) -> Option<ApiSettings> {
        let mut secrets = self.secrets(node);
        let place = section.get("openapi")?;
        let path = section.required("openapi")?;
        let source = self.document(&path, place)?;
        let (api, diagnostics) = read_api(&source, &name.into(), classes);
        if !diagnostics.is_empty() {
            documents.push(Findings {
                source,
                diagnostics,
            });
        }
        let api = api?;
        unknown_classes(section, &api);
        let server: Option<Arc<str>> = match section.get("server") {
            Some(_) => Some(address(section, "server")?.into()),
            None => None,
        };
        if server.is_none()
            && api.operations.iter().any(|one| one.server.is_none())
            && api.server.is_none()
        {
            let message = format!(
                "the address of {name} is unknown: `{path}` has no `servers` with a full URL"
            );
            let help = "add `server: \"https://…\"` next to `openapi`";
            self.found.explain(place.span, message, help);
        }
        let servers = api.operations.iter().filter_map(|one| one.server.as_ref());
        let servers = servers.chain(&api.server).chain(&server);
        secrets.extend(servers.flat_map(|server| credentials_in_address(server)));
        let mut auth = AuthReader {
            reader: self,
            secrets,
            unset: None,
        };
        let granted = auth.read(section, &api.key_schemes);
        Some(ApiSettings {
            api,
            server,
            access: Arc::new(granted),
            unset: auth.unset,
            secrets: auth.secrets,
        })
    }

    fn document(&self, path: &str, place: &Node) -> Option<Arc<SourceFile>> {
        if path.contains("://") {
            let message = "`openapi` must be a file of the project, which pins the document";
            let help = "download the document, commit it, and name that file";
            self.found.explain(place.span, message, help);
            return None;
        }
        let file = self.root.join(path);
        match self.host.read_bounded(&file, MAX_DOCUMENT_BYTES) {
            Ok(text) => Some(Arc::new(SourceFile::new(display_path(&file), text))),
            Err(problem) => {
                let message = format!("the document `{path}` cannot be read: {problem}");
                self.found.add(place.span, message);
                None
            }
        }
    }
}

impl AuthReader<'_> {
    /// Reads `auth: { bearer: VARIABLE }`, `{ basic: { user: VARIABLE, password: VARIABLE } }`, `{ key: VARIABLE }` or
    /// `{ key: { SCHEME: VARIABLE } }`.
    fn read(&mut self, section: &Section, schemes: &[KeyScheme]) -> Access {
        let mut access = Access::default();
        let Some(auth) = section.inner("auth", &["bearer", "basic", "key"]) else {
            return access;
        };
        if let (Some(_), Some(basic)) = (auth.get("bearer"), auth.get("basic")) {
            let message = "`bearer` and `basic` of `auth` set the same header";
            section
                .found
                .explain(basic.span, message, "remove one of them");
            return access;
        }
        if let Some(token) = auth.get("bearer").and_then(|node| self.variable(node)) {
            access.bearer(&token);
        }
        if let Some(basic) = auth.inner("basic", &["user", "password"]) {
            let mut part = |name: &str| {
                basic.required(name)?;
                self.variable(basic.get(name)?)
            };
            if let (Some(user), Some(password)) = (part("user"), part("password")) {
                self.secrets.push(access.basic(&user, &password));
            }
        }
        if let Some(key) = auth.get("key") {
            self.keys(key, schemes, &mut access);
        }
        access
    }

    fn keys(&mut self, node: &Node, schemes: &[KeyScheme], access: &mut Access) {
        let names = || schemes.iter().map(|one| one.scheme.as_str());
        let Some(entries) = node.entries() else {
            let [scheme] = schemes else {
                let message = match schemes {
                    [] => "the document has no security scheme of the type `apiKey`".to_owned(),
                    _ => format!(
                        "the document has {} security schemes of the type `apiKey`",
                        schemes.len()
                    ),
                };
                let help = if schemes.is_empty() {
                    "use `bearer` or `basic`, whichever the server requires".to_owned()
                } else {
                    let listed: Vec<&str> = names().collect();
                    format!(
                        "name one, as in `key: {{ {}: VARIABLE }}`; available: {}",
                        listed.first().unwrap_or(&""),
                        listed.join(", ")
                    )
                };
                self.reader.found.explain(node.span, message, help);
                return;
            };
            if let Some(value) = self.variable(node) {
                access.key(scheme, &value);
            }
            return;
        };
        for entry in entries {
            let Some(scheme) = schemes.iter().find(|one| one.scheme == entry.name) else {
                let name = &entry.name;
                let message =
                    format!("the document has no security scheme `{name}` of the type `apiKey`");
                let found = self.reader.found;
                let finding = found.at(entry.span, message).available(names());
                found.push(match nearest(name, names()) {
                    Some(near) => finding.did_you_mean(near, entry.span, near.name),
                    None => finding,
                });
                continue;
            };
            if let Some(value) = self.variable(&entry.value) {
                access.key(scheme, &value);
            }
        }
    }

    /// Returns the value of the environment variable that a node names.
    fn variable(&mut self, node: &Node) -> Option<String> {
        let ServerReader { host, found, .. } = self.reader;
        let name = variable_name(node, self.reader.variables, found)?;
        let value = host.variable(&name).filter(|value| !value.is_empty());
        if let Some(value) = &value {
            self.secrets.push(value.clone());
        } else {
            let message = format!("the environment variable {name} is not set");
            let help = format!(
                "set {name} where plans run; otherwise no run that calls these tools begins"
            );
            found.push(Diagnostic::new(&CONFIG_VARIABLE, node.span, message).help(help));
            self.unset.get_or_insert(name.into());
        }
        value
    }
}

/// Reports `classes` for operations that the document does not have.
fn unknown_classes(section: &Section, api: &Api) {
    let names = || api.operations.iter().map(|one| &*one.signature.name);
    let classes = section.get("classes").and_then(Node::entries);
    for entry in classes.unwrap_or_default() {
        if names().any(|name| *name == *entry.name) {
            continue;
        }
        let message = format!("{} has no tool `{}`", api.name, entry.name);
        let finding = section.found.at(entry.span, message);
        let otherwise = format!("`{}` lists its tools", command("tools list"));
        section
            .found
            .push(finding.suggest(&entry.name, names(), otherwise));
    }
}
