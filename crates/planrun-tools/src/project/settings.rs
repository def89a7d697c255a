//! Reads `planrun.yaml`.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use planrun_lang::diag::codes::contracts::{CONFIG_KEY, NOT_YET};
use planrun_lang::diag::render::Language;
use planrun_lang::diag::{Diagnostic, codes};
use planrun_lang::permission::Grant;
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::syntax::settings::{ALLOW, POLICY, RETRY, Settings as Table, Takes};
use serde_json::{Map, Value as Json};

use super::Fault;
use super::agent_types::{AgentTypes, agent_types};
use super::models::{ModelList, models};
use super::servers::{Listed, ServerReader};
use crate::host::Host;
use crate::tools::app::section::{Mistakes, Section};
use crate::tools::app::variables;
use planrun_lang::yaml::{self, Content, Entry, Node};

/// The keys of the file.
const KEYS: [&str; 16] = [
    "apps",
    "tools",
    "mcp",
    "env",
    "allow",
    "policy",
    "retry",
    "confirm",
    "check",
    "language",
    "limits",
    "models",
    "agents",
    "tool_sets",
    "journal",
    "engine",
];
/// Reserved keys that have no effect yet.
const RESERVED_KEYS: [&str; 2] = ["journal", "engine"];
/// The keys of `limits`.
const LIMITS: [&str; 4] = ["calls", "time", "memory", "cost"];

/// All settings of the file except the sources of tools.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The permissions that no plan of the project may exceed; `None` if each plan's own `allow` decides.
    pub allow: Option<Grant>,
    /// Defaults for a plan's `policy`, by its keys: text for keywords and durations.
    pub policy: Map<String, Json>,
    /// The limits of every run, by the keys of a plan's `budget`.
    pub limits: Map<String, Json>,
    /// Retry settings for calls in steps that define none, by `namespace.tool` or `namespace.*`.
    pub retry: Vec<(String, Map<String, Json>)>,
    /// The tools whose calls each need approval, as `namespace.tool` or `namespace.*`.
    pub confirm: Vec<String>,
    pub check: CheckSettings,
    /// The models that the file defines.
    pub models: ModelList,
    pub agents: Arc<AgentTypes>,
    /// The language of observations, summaries and questions.
    pub language: Option<Language>,
}

/// The severities of diagnostics in this project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckSettings {
    /// Codes that are errors; `warnings` stands for all warnings.
    pub deny: Vec<String>,
    /// Codes that are not reported.
    pub allow: Vec<String>,
    /// Codes that are reported only on request, and are requested here.
    pub enable: Vec<String>,
}

/// The content of the file.
#[derive(Default)]
pub(super) struct Read {
    pub settings: Settings,
    /// The paths of app files, if the file lists them.
    pub apps: Option<Vec<(String, Span)>>,
    /// The servers that the file defines itself.
    pub listed: Listed,
    /// The files of other programs that define more servers.
    pub server_files: Vec<(String, Span)>,
    /// The environment variables that configuration may read.
    pub variables: BTreeSet<String>,
}

/// Reads the file. Unknown keys are reported as diagnostics; a file that cannot be used is an error.
pub(super) fn read(
    source: &SourceFile,
    (host, root): (&dyn Host, &Path),
    found: &Mistakes,
) -> Result<Read, Fault> {
    let mut node = yaml::parse(source.text()).map_err(|problem| {
        let message = format!("this is not valid YAML: {}", problem.message);
        Fault::new(problem.span, message)
    })?;
    if node.content == Content::Null {
        return Ok(Read::default());
    }
    let filled = variables::fill_in(&mut node, host, |_, _| None, found);
    let section = section("planrun.yaml", &node, &KEYS, found)?;
    warn_reserved_keys(&node, found);
    let part = |name: &str| section.get(name);
    let apps = texts(&section, "apps")?;
    let allow = part("allow").map(|node| allow(node, found)).transpose()?;
    let policy = part("policy").map(|node| policy(node, found));
    let policy = policy.transpose()?.unwrap_or_default();
    let limits = part("limits").map(|node| limits(node, found));
    let limits = limits.transpose()?.unwrap_or_default();
    let retry = part("retry").map(|node| retry(node, found));
    let retry = retry.transpose()?.unwrap_or_default();
    let confirm = plain_texts(&section, "confirm")?;
    let check = part("check").map(|node| check(node, found));
    let check = check.transpose()?.unwrap_or_default();
    let language = part("language").and_then(|node| language(node, found));
    let server_files = texts(&section, "mcp")?.unwrap_or_default();
    let variables = BTreeSet::from_iter(plain_texts(&section, "env")?);
    let reader = ServerReader {
        host,
        root,
        variables: &variables,
        filled: &filled,
        found,
    };
    let models = part("models").map(|node| models(node, (&variables, &filled), found));
    let models = models.unwrap_or_default();
    let agents = agent_types((part("agents"), part("tool_sets")), &models, found);
    let listed = part("tools").map(|node| reader.listed(node));
    Ok(Read {
        settings: Settings {
            allow,
            policy,
            limits,
            retry,
            confirm,
            check,
            models,
            agents: Arc::new(agents),
            language,
        },
        apps,
        listed: listed.unwrap_or_default(),
        server_files,
        variables,
    })
}

