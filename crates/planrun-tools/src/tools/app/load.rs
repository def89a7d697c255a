//! Reads app files, each by itself, so that an invalid one does not affect the others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::diag::codes::contracts::{AMBIGUOUS_TOOL, APP_INVALID, CONFIG_VARIABLE};
use planrun_lang::diag::{Diagnostic, Severity, nearest};
use planrun_lang::source::{MAX_FILE_BYTES, SourceFile, Span};

use super::section::{Mistakes, Section};
use super::tool::{self, Shared};
use super::variables::{self, Variable, not_listed, unset_in};
use super::{App, AppTool, access};
use crate::host::Host;
use crate::tools::BUILT_IN;
use planrun_lang::yaml::{self, Content};

const KEYS: [&str; 5] = ["name", "display_name", "system_context", "headers", "tools"];
/// The file extensions of app files.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// The diagnostics of one file.
#[derive(Clone, Debug)]
pub struct Findings {
    pub source: Arc<SourceFile>,
    pub diagnostics: Vec<Diagnostic>,
}

/// The apps, and the diagnostics from reading them.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    pub apps: Vec<App>,
    /// In the order of the files; files without diagnostics are left out.
    pub findings: Vec<Findings>,
}

/// Reads app files in this order. They may read these environment variables. A file that is not an app is left out with
/// a warning.
pub fn load_apps(host: &dyn Host, files: &[PathBuf], variables: &BTreeSet<String>) -> Loaded {
    let mut loaded = Loaded::default();
    let mut names: BTreeMap<Arc<str>, PathBuf> = BTreeMap::new();
    for path in files {
        let name = path.display().to_string().replace('\\', "/");
        let text = match host.read_file(path) {
            Ok(text) => Ok(text),
            Err(problem) if problem.kind() == std::io::ErrorKind::FileTooLarge => {
                Err(format!("it is larger than {MAX_FILE_BYTES} bytes"))
            }
            Err(problem) if problem.kind() == std::io::ErrorKind::InvalidData => {
                Err("it is not UTF-8 text".into())
            }
            Err(problem) => Err(problem.to_string()),
        };
        let (source, app, mut diagnostics) = match text {
            Ok(text) => {
                let source = SourceFile::new(name, text);
                let (app, diagnostics) = read_app(&source, host, variables);
                (source, app, diagnostics)
            }
            Err(problem) => {
                let unread = left_out(
                    Span::at(0),
                    format!("this app file cannot be read: {problem}"),
                );
                (SourceFile::new(name, ""), None, vec![unread])
            }
        };
        if let Some(app) = app {
            if let Some(first) = names.get(&app.name) {
                diagnostics.push(taken(&app, first));
            } else {
                names.insert(app.name.clone(), path.clone());
                loaded.apps.push(App {
                    file: path.clone(),
                    ..app
                });
            }
        }
        if !diagnostics.is_empty() {
            diagnostics.sort_by_key(|diagnostic| diagnostic.span);
            loaded.findings.push(Findings {
                source: Arc::new(source),
                diagnostics,
            });
        }
    }
    loaded
}

/// Returns the app files of a folder, sorted by name. Fails with any error of the file system.
pub fn app_files(host: &dyn Host, folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = host.list_folder(folder)?;
    files.retain(|file| is_app_file(file));
    Ok(files)
}

/// Returns true if a file's name is that of an app file.
pub fn is_app_file(file: &Path) -> bool {
    let hidden = file
        .file_name()
        .is_none_or(|name| name.to_string_lossy().starts_with('.'));
    let ending = file.extension().and_then(|ending| ending.to_str());
    !hidden && ending.is_some_and(|ending| EXTENSIONS.contains(&ending))
}

/// Reads one app file. Its headers and endpoints may read these environment variables.
pub fn read_app(
    source: &SourceFile,
    host: &dyn Host,
    variables: &BTreeSet<String>,
) -> (Option<App>, Vec<Diagnostic>) {
    let found = Mistakes::in_app();
    let app = app(source, host, variables, &found);
    (app, found.all())
}

