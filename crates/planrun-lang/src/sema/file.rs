//! Checks files: their items, the files they use, and the resulting plans.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::annotation::{NamedTypes, is_optional};
use super::expr::{Checker, Expectation};
use super::finding::{duplicate_name, unknown};
use super::plan::Plan;
use super::remedy::tidy_removals;
use super::scope::NoNames;
use super::shared::{Namespace, Shared, Uses};
use super::test::Test;
use super::tools::Tools;
use super::unread::unused_items;
use crate::diag::render::{self, command, visible_line};
use crate::diag::{Diagnostic, closest, codes};
use crate::permission::PathResolver;
use crate::source::{SourceFile, Span, SpanIndex};
use crate::syntax::{self, ast, canonical_name};
use crate::types::{Effect, KEY_TTL, Parameter, Signature, Type};
use crate::value::{Value, path_below};

/// Maximum number of conditions around the statements and names of a file, counted for each of them; the plans of a
/// file share it.
const MAX_CONDITIONS: usize = 32_000_000;
/// The same for one plan.
const MAX_PLAN_CONDITIONS: usize = 4_000_000;

/// The result of checking a file: the plans, and every diagnostic in source order.
#[derive(Debug)]
pub struct CheckedFile {
    /// In source order.
    pub plans: Vec<Arc<Plan>>,
    /// In source order, without tests whose plan is not known.
    pub tests: Vec<Arc<Test>>,
    pub diagnostics: Vec<Diagnostic>,
    /// The tools that its `tool` items declare, in source order, each with the place of its name.
    pub tools: Vec<(Span, Arc<Signature>)>,
    /// The syntax tree of the file.
    pub tree: ast::File,
    /// Whether all of its text could be parsed.
    pub whole: bool,
    /// Number of tools whose results are read although their type is not known before the run.
    pub unknown: usize,
}

impl CheckedFile {
    /// Returns every plan with its syntax tree, in source order.
    pub fn plans_as_written(&self) -> impl Iterator<Item = (&Plan, &ast::Plan)> {
        let mut plans = self.plans.iter().map(|plan| &**plan).peekable();
        self.tree
            .items
            .iter()
            .filter_map(move |item| match &item.kind {
                ast::ItemKind::Plan(written) => Some((
                    plans.next_if(|plan| plan.span == written.name.span)?,
                    written,
                )),
                _ => None,
            })
    }
}

/// Other plan files, for `use "./other.plan" as name`.
pub trait Files {
    /// Reads the file that `path`, as written in the file `from`, refers to.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read: one sentence with the reason.
    fn read(&self, from: &str, path: &str) -> Result<SourceFile, String>;
}

/// No other files, for plans that stand alone.
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _from: &str, path: &str) -> Result<SourceFile, String> {
        Err(format!("there is no `{path}`"))
    }
}