/// Warns about reserved keys.
fn warn_reserved_keys(node: &Node, found: &Mistakes) {
    let entries = node.entries().unwrap_or_default().iter();
    for entry in entries.filter(|entry| RESERVED_KEYS.contains(&&*entry.name)) {
        let message = format!("`{}` in planrun.yaml is not supported yet", entry.name);
        let finding = Diagnostic::new(&NOT_YET, entry.span, message);
        found.push(finding.help("remove it for now: it has no effect"));
    }
}

/// Reads a mapping with known keys.
fn section<'a>(
    what: &str,
    node: &'a Node,
    keys: &[&str],
    found: &'a Mistakes,
) -> Result<Section<'a>, Fault> {
    let fault = || {
        Fault::new(
            node.span,
            format!("{what} must be a mapping, but is {}", node.kind()),
        )
    };
    node.entries().ok_or_else(fault)?;
    let section = Section::new(what, node, found).ok_or_else(fault)?;
    section.expect_keys(keys);
    Ok(section)
}

/// Reads the list of texts, or the single text, under a key.
fn texts(section: &Section, name: &str) -> Result<Option<Vec<(String, Span)>>, Fault> {
    let text = |node: &Node| Some((node.scalar()?, node.span));
    let wrong = |node: &Node| {
        let kind = node.kind();
        Fault::new(
            node.span,
            format!("`{name}` must be a list of strings, but this is {kind}"),
        )
    };
    let Some(node) = section.get(name) else {
        return Ok(None);
    };
    if let Some(one) = text(node) {
        return Ok(Some(vec![one]));
    }
    let items = node.items().ok_or_else(|| wrong(node))?.iter();
    let read = items.map(|item| text(item).ok_or_else(|| wrong(item)));
    read.collect::<Result<_, _>>().map(Some)
}

/// Reads a list like [`texts`], without its spans; empty if the key is missing.
fn plain_texts(section: &Section, name: &str) -> Result<Vec<String>, Fault> {
    let texts = texts(section, name)?.into_iter().flatten();
    Ok(texts.map(|(text, _)| text).collect())
}

fn allow(node: &Node, found: &Mistakes) -> Result<Grant, Fault> {
    let section = settings_section("`allow`", node, &ALLOW, found)?;
    let list = |name: &str| plain_texts(&section, name);
    Ok(Grant {
        net: list("net")?,
        read: list("read")?,
        write: list("write")?,
        run: list("run")?,
        env: list("env")?,
        tools: section.get("tools").map(|_| list("tools")).transpose()?,
        agents: section.get("agents").map(|_| list("agents")).transpose()?,
    })
}

fn policy(node: &Node, found: &Mistakes) -> Result<Map<String, Json>, Fault> {
    settings_section("`policy`", node, &POLICY, found)?;
    Ok(known_settings(node, &POLICY))
}

/// Reads `limits: { calls: 500, time: 1h, memory: 512MiB, cost: 5 }`.
fn limits(node: &Node, found: &Mistakes) -> Result<Map<String, Json>, Fault> {
    let section = section("`limits`", node, &LIMITS, found)?;
    let limit = |name: &str| Some((name.to_owned(), section.get(name)?.to_json()));
    Ok(LIMITS.into_iter().filter_map(limit).collect())
}