fn app(
    source: &SourceFile,
    host: &dyn Host,
    variables: &BTreeSet<String>,
    found: &Mistakes,
) -> Option<App> {
    let skip = |span: Span, message: String| {
        found.push(left_out(span, message));
        None
    };
    let mut node = match yaml::parse(source.text()) {
        Ok(node) => node,
        Err(problem) => {
            let message = format!("this app file is not valid YAML: {}", problem.message);
            return skip(problem.span, message);
        }
    };
    if node.content == Content::Null {
        return skip(Span::at(0), "this app file is empty".into());
    }
    let filled = fill_in(&mut node, host, variables, found);
    let Some(entries) = node.entries() else {
        let message = format!("an app file must be a mapping, but this is {}", node.kind());
        return skip(node.span, message);
    };
    let section = Section::new("the app", &node, found)?;
    let name = section.get("name");
    let name = name.and_then(|name| Some((name.scalar()?, name.span)));
    let Some((name, span)) = name.filter(|(name, _)| !name.trim().is_empty()) else {
        found.push(missing_name(&section, entries));
        return None;
    };
    if BUILT_IN.contains(&name.as_str()) {
        let message = format!("`{name}` is a built-in namespace of planrun");
        found.explain(span, message, "rename the app");
        return None;
    }
    Some(read_named(&section, name.into(), &filled))
}

fn missing_name(section: &Section, entries: &[yaml::Entry]) -> Diagnostic {
    let near = |entry: &'_ yaml::Entry| nearest(&entry.name, ["name"]);
    let near = entries.iter().find_map(|entry| Some((entry, near(entry)?)));
    let span = near.map_or(section.span(), |(entry, _)| entry.span);
    let finding = left_out(span, "this app file has no `name`".into());
    let Some((entry, near)) = near else {
        return finding.help("add `name: …`, the namespace of its tools");
    };
    let help = format!(
        "its `{}` is ignored; write `name`, which is the namespace of its tools",
        entry.name
    );
    finding.did_you_mean(near, entry.span, near.name).help(help)
}

/// Fills in the variables of a file where they are allowed.
fn fill_in(
    node: &mut yaml::Node,
    host: &dyn Host,
    listed: &BTreeSet<String>,
    found: &Mistakes,
) -> Vec<Variable> {
    let places = access::places(node);
    let refusal = |name: &str, span: Span| {
        if !places.contains(&span) {
            return Some(misplaced(name, span));
        }
        let unlisted = host.variable(name).is_some() && !listed.contains(name);
        unlisted.then(|| not_listed(name, span))
    };
    variables::fill_in(node, host, refusal, found)
}

fn read_named(section: &Section, name: Arc<str>, filled: &[Variable]) -> App {
    section.expect_keys(&KEYS);
    let shared = Shared { namespace: &name };
    let mut tools: Vec<AppTool> = Vec::new();
    for node in section.list("tools") {
        let Some(tool) = tool::read(node, &shared, filled, section.found) else {
            continue;
        };
        if tools
            .iter()
            .any(|earlier| earlier.signature.name == tool.signature.name)
        {
            let span = node.get("name").map_or(node.span, |name| name.span);
            let message = format!("the tool {} is defined twice", tool.signature.path());
            let finding = Diagnostic::new(&AMBIGUOUS_TOOL, span, message);
            section
                .found
                .push(finding.help("only the first is used; rename the other"));
            continue;
        }
        tools.push(tool);
    }
    for tool in &tools {
        check_inverse(section, tool, &tools);
    }
    let display_name = section.text("display_name");
    let system_context = section.text("system_context");
    let headers = access::headers(section);
    let unset = section
        .get("headers")
        .and_then(|node| unset_in(node, filled));
    let credentials = access::credentials(section, filled);
    App {
        name,
        display_name: display_name.map(Into::into),
        system_context: system_context.map(Into::into),
        file: PathBuf::new(),
        tools,
        headers,
        unset,
        credentials,
    }
}

/// Reports an `inverse` in this file's namespace that does not name a tool of this file.
fn check_inverse(section: &Section, tool: &AppTool, tools: &[AppTool]) {
    let (own, inverse) = (&tool.signature.namespace, tool.signature.inverse.as_deref());
    let name = inverse.and_then(|inverse| inverse.strip_prefix(&**own)?.strip_prefix('.'));
    let Some(name) = name else { return };
    let names = || tools.iter().map(|tool| &*tool.signature.name);
    if names().any(|known| known == name) {
        return;
    }
    let nodes = section
        .get("tools")
        .and_then(yaml::Node::items)
        .unwrap_or_default();
    let node = nodes.iter().find(|node| {
        node.get("name").and_then(yaml::Node::scalar).as_deref() == Some(&*tool.signature.name)
    });
    let span = node
        .and_then(|node| node.get("inverse"))
        .map_or(section.span(), |node| node.span);
    let message = format!(
        "the inverse of {} is `{name}`, but this file has no such tool",
        tool.signature.path()
    );
    let finding = section.found.at(span, message).available(names());
    let otherwise = "name a tool of this file, or one of another file as `namespace.name`";
    section
        .found
        .push(finding.suggest(name, names(), otherwise));
}