impl PathResolver for NoFiles {
    fn canonical(&self, _path: &Path) -> io::Result<PathBuf> {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Checks syntax, names and types of one file against the given tools. Applies no lint rules and no comments that allow
/// diagnostics; the complete check is `lint::check_file`.
#[must_use]
pub fn check_without_rules(source: &SourceFile, tools: &Tools, files: &dyn Files) -> CheckedFile {
    Session {
        tools,
        files,
        stack: Vec::new(),
        known: BTreeMap::new(),
        cycles: Vec::new(),
    }
    .file(source)
}

/// Returns the tools that a text declares with `tool` items, in source order, and its diagnostics. Used for contracts
/// that are written in plan syntax; plans and tests in the text are ignored.
#[must_use]
pub fn declared_tools(source: &SourceFile) -> (Vec<Arc<Signature>>, Vec<Diagnostic>) {
    let syntax::Parsed {
        file,
        mut diagnostics,
        ..
    } = syntax::parse(source);
    let mut types = NamedTypes::of_file(&file, &mut diagnostics);
    let tools = Tools::default().with_signatures(&file, &mut types, &mut diagnostics);
    let declared = declared_in(&file, &tools).map(|(_, signature)| signature);
    (declared.collect(), diagnostics)
}

/// Returns the tools of the `tool` items of a file, as they are known in it.
fn declared_in(file: &ast::File, tools: &Tools) -> impl Iterator<Item = (Span, Arc<Signature>)> {
    file.items.iter().filter_map(|item| {
        let ast::ItemKind::Tool(tool) = &item.kind else {
            return None;
        };
        let signature = tools.find(&tool.namespace.text, &tool.name.text)?;
        Some((tool.name.span, signature.clone()))
    })
}

/// Check of one file and of those that it uses.
struct Session<'a> {
    tools: &'a Tools,
    files: &'a dyn Files,
    /// The files being checked, outermost first.
    stack: Vec<String>,
    /// The files that have been checked: their plans, or the number of their errors.
    known: BTreeMap<String, Result<Vec<Arc<Plan>>, usize>>,
    /// The cycles of files that use each other.
    cycles: Vec<Vec<String>>,
}

impl Session<'_> {
    fn file(&mut self, source: &SourceFile) -> CheckedFile {
        let parsed = syntax::parse(source);
        let mut diagnostics = parsed.diagnostics;
        let damage = diagnostics
            .iter()
            .filter(|found| found.is_error())
            .map(|found| found.span)
            .collect::<SpanIndex>();
        let (read, whole) = (diagnostics.len(), damage.is_empty());
        let file = &parsed.file;
        self.stack.push(source.name().to_owned());
        let mut types = NamedTypes::of_file(file, &mut diagnostics);
        let tools = self
            .tools
            .clone()
            .with_signatures(file, &mut types, &mut diagnostics);
        let uses = self.uses(source, file, &damage, &tools, &mut diagnostics);
        let shared = Shared {
            max_conditions: MAX_PLAN_CONDITIONS.min(MAX_CONDITIONS / file.items.len().max(1)),
            source,
            tools: &tools,
            namespaces: &uses.namespaces,
            first_use: uses.first,
            infers_uses: file.is_short,
            damage,
        };
        let mut called = BTreeSet::new();
        let plans =
            super::plan_item::check(file, &shared, &mut types, &mut called, &mut diagnostics);
        let tests = super::test::check(file, &plans, &shared, &mut called, &mut diagnostics);
        if whole {
            // Text that could not be parsed may use them.
            unused_items(&uses, &called, &types, file, &mut diagnostics);
        }
        self.stack.pop();
        tidy_removals(source, diagnostics.get_mut(read..).unwrap_or_default());
        diagnostics.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.end));
        super::one_cause::merge(file, &mut diagnostics);
        let unknown = diagnostics
            .iter()
            .filter(|found| *found.code == codes::types::UNKNOWN_READ)
            .count();
        CheckedFile {
            plans,
            tests,
            diagnostics,
            tools: declared_in(file, &tools).collect(),
            tree: parsed.file,
            whole,
            unknown,
        }
    }

    fn uses(
        &mut self,
        source: &SourceFile,
        file: &ast::File,
        damage: &SpanIndex,
        tools: &Tools,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Uses {
        let mut uses = Uses {
            namespaces: BTreeMap::new(),
            spans: BTreeMap::new(),
            first: Span::at(0),
        };
        let first = file
            .items
            .iter()
            .find(|item| !matches!(item.kind, ast::ItemKind::Error));
        // The comment that documents the first item stays with it.
        let doc = file
            .comments
            .iter()
            .find(|comment| comment.kind == ast::CommentKind::Doc);
        let starts = first
            .map(|item| item.span.start)
            .into_iter()
            .chain(doc.map(|comment| comment.span.start));
        uses.first = Span::at(starts.min().unwrap_or(0) as usize);
        for item in &file.items {
            let ast::ItemKind::Use(written) = &item.kind else {
                continue;
            };
            match written {
                ast::Use::Namespaces(names) => {
                    for written in names {
                        let alias = written.alias.as_ref().unwrap_or(&written.name);
                        let namespace = if tools.has_namespace(&written.name.text) {
                            Namespace::Tools(written.name.text.clone())
                        } else if !item.is_written() {
                            // Reported at each call.
                            continue;
                        } else {
                            if !is_damaged(item.span, &written.name, source, damage) {
                                diagnostics.push(no_namespace(&written.name, tools));
                            }
                            Namespace::Unresolved
                        };
                        uses.add(alias, namespace, diagnostics);
                    }
                }
                ast::Use::File { path, alias } => {
                    let namespace = self.plan_file(source, path, diagnostics);
                    uses.add(alias, namespace, diagnostics);
                }
            }
        }
        uses
    }

    fn plan_file(
        &mut self,
        source: &SourceFile,
        path: &ast::Text,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Namespace {
        let unresolved = |message: String| codes::names::UNRESOLVED_USE.at(path.span, message);
        let other = match self.files.read(source.name(), &path.text) {
            Ok(other) => other,
            Err(reason) => {
                let is_relative = path.text.starts_with("./") || path.text.starts_with("../");
                let help = if is_relative {
                    "correct the path, which begins at the folder of this file; to use a file from outside of the project, put it into the project"
                } else {
                    "write a path relative to this file that begins with `./` or `../`"
                };
                diagnostics.push(unresolved(reason).help(help));
                return Namespace::Unresolved;
            }
        };
        if let Some(start) = self.stack.iter().position(|open| open == other.name()) {
            self.cycles
                .push(self.stack.get(start..).unwrap_or_default().to_vec());
            diagnostics.extend(self.cycle(source, &other, path.span));
            return Namespace::Unresolved;
        }
        if self.stack.len() >= 32 {
            diagnostics.push(unresolved(
                "plan files use each other more than 32 levels deep".to_owned(),
            ));
            return Namespace::Unresolved;
        }
        let errors = match self.plans(&other) {
            Ok(plans) => return Namespace::Plans(plans),
            Err(errors) => errors,
        };
        diagnostics.push(self.cycle(source, &other, path.span).unwrap_or_else(|| {
            let message = format!(
                "`{}` has {errors} error{}",
                path.text,
                if errors == 1 { "" } else { "s" }
            );
            unresolved(message).help(format!(
                "run `{}`",
                command(&format!(
                    "check {}",
                    render::quoted(&visible_line(other.name()))
                ))
            ))
        }));
        Namespace::Unresolved
    }

    /// Returns the plans of another file, or the number of its errors. Each file is checked once.
    fn plans(&mut self, other: &SourceFile) -> Result<Vec<Arc<Plan>>, usize> {
        if let Some(known) = self.known.get(other.name()) {
            return known.clone();
        }
        let checked = self.file(other);
        let errors = checked
            .diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.is_error())
            .count();
        let result = if errors == 0 {
            Ok(checked.plans)
        } else {
            Err(errors)
        };
        self.known.insert(other.name().to_owned(), result.clone());
        result
    }

    /// Creates the diagnostic for a `use` that is part of a cycle of files; `None` if it is not.
    fn cycle(&self, source: &SourceFile, other: &SourceFile, span: Span) -> Option<Diagnostic> {
        let place = |cycle_files: &[String], file: &SourceFile| {
            cycle_files.iter().position(|name| name == file.name())
        };
        let (cycle_files, start) = self.cycles.iter().find_map(|cycle_files| {
            let start = place(cycle_files, source)?;
            (place(cycle_files, other)? == (start + 1) % cycle_files.len())
                .then_some((cycle_files, start))
        })?;
        let names = cycle_files
            .iter()
            .cycle()
            .skip(start)
            .take(cycle_files.len() + 1)
            .map(String::as_str)
            .collect::<Vec<_>>();
        let message = format!("files use each other in a cycle: {}", names.join(" → "));
        let help = "move what both need into a third file: a plan may not call itself, directly or through others";
        Some(codes::names::RECURSIVE_PLAN.at(span, message).help(help))
    }
}