/// Reads a mapping of settings, including nested mappings.
fn settings_section<'a>(
    what: &str,
    node: &'a Node,
    table: &Table,
    found: &'a Mistakes,
) -> Result<Section<'a>, Fault> {
    let names: Vec<&str> = table.names().collect();
    let whole = section(what, node, &names, found)?;
    for setting in table.all {
        if let (Takes::Settings(inner), Some(node)) = (setting.takes, whole.get(setting.name)) {
            settings_section(&format!("`{}`", setting.name), node, inner, found)?;
        }
    }
    Ok(whole)
}

/// Returns the known settings of a mapping. Unknown keys have been reported and are left out.
fn known_settings(node: &Node, table: &Table) -> Map<String, Json> {
    let Json::Object(mut settings) = node.to_json() else {
        return Map::new();
    };
    retain_known(&mut settings, table);
    settings
}

fn retain_known(settings: &mut Map<String, Json>, table: &Table) {
    settings.retain(|key, _| table.find(key).is_some());
    for setting in table.all {
        if let (Takes::Settings(inner), Some(Json::Object(held))) =
            (setting.takes, settings.get_mut(setting.name))
        {
            retain_known(held, inner);
        }
    }
}

/// Reads `retry: { access.*: { attempts: 3, on: [transient, tool.failed] } }`.
#[expect(clippy::type_complexity, reason = "a list of pairs")]
fn retry(node: &Node, found: &Mistakes) -> Result<Vec<(String, Map<String, Json>)>, Fault> {
    let entries = node.entries().ok_or_else(|| {
        let kind = node.kind();
        let message = format!("`retry` must be a mapping from tools to settings, but is {kind}");
        Fault::new(node.span, message)
    })?;
    let one = |entry: &Entry| {
        let what = format!("`retry` of {}", entry.name);
        settings_section(&what, &entry.value, &RETRY, found)?;
        Ok((entry.name.clone(), known_settings(&entry.value, &RETRY)))
    };
    entries.iter().map(one).collect()
}

/// Reads `language: zh`.
fn language(node: &Node, found: &Mistakes) -> Option<Language> {
    let written = node.scalar().unwrap_or_else(|| node.kind().to_owned());
    let language = Language::find(&written);
    if language.is_none() {
        let words = Language::WORDS.map(|(word, _)| word);
        let message = format!(
            "`language` must be one of {}, but is `{written}`",
            words.map(|word| format!("`{word}`")).join(", ")
        );
        let otherwise = "set the language of observations, summaries and questions; diagnostics and plans are not translated";
        found.push(
            found
                .at(node.span, message)
                .suggest(&written, words, otherwise),
        );
    }
    language
}

fn check(node: &Node, found: &Mistakes) -> Result<CheckSettings, Fault> {
    let section = section("`check`", node, &["deny", "allow", "enable"], found)?;
    let codes = |name: &str, extra: Option<&'static str>| {
        let mut listed = texts(&section, name)?.unwrap_or_default();
        listed.retain(|(code, span)| {
            let known = extra == Some(code) || codes::find(code).is_some();
            if !known {
                found.push(unknown_code(name, code, *span, extra));
            }
            known
        });
        Ok(listed.into_iter().map(|(code, _)| code).collect())
    };
    Ok(CheckSettings {
        deny: codes("deny", Some("warnings"))?,
        allow: codes("allow", None)?,
        enable: codes("enable", None)?,
    })
}

fn unknown_code(list: &str, written: &str, span: Span, extra: Option<&'static str>) -> Diagnostic {
    let message =
        format!("`check.{list}` lists `{written}`, which is not the code of a diagnostic");
    let finding = Diagnostic::new(&CONFIG_KEY, span, message);
    let names = codes::all().map(|code| code.name).chain(extra);
    finding.suggest(written, names, "`planrun explain` lists all codes")
}

#[cfg(test)]
mod tests {
    use super::super::{Project, ProjectError};
    use crate::host::MemoryHost;
    use std::path::Path;