/// Reports a file that is not used at all. Plans that need it report an error themselves, so this is only a warning.
fn left_out(span: Span, message: String) -> Diagnostic {
    let mut finding = Diagnostic::new(&APP_INVALID, span, message).note("this file is ignored");
    finding.severity = Severity::Warning;
    finding
}

/// Reports a variable in a place where its value would be displayed to models and people.
fn misplaced(name: &str, span: Span) -> Diagnostic {
    let message = format!(
        "{name} cannot be read here: variables are allowed only in `endpoint` and `headers`"
    );
    let help = format!("write the text itself, or `$${{{name}}}` for a literal `${{{name}}}`");
    let mut finding = Diagnostic::new(&CONFIG_VARIABLE, span, message).help(help);
    finding.severity = Severity::Error;
    finding
}

fn taken(app: &App, first: &Path) -> Diagnostic {
    let message = format!(
        "the app {} is already defined in {}",
        app.name,
        first.display()
    );
    Diagnostic::new(&AMBIGUOUS_TOOL, Span::at(0), message)
        .note("this file is ignored")
        .help("rename one of them")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::MemoryHost;
    use planrun_lang::types::{Effect, ErrorClass, Type};

    const HR: &str = r#"
name: hr
display_name: 人事
tools:
  - name: create_employee_profile
    description: Makes a profile.
    endpoint: ${MOCK_API_URL:http://127.0.0.1:8009}/tool
    parameters:
      type: object
      properties:
        id: { type: string, description: The number of the employee. }
        name: { type: string, minLength: 1 }
        level: { type: string, enum: [L1, L2], default: L1 }
      required: [id, name, level]
    returns: { type: object, properties: { emp_id: { type: string } }, required: [emp_id] }
    errors:
      - { reason: busy, class: transient.unavailable, happened: maybe }
      - { reason: taken, class: tool.taken, happened: no }
      - locked
    key: { argument: id, ttl: 48h }
    resource: "{id}"
    target: [name]
    sensitive: result.emp_id
    inverse: query
    open_world: true
    deprecated: use people.create
    mock: { emp_id: "{args.id}" }
  - name: query
    endpoint: http://127.0.0.1:8009/tool
    effect: read
"#;

    fn read(text: &str) -> (Option<App>, Vec<String>) {
        let source = SourceFile::new("apps/x.yaml", text);
        let (app, found) = read_app(&source, &MemoryHost::default(), &BTreeSet::new());
        let messages = found.iter().map(|finding| {
            let help = finding.help.as_deref().unwrap_or_default();
            format!(
                "{:?} {}: {} ({help})",
                source.slice(finding.span),
                finding.severity,
                finding.message
            )
        });
        (app, messages.collect())
    }

    #[test]
    fn a_whole_app_file() {
        let (app, found) = read(HR);
        assert_eq!(found, [""; 0]);
        let app = app.unwrap();
        let tool = app.tool("create_employee_profile").unwrap();
        let signature = &tool.signature;
        assert_eq!(&*tool.endpoint, "http://127.0.0.1:8009/tool");
        assert_eq!(
            (signature.effect, signature.effect_declared),
            (Effect::Idempotent, true)
        );
        let required: Vec<(&str, bool)> = signature
            .parameters
            .iter()
            .map(|one| (&*one.name, one.required))
            .collect();
        assert_eq!(required, [("id", false), ("name", true), ("level", false)]);
        assert_eq!(signature.parameters[2].ty.to_string(), r#""L1" | "L2""#);
        assert_eq!(signature.returns.to_string(), "{ emp_id: string }");
        assert_eq!(
            signature.raises,
            ["failed".into(), "taken".into(), "locked".into()]
        );
        assert!(!signature.extra_arguments && signature.open_world);
        assert!(signature.may_have_happened.is_empty());
        assert_eq!(
            (&*signature.sensitive, &*signature.target),
            (&["result.emp_id".into()][..], &["name".into()][..])
        );
        assert_eq!(
            (
                signature.inverse.as_deref(),
                signature.deprecated.as_deref()
            ),
            (Some("hr.query"), Some("use people.create"))
        );
        assert_eq!(tool.errors[1].class, ErrorClass::Tool("taken".into()));
        assert!(tool.errors[0].may_have_happened && !tool.errors[1].may_have_happened);
        assert_eq!(tool.signature.key_ttl.unwrap().as_secs(), 48 * 3600);
        let query = app.tool("query").unwrap();
        assert_eq!(query.signature.returns, Type::Any);
        assert_eq!(
            (query.signature.effect, query.signature.extra_arguments),
            (Effect::Read, false)
        );
    }

    /// All attempts of one execution have the same key.
    #[test]
    fn a3_a_key_for_each_attempt_is_refused() {
        for per in ["attempt", "execution"] {
            let (_, found) = read(&HR.replace("ttl: 48h", &format!("ttl: 48h, per: {per}")));
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(
                found[0].contains("`per` of `key` is no longer supported"),
                "{found:?}"
            );
        }
    }

    /// If the system recognizes keys, a call is idempotent, even if its file declares the class `effect`.
    #[test]
    fn a5_a_key_makes_an_effect_idempotent_and_that_is_told() {
        let key =
            |effect: &str| HR.replace("    key: {", &format!("    effect: {effect}\n    key: {{"));
        for (written, class, warnings) in [
            ("effect", Effect::Idempotent, 1),
            ("idempotent", Effect::Idempotent, 0),
            ("irreversible", Effect::Irreversible, 0),
        ] {
            let (app, found) = read(&key(written));
            assert_eq!(app.unwrap().tools[0].signature.effect, class, "{written}");
            assert_eq!(found.len(), warnings, "{written}: {found:?}");
        }
        let (_, found) = read(&key("effect"));
        assert!(found[0].contains("treated as `idempotent`"), "{found:?}");
    }

    #[test]
    fn variables_come_from_the_environment() {
        let host = MemoryHost::default().with_variable("MOCK_API_URL", "http://10.0.0.1:1");
        let listed = BTreeSet::from(["MOCK_API_URL".to_owned()]);
        let (app, _) = read_app(&SourceFile::new("x", HR), &host, &listed);
        assert_eq!(&*app.unwrap().tools[0].endpoint, "http://10.0.0.1:1/tool");
        let (_, found) = read("name: a\nheaders: { X-A: \"${NO_SUCH}\" }\n");
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("NO_SUCH is not set"), "{found:?}");
    }

    /// A variable that is not listed, or that is used where its value would be displayed, is not read.
    #[test]
    fn f3_variables_are_listed_and_stay_where_tools_are_reached() {
        let host = MemoryHost::default().with_variable("TOKEN", "hunter2-token");
        let text = "name: a\nsystem_context: see ${TOKEN}\nheaders: { X-A: '${TOKEN}' }\ntools:\n  - name: ${TOKEN:b}\n    \
             description: ${TOKEN}\n    endpoint: http://127.0.0.1:1/${TOKEN:x}\n";
        let source = SourceFile::new("x", text);
        for (listed, expected) in [
            (BTreeSet::new(), 5),
            (BTreeSet::from(["TOKEN".to_owned()]), 3),
        ] {
            let (app, found) = read_app(&source, &host, &listed);
            let refused = found
                .iter()
                .filter(|one| one.code.name == "config-variable" && one.is_error());
            assert_eq!(refused.count(), expected, "{found:?}");
            let app = app.unwrap();
            let text_of_app = format!("{:?} {:?}", app.system_context, app.tools[0].signature);
            assert!(!text_of_app.contains("hunter2"), "{text_of_app}");
            // Every value that was read is a credential.
            assert_eq!(
                app.tools[0].endpoint.contains("hunter2"),
                !listed.is_empty()
            );
            let redacted = app.credentials.text(&app.tools[0].endpoint).into_owned();
            assert!(!redacted.contains("hunter2"), "{redacted}");
        }
    }

    /// A file that is not an app is left out with a warning that names it, and the others are loaded.
    #[test]
    fn files_that_are_no_apps_keep_no_other_away() {
        let host = MemoryHost::default()
            .with_file("apps/a.yaml", "name: a\n")
            .with_file("apps/b.yml", "app_name: b\ntools: []\n")
            .with_file("apps/c.yaml", "name: [c\n")
            .with_file("apps/d.yaml", "")
            .with_file("apps/e.json", r#"{"name": "e", "tools": []}"#)
            .with_file("apps/f.yaml", "name: a\n")
            .with_file("apps/g.yaml", b"\xff".to_vec())
            .with_file("apps/h.yaml", "- 1\n")
            .with_file("apps/readme.md", "no app");
        let loaded = load_apps(
            &host,
            &app_files(&host, Path::new("apps")).unwrap(),
            &BTreeSet::new(),
        );
        let names: Vec<&str> = loaded.apps.iter().map(|app| &*app.name).collect();
        assert_eq!(names, ["a", "e"]);
        let found: Vec<String> = loaded
            .findings
            .iter()
            .map(|findings| {
                let [finding] = &findings.diagnostics[..] else {
                    panic!("{findings:?}")
                };
                format!(
                    "{} {}: {}",
                    findings.source.name(),
                    finding.severity,
                    finding.message
                )
            })
            .collect();
        insta::assert_snapshot!(found.join("\n"), @r###"
        /apps/b.yml warning: this app file has no `name`
        /apps/c.yaml warning: this app file is not valid YAML: unclosed bracket '['
        /apps/d.yaml warning: this app file is empty
        /apps/f.yaml error: the app a is already defined in /apps/a.yaml
        /apps/g.yaml warning: this app file cannot be read: it is not UTF-8 text
        /apps/h.yaml warning: an app file must be a mapping, but this is a list
        "###);
    }

    #[test]
    fn what_is_wrong_is_told_where_it_is() {
        let text = r#"
name: a
tols: []
tools:
  - nam: x
  - name: t
    endpoint: 127.0.0.1:80/tool
    efect: read
    effect: reed
    parameters: { type: objekt }
    returns: yes
    mock: [{ status: 503 }, { status: 999 }]
    errors: [{ reason: busy, class: transient.unavailible, happened: perhaps }, 3]
    key: { argument: idd, ttl: long, per: try }
  - name: t
    endpoint: ftp://x/y
    mock: [{ when: { rapo: x }, data: 1 }]
    parameters: { type: object, properties: { repo: { type: string } } }
    resource: "{repos}/{x"
    x-own: fine
  - 7
"#;
        let (app, found) = read(text);
        assert_eq!(app.unwrap().tools.len(), 1);
        insta::assert_snapshot!(found.join("\n"), @r###"
        "tols" warning: the app has no key `tols` (the keys are name, display_name, system_context, headers, tools)
        "nam" error: a tool of a lacks the key `name` (`nam` is unknown here; did you mean `name`?)
        "efect" warning: the tool a.t has no key `efect` (the keys are name, description, parameters, returns, effect, errors, key, resource, sensitive, target, command, open_world, inverse, deprecated, endpoint, request, response, usage, mock)
        "127.0.0.1:80/tool" error: the endpoint is not an HTTP or HTTPS URL: relative URL without a base (write the full URL, such as `http://127.0.0.1:8009/tool`)
        "type" error: `parameters` is not a valid JSON Schema: the schema at /type is invalid: "objekt" is not a type; the types are array, boolean, integer, null, number, object and string ()
        "yes" error: `returns` must be a JSON Schema, but is text ()
        "transient.unavailible" error: `class` of an entry of `errors` cannot be `transient.unavailible` (did you mean `transient.unavailable`?)
        "perhaps" error: `happened` of an entry of `errors` cannot be `perhaps` (write one of no, maybe)
        "3" error: an entry of `errors` must be a mapping, but is a number ()
        "try" error: `per` of `key` is no longer supported: all attempts of one execution carry the same key (remove it)
        "long" error: `ttl` of `key` must be a duration such as 24h ()
        "reed" error: `effect` of the tool a.t cannot be `reed` (did you mean `read`?)
        "[" warning: `mock` of the tool a.t: case 2: `status` must be an HTTP status from 200 to 599 ()
        "ftp://x/y" error: the endpoint is not an HTTP or HTTPS URL: it begins with `ftp:` (write the full URL, such as `http://127.0.0.1:8009/tool`)
        "\"{repos}/{x\"" error: `resource` names `repos`, which is not a parameter (did you mean `repo`?)
        "\"{repos}/{x\"" error: `resource` has `{` without `}`: `{repos}/{x` ()
        "[" warning: `when` names `rapo`, which is not a parameter (did you mean `repo`?)
        "t" error: the tool a.t is defined twice (only the first is used; rename the other)
        "7" error: a tool of a must be a mapping, but is a number ()
        "###);
    }
}