impl Tools {
    /// Adds the `tool` items of a file, which replace tools of the catalog.
    fn with_signatures(
        mut self,
        file: &ast::File,
        types: &mut NamedTypes,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Self {
        let mut seen: BTreeMap<String, Span> = BTreeMap::new();
        for item in &file.items {
            let ast::ItemKind::Tool(tool) = &item.kind else {
                continue;
            };
            let path = format!("{}.{}", tool.namespace.text, tool.name.text);
            if let Some(first) = seen.get(&path) {
                diagnostics.push(duplicate_name("tool", &tool.name, *first));
                continue;
            }
            seen.insert(path, tool.name.span);
            let known = self.find(&tool.namespace.text, &tool.name.text);
            misspelt_fails(tool, known, diagnostics);
            let signature = declared(tool, item.doc.clone(), known, types, diagnostics);
            self.insert(Arc::new(signature));
        }
        self
    }
}

/// Returns the signature of a `tool` item: its declarations override the catalog, and its errors are added.
fn declared(
    tool: &ast::Tool,
    doc: Option<Arc<str>>,
    known: Option<&Arc<Signature>>,
    types: &mut NamedTypes,
    diagnostics: &mut Vec<Diagnostic>,
) -> Signature {
    let parameters = parameters(tool, known, types, diagnostics);
    let effect = tool.effect.as_ref().and_then(|word| {
        let found = Effect::find(&word.text);
        if found.is_none() {
            let words = Effect::ALL.iter().map(|effect| effect.name());
            let code = &codes::names::UNKNOWN_SETTING;
            diagnostics.push(unknown(code, "effect class", &word.text, word.span, words));
        }
        found
    });
    if let Some(key) = &tool.key
        && !parameters
            .iter()
            .any(|parameter| parameter.name == key.text)
    {
        let names = parameters.iter().map(|parameter| &*parameter.name);
        let code = &codes::names::UNKNOWN_ARGUMENT;
        diagnostics.push(unknown(code, "parameter", &key.text, key.span, names));
    }
    let mut signature = known.map_or_else(
        || Signature::unknown(tool.namespace.text.clone(), tool.name.text.clone()),
        |known| (**known).clone(),
    );
    signature.description = doc.or(signature.description);
    signature.parameters = parameters;
    signature.returns = types.resolve(&tool.returns, diagnostics).opened();
    let mut sensitive = sensitive(tool, types);
    sensitive.retain(|path| !signature.sensitive.contains(path));
    signature.sensitive.extend(sensitive);
    signature.output_schema = None;
    signature.returned_argument = None;
    signature.effect_declared |= effect.is_some();
    if let Some(effect) = effect {
        signature.effect = effect;
    }
    for name in &tool.fails {
        if !signature.raises.contains(&name.text) {
            signature.raises.push(name.text.clone());
        }
    }
    tool.key
        .iter()
        .for_each(|key| take_key(&mut signature, key));
    signature
}

/// Sets the argument that receives the idempotency key. The key makes repeated calls harmless, so the effect class
/// becomes `idempotent` unless it is declared.
fn take_key(signature: &mut Signature, key: &ast::Name) {
    signature.key_argument = Some(key.text.clone());
    signature.key_ttl = signature.key_ttl.or(Some(KEY_TTL));
    if !signature.effect_declared {
        (signature.effect, signature.effect_declared) = (Effect::Idempotent, true);
    }
}

/// Reports errors after `fails` with a name close to one that the tool's contract declares.
fn misspelt_fails(
    tool: &ast::Tool,
    known: Option<&Arc<Signature>>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let declared = known
        .map(|known| known.raises.as_slice())
        .unwrap_or_default();
    for name in tool
        .fails
        .iter()
        .filter(|name| !declared.contains(&name.text))
    {
        let candidates = declared
            .iter()
            .filter(|declared| !tool.fails.iter().any(|name| name.text == **declared));
        let candidates = candidates.map(|declared| &**declared).collect::<Vec<_>>();
        if closest(&name.text, candidates.iter().copied()).is_some() {
            let what = format!(
                "error of `{}.{}` named",
                tool.namespace.text, tool.name.text
            );
            let code = &codes::names::UNKNOWN_ERROR_CLASS;
            diagnostics.push(unknown(
                code,
                &what,
                &name.text,
                name.span,
                candidates.into_iter(),
            ));
        }
    }
}

/// Returns the parameters of a `tool` item, with the descriptions and schemas of the catalog.
fn parameters(
    tool: &ast::Tool,
    known: Option<&Arc<Signature>>,
    types: &mut NamedTypes,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    for parameter in &tool.parameters {
        let ty = types.resolve(&parameter.ty, diagnostics);
        let known = known.and_then(|known| known.parameter(&parameter.name.text));
        let default = parameter
            .default
            .as_ref()
            .and_then(|default| default_of(parameter, default, &ty, diagnostics));
        parameters.push(Parameter {
            name: parameter.name.text.clone(),
            ty,
            required: !parameter.optional
                && parameter.default.is_none()
                && !is_optional(&parameter.ty),
            description: known.and_then(|known| known.description.clone()),
            schema: known.and_then(|known| known.schema.clone()),
            default,
        });
    }
    parameters
}

/// Returns the default of a parameter, which is sent if a call omits the argument: a constant of its type.
fn default_of(
    parameter: &ast::Parameter,
    default: &ast::Expr,
    ty: &Type,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Value> {
    let before = diagnostics.len();
    let what = format_args!("the default of `{}`", parameter.name.text);
    let code =
        Checker::new(&NoNames, diagnostics).check_against(default, ty, Expectation::default(&what));
    if code.constant().is_none() && diagnostics.len() == before {
        let message = format!("{what} is not known before the run");
        let finding = codes::types::DEFAULT_TYPE.at(default.span, message);
        diagnostics.push(finding.help("write the value itself"));
    }
    code.constant().cloned()
}

/// Returns the paths that a `tool` item declares as secret, in its arguments and in its result.
fn sensitive(tool: &ast::Tool, types: &NamedTypes) -> Vec<Arc<str>> {
    let places = |name: &Arc<str>, ty: &ast::TypeExpr| {
        types
            .secrets(ty)
            .into_iter()
            .map(|path| path_below(name, &path))
            .collect::<Vec<_>>()
    };
    let arguments = tool
        .parameters
        .iter()
        .flat_map(|parameter| places(&parameter.name.text, &parameter.ty));
    arguments
        .chain(places(&"result".into(), &tool.returns))
        .collect()
}

/// Returns true if the `use` of a namespace, or a `tool` item of it, is damaged, which has been reported.
fn is_damaged(item: Span, name: &ast::Name, source: &SourceFile, damage: &SpanIndex) -> bool {
    let declaration = format!("tool {}.", canonical_name(&name.text));
    damage.any_begins_in(item.start..item.end)
        || !damage.is_empty() && source.text().contains(&declaration)
}

/// Creates the diagnostic for a `use` of a namespace that does not exist.
fn no_namespace(name: &ast::Name, tools: &Tools) -> Diagnostic {
    if tools.unlocked.contains(&name.text) {
        let message = format!("the tools of `{}` are not locked", name.text);
        let finding = codes::contracts::UNLOCKED_TOOL.at(name.span, message);
        return finding.help(format!("run `{}`", command("tools lock")));
    }
    let finding = unknown(
        &codes::names::UNRESOLVED_USE,
        "namespace",
        &name.text,
        name.span,
        tools.namespaces(),
    );
    let help = "name its app file in `planrun.yaml`, or declare its tools with `tool` items";
    match finding.fix {
        Some(_) => finding,
        None => finding.help(help),
    }
}