    fn load(text: &str) -> Result<(Project, Vec<String>), ProjectError> {
        let host = MemoryHost::default()
            .with_file("/p/planrun.yaml", text)
            .with_file("/p/plans/a.plan", "")
            .with_file("/p/apps/hr.yaml", "name: hr\n")
            .with_file("/p/more/it.yaml", "name: it\n");
        let (project, findings) = Project::load(&host, Some(Path::new("/p/plans/a.plan")), None)?;
        let found = findings.iter().flat_map(|one| {
            one.diagnostics.iter().map(|finding| {
                let fix = finding.fix.as_ref().map_or("", |fix| &fix.edits[0].text);
                format!(
                    "{} {} `{}` {}",
                    finding.code.name,
                    one.source.name(),
                    one.source.slice(finding.span),
                    fix
                )
            })
        });
        Ok((project, found.collect()))
    }

    fn apps(project: &Project) -> Vec<&str> {
        project.apps.iter().map(|app| &*app.name).collect()
    }

    #[test]
    fn apps_are_beside_the_file_unless_it_says_where() {
        assert_eq!(apps(&load("").unwrap().0), ["hr"]);
        assert_eq!(apps(&load("apps: []").unwrap().0), [""; 0]);
        assert_eq!(
            apps(&load("apps: [more/*.yaml, apps]").unwrap().0),
            ["hr", "it"]
        );
        let missing = load("allow: {}\napps:\n  - apps/it.yaml\n").unwrap_err();
        assert_eq!(
            missing.0,
            "/p/planrun.yaml:3:5: there is no app file or folder `apps/it.yaml`"
        );
    }

    #[test]
    fn keys_that_mean_nothing_are_found() {
        let text = "aps: [x]\nallow: { nett: [\"*\"], run: git }\npolicy: { retry: { atempts: 3 }, timeout: 30s }\nx-own: 1\nengine: local\n";
        let (project, found) = load(text).unwrap();
        let expected = [
            "config-key /p/planrun.yaml `aps` apps",
            "config-key /p/planrun.yaml `nett` net",
            "config-key /p/planrun.yaml `atempts` attempts",
            "not-yet /p/planrun.yaml `engine` ",
        ];
        assert_eq!(found, expected);
        assert_eq!(project.settings.allow.unwrap().run, ["git"]);
        assert_eq!(project.settings.policy["timeout"], "30s");
    }

    #[test]
    fn what_cannot_be_used_is_one_sentence() {
        let error = |text: &str| load(text).unwrap_err().0;
        assert_eq!(
            error("apps: [a"),
            "/p/planrun.yaml:1:7: this is not valid YAML: unclosed bracket '['"
        );
        assert_eq!(
            error("- a"),
            "/p/planrun.yaml:1:1: planrun.yaml must be a mapping, but is a list"
        );
        assert_eq!(
            error("allow: { net: { a: 1 } }"),
            "/p/planrun.yaml:1:15: `net` must be a list of strings, but this is a mapping"
        );
    }

    #[test]
    fn f17_limits_are_read() {
        let (project, found) =
            load("limits: { calls: 500, time: 1h, memory: 512MiB, cost: 5, tokenz: 1 }").unwrap();
        assert_eq!(found, ["config-key /p/planrun.yaml `tokenz` "]);
        let limits = serde_json::Value::Object(project.settings.limits);
        let expected =
            serde_json::json!({"calls": 500, "time": "1h", "memory": "512MiB", "cost": 5});
        assert_eq!(limits, expected);
    }

    #[test]
    fn retries_are_by_tool() {
        let (project, found) = load("retry: { hr.*: { on: [tool.failed], atempts: 3 } }").unwrap();
        assert_eq!(found, ["config-key /p/planrun.yaml `atempts` attempts"]);
        let (tool, settings) = &project.settings.retry[0];
        assert_eq!(
            (&**tool, &settings["on"][0]),
            ("hr.*", &"tool.failed".into())
        );
        let fault = load("retry: [hr]").unwrap_err();
        assert_eq!(
            fault.0,
            "/p/planrun.yaml:1:8: `retry` must be a mapping from tools to settings, but is a list"
        );
    }

    #[test]
    fn codes_that_do_not_exist_are_found_and_the_others_hold() {
        let (project, found) =
            load("check: { deny: [app-invalld, warnings], allow: [unused-let, warnings] }")
                .unwrap();
        let expected = [
            "config-key /p/planrun.yaml `app-invalld` app-invalid",
            "config-key /p/planrun.yaml `warnings` ",
        ];
        assert_eq!(found, expected);
        assert_eq!(project.settings.check.deny, ["warnings"]);
        assert_eq!(project.settings.check.allow, ["unused-let"]);
    }
}
