//! A project with its tools, and plans checked against it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::diag::render::FileReport;
use planrun_lang::diag::{Diagnostic, Severities, Severity};
use planrun_lang::lint;
use planrun_lang::permission::{Grant, Permissions};
use planrun_lang::sema::{Budget, CheckedFile, Files, Plan, Policy, Tools};
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::syntax::ast::{Item, ItemKind};
use planrun_lang::types::Signature;
use planrun_models::client::Models;
use planrun_models::prompt::PromptModels;
use planrun_tools::contract::Lock;
use planrun_tools::host::{Host, PinnedHost, Pins, RealHost};
use planrun_tools::project::{Location, Project};
use planrun_tools::tools::{Catalog, Tool};
use serde_json::{Map, Value as Json};

use super::begun::Begun;
use super::used_plans::UsedPlans;
use super::{Error, Inputs};
use planrun_core::run::{Defaults, ToolNames, ToolRetry};

/// A project with its tools.
pub struct Workspace {
    pub host: Arc<dyn Host>,
    /// Where the files of the project are read: those of then, for a run of the journal.
    reading: Arc<PinnedHost>,
    pub location: Location,
    pub project: Project,
    /// What the project lets plans reach.
    pub limit: Option<Permissions>,
    /// What plans leave out.
    pub policy: Policy,
    /// The most that a run may use.
    pub limits: Budget,
    retries: Arc<[ToolRetry]>,
    confirm: Arc<[ToolNames]>,
    /// What the project makes of severities, and the command line over it.
    pub severities: Severities,
    /// About `planrun.yaml` and the app files.
    findings: Vec<FileReport>,
    tools: Tools,
    /// Tools that the program around planrun brings along, over those of the project.
    own_tools: Arc<[Tool]>,
    /// What its plans reach at most, beside what the project allows, where a model writes them.
    pub confined: Option<Arc<[Grant]>>,
}

/// Calls of a run of a plan that a model has written, where the project says nothing.
const MAX_CALLS_OF_A_MODEL: u64 = 200;
/// The same for its time, without that in which it waits for people.
const MAX_TIME_OF_A_MODEL: Duration = Duration::from_mins(10);

/// A plan file that was read and checked, before one of its plans is chosen.
pub struct Checked {
    workspace: Arc<Workspace>,
    source: SourceFile,
    file: CheckedFile,
    project: Vec<FileReport>,
}

/// One plan of a checked file.
pub struct Choice {
    /// Errors; where there are none, warnings about the plan and what it calls.
    pub report: FileReport,
    /// Nothing where the file or its project has errors: what those leave out would be missing in the run.
    pub plan: Option<CheckedPlan>,
}

/// A plan without errors, its text, and the project that it was checked in.
#[derive(Clone)]
pub struct CheckedPlan {
    pub workspace: Arc<Workspace>,
    pub source: Arc<SourceFile>,
    pub plan: Arc<Plan>,
    /// What a run of it goes on with.
    pub(super) begun: Begun,
    /// Why a run of it would fail in the middle, whatever the data.
    obstacles: Vec<Obstacle>,
}

/// A finding that keeps a run from being done as a whole.
#[derive(Clone)]
struct Obstacle {
    finding: Diagnostic,
    /// Whether the report of the check has it already.
    reported: bool,
}

impl Workspace {
    /// The project around a plan.
    ///
    /// # Errors
    /// When the project's file cannot be used.
    pub fn open(plan: &Path, folder: Option<&Path>) -> Result<Self, Error> {
        let host = real_host();
        let location = Self::locate(&*host, plan, folder)?;
        Self::at(host, &location)
    }

    /// A project as it was when a run began.
    ///
    /// # Errors
    /// When the project's file cannot be used.
    pub(super) fn pinned(
        host: Arc<dyn Host>,
        location: &Location,
        has_project_file: bool,
        pins: Pins,
        own_tools: &Arc<[Tool]>,
    ) -> Result<Self, Error> {
        let file = has_project_file.then(|| location.folder.join(Location::FILE));
        let location = Location {
            folder: location.folder.clone(),
            file,
        };
        let reading = Arc::new(PinnedHost::of(host.clone(), pins));
        Self::of(host, reading, location, own_tools.clone())
    }

    /// What was read of the project and its plans so far.
    #[must_use]
    pub fn pins(&self) -> Pins {
        self.reading.pins()
    }

    /// Where the project of a plan is; `-` is in the current folder.
    ///
    /// # Errors
    /// When the folder that the user named holds no project.
    pub fn locate(host: &dyn Host, plan: &Path, folder: Option<&Path>) -> Result<Location, Error> {
        let plan = (plan.as_os_str() != "-").then_some(plan);
        Location::of(host, plan, folder).map_err(|error| Error::Unusable(error.to_string()))
    }

    /// The project at a place.
    ///
    /// # Errors
    /// When the project's file cannot be used.
    pub fn at(host: Arc<dyn Host>, location: &Location) -> Result<Self, Error> {
        Self::with_tools(host, location, &Arc::default())
    }

    /// The project at a place, with tools that the program brings along.
    pub(super) fn with_tools(
        host: Arc<dyn Host>,
        location: &Location,
        own_tools: &Arc<[Tool]>,
    ) -> Result<Self, Error> {
        let reading = Arc::new(PinnedHost::noting(host.clone()));
        Self::of(host, reading, location.clone(), own_tools.clone())
    }

    /// The same project with other contracts of its servers.
    ///
    /// # Errors
    /// When the project's file cannot be used any more.
    pub fn with_lock(&self, lock: Lock) -> Result<Self, Error> {
        let (host, reading) = (self.host.clone(), self.reading.clone());
        let mut other = Self::of(host, reading, self.location.clone(), self.own_tools.clone())?;
        other.project.lock = Arc::new(lock);
        other.tools = tools(&other.project, &other.host, &other.own_tools);
        Ok(other)
    }

    /// The same for plans that a model has written: see [`Planrun::confined`](super::Planrun::confined).
    ///
    /// # Errors
    /// [`Error::Invalid`] where a pattern of a grant cannot be understood.
    pub(super) fn confined(mut self, within: &Arc<[Grant]>) -> Result<Self, Error> {
        let mut limit = self.limit.unwrap_or_else(Permissions::none);
        for grant in &**within {
            let own = Permissions::new(grant, &self.project.root, &*self.host)
                .map_err(|error| Error::Invalid(error.to_string()))?;
            limit = own.within(&limit);
        }
        self.limit = Some(limit);
        self.confined = Some(within.clone());
        self.limits = self.limits.over(&Budget {
            calls: Some(MAX_CALLS_OF_A_MODEL),
            time: Some(MAX_TIME_OF_A_MODEL),
            ..Budget::default()
        });
        Ok(self)
    }

    fn of(
        host: Arc<dyn Host>,
        reading: Arc<PinnedHost>,
        location: Location,
        own_tools: Arc<[Tool]>,
    ) -> Result<Self, Error> {
        let environment = Error::Unusable;
        let (project, findings) =
            Project::open(&*reading, &location).map_err(|error| environment(error.to_string()))?;
        let limit = project
            .settings
            .allow
            .as_ref()
            .map(|grant| Permissions::new(grant, &project.root, &*host));
        let limit = limit
            .transpose()
            .map_err(|error| environment(format!("planrun.yaml: {error}")))?;
        let policy = Policy::from_project(&project.settings.policy);
        let policy =
            policy.map_err(|error| environment(format!("planrun.yaml: policy: {error}")))?;
        let limits =
            Map::from_iter([("budget".to_owned(), project.settings.limits.clone().into())]);
        let limits = Policy::from_project(&limits)
            .map_err(|error| environment(format!("planrun.yaml: limits: {error}")))?
            .budget;
        let retries = retries(&project.settings.retry)
            .map_err(|error| environment(format!("planrun.yaml: {error}")))?;
        let confirm = project
            .settings
            .confirm
            .iter()
            .map(|name| tool_names(name))
            .collect::<Result<_, _>>();
        let confirm =
            confirm.map_err(|error| environment(format!("planrun.yaml: confirm: {error}")))?;
        let tools = tools(&project, &host, &own_tools);
        let check = &project.settings.check;
        let severities = Severities::parse(&check.deny, &check.allow, &check.enable)
            .map_err(|error| environment(error.to_string()))?;
        let findings = findings
            .into_iter()
            .map(|found| FileReport::new(found.source, found.diagnostics))
            .collect();
        Ok(Self {
            host,
            reading,
            location,
            project,
            limit,
            policy,
            limits,
            retries,
            confirm,
            severities,
            findings,
            tools,
            own_tools,
            confined: None,
        })
    }

    /// What the project says for what plans leave out.
    #[must_use]
    pub fn defaults(&self) -> Defaults {
        let (policy, retries, confirm) = (
            self.policy.clone(),
            self.retries.clone(),
            self.confirm.clone(),
        );
        Defaults {
            policy,
            retries,
            confirm,
            limits: self.limits,
            ..Defaults::default()
        }
    }

    /// What is asked before each call of a tool, where the project wants a yes.
    pub(super) fn question_before(&self, tool: &str) -> Option<String> {
        let (namespace, name) = tool.split_once('.')?;
        self.confirm
            .iter()
            .any(|tools| tools.names(namespace, name))
            .then(|| ToolNames::question(tool))
    }

    /// Whether there is a tool behind a contract.
    pub(super) fn implements(&self, tool: &Signature) -> bool {
        self.tools.find(&tool.namespace, &tool.name).is_some()
    }

    /// Every tool of the project, and over them those that the program brings along; `endpoint` gives the address that
    /// stands in for those of an app.
    #[must_use]
    pub fn catalog(&self, endpoint: Option<&dyn Fn(&str) -> String>) -> Arc<Catalog> {
        let nothing = Arc::new(Permissions::none());
        let mut catalog = self.project.catalog(&self.host, &nothing, endpoint);
        for tool in &*self.own_tools {
            catalog.add(tool.signature.clone(), tool.transport.clone());
        }
        let models = Models::of(&self.project, &self.host);
        catalog.set_prompts(Arc::new(PromptModels::new(models)));
        Arc::new(catalog)
    }

    /// The plan files that others can use.
    #[must_use]
    pub fn files(&self) -> impl Files + Sync + '_ {
        UsedPlans {
            host: &*self.reading,
            root: &self.project.root,
            has_project_file: self.location.file.is_some(),
        }
    }

    /// What is found in one file, before the project and the command line weigh it.
    #[must_use]
    pub fn find(&self, source: &SourceFile, files: &dyn Files) -> CheckedFile {
        // Without a project and tools of its own, a plan may be meant for any project.
        let knows_tools = self.location.file.is_some() || !self.own_tools.is_empty();
        let tools = knows_tools.then_some(&self.tools);
        lint::check_file(source, &self.tools, files, &self.rules(tools))
    }

    fn rules<'a>(&'a self, tools: Option<&'a Tools>) -> lint::Project<'a> {
        lint::Project {
            severities: Some(&self.severities),
            policy: &self.policy,
            limits: &self.limits,
            allow: self.limit.as_ref(),
            root: &self.project.root,
            paths: &*self.host,
            tools,
        }
    }

    /// Checks one file; its findings weigh what the project and the command line say.
    #[must_use]
    pub fn check(&self, source: &SourceFile) -> CheckedFile {
        let mut checked = self.find(source, &self.files());
        self.severities.apply(&mut checked.diagnostics);
        checked
    }

    /// What is to say of `planrun.yaml` and the app files.
    #[must_use]
    pub fn findings(&self) -> Vec<FileReport> {
        let mut findings = self.findings.clone();
        let unknown = self.project.settings.agents.unknown_tools(&self.tools);
        if let (Some(source), false) = (&self.project.file, unknown.is_empty()) {
            findings.push(FileReport::new(source.clone(), unknown));
        }
        for file in &mut findings {
            self.severities.apply(&mut file.diagnostics);
        }
        findings
    }

    /// Checks one file, so that a plan of it can be run.
    #[must_use]
    pub fn checked(self: Arc<Self>, source: SourceFile) -> Checked {
        let (file, project) = (self.check(&source), self.findings());
        Checked {
            workspace: self,
            source,
            file,
            project,
        }
    }
}

impl Checked {
    /// What is to say of `planrun.yaml` and the app files.
    #[must_use]
    pub fn project_findings(&self) -> &[FileReport] {
        &self.project
    }

    /// Everything that was found, whatever its severity: in the project's own files, and then in this one.
    #[must_use]
    pub fn reports(&self) -> Vec<FileReport> {
        let own = FileReport::new(self.source.clone(), self.file.diagnostics.clone());
        let reports = self.project.iter().cloned().chain([own]);
        reports
            .filter(|report| !report.diagnostics.is_empty())
            .collect()
    }

    /// The plan of this name, or the only one of the file. Where there are errors none is looked for.
    ///
    /// # Errors
    /// [`Error::PlanChoice`].
    pub fn choose(mut self, name: Option<&str>) -> Result<Choice, Error> {
        let failed = self.file.diagnostics.iter().any(Diagnostic::is_error);
        let unsound = self
            .project
            .iter()
            .flat_map(|file| &file.diagnostics)
            .any(Diagnostic::is_error);
        let chosen = if failed || unsound {
            None
        } else {
            Some(choose(&self.file.plans, name)?)
        };
        // Notes are for `check`; here they would only stand in the way of what was asked for, and so would warnings about
        // plans that have no part in it.
        let wanted = if failed {
            Severity::Error
        } else {
            Severity::Warning
        };
        let others = chosen
            .as_ref()
            .map(|plan| others(&self.file, plan))
            .unwrap_or_default();
        let elsewhere = |found: &Diagnostic| others.iter().any(|other| other.contains(found.span));
        let found = std::mem::take(&mut self.file.diagnostics).into_iter();
        let reported = found
            .filter(|found| found.severity <= wanted && !elsewhere(found))
            .collect::<Vec<_>>();
        let report = FileReport::new(self.source, reported);
        let Some(plan) = chosen else {
            return Ok(Choice { report, plan: None });
        };
        let workspace = self.workspace;
        let rules = workspace.rules(Some(&workspace.tools));
        let obstacles = lint::obstacles(&report.source, &self.file, &plan, &rules);
        let is_reported = |one: &Diagnostic| {
            report
                .diagnostics
                .iter()
                .any(|known| (known.code, known.span) == (one.code, one.span))
        };
        let obstacles = obstacles
            .into_iter()
            .map(|finding| Obstacle {
                reported: is_reported(&finding),
                finding,
            })
            .collect();
        let plan = CheckedPlan {
            workspace,
            source: report.source.clone(),
            plan,
            begun: Begun::default(),
            obstacles,
        };
        Ok(Choice {
            report,
            plan: Some(plan),
        })
    }

    /// The same for whoever wants nothing but a plan that can be run.
    ///
    /// # Errors
    /// [`Error::PlanChoice`]; [`Error::Findings`] where there are errors.
    pub fn plan(self, name: Option<&str>) -> Result<CheckedPlan, Error> {
        let mut reports = self.project.clone();
        let Choice { report, plan } = self.choose(name)?;
        plan.ok_or_else(|| {
            reports.push(report);
            Error::Findings(reports)
        })
    }
}

impl CheckedPlan {
    /// The inputs of a run as a program gives them.
    ///
    /// # Errors
    /// [`Error::Invalid`] where one is unknown or does not fit; [`Error::MissingInputs`].
    pub fn inputs(&self, given: Map<String, Json>) -> Result<Inputs, Error> {
        let mut reader = super::InputReader::new(&self.plan);
        reader.take_object(given)?;
        reader.finish()
    }

    /// Refuses a plan that could not be done as a whole, were it started now.
    ///
    /// # Errors
    /// [`Error::Obstacles`].
    pub fn ready(&self) -> Result<(), Error> {
        self.unobstructed(&[])
    }

    /// Refuses a plan that something outside of these places keeps from being done as a whole.
    ///
    /// # Errors
    /// [`Error::Obstacles`].
    pub(super) fn unobstructed(&self, over: &[Span]) -> Result<(), Error> {
        let ahead =
            |obstacle: &&Obstacle| !over.iter().any(|span| span.contains(obstacle.finding.span));
        let ahead = self.obstacles.iter().filter(ahead).collect::<Vec<_>>();
        if ahead.is_empty() {
            return Ok(());
        }
        let new = ahead
            .iter()
            .filter(|obstacle| !obstacle.reported)
            .map(|obstacle| obstacle.finding.clone());
        Err(Error::Obstacles(Box::new(FileReport::new(
            self.source.clone(),
            new.collect(),
        ))))
    }
}

/// What plans of a project are checked against.
fn tools(project: &Project, host: &Arc<dyn Host>, own: &[Tool]) -> Tools {
    let catalog = project.catalog(host, &Arc::new(Permissions::none()), None);
    let mut tools = catalog.tools();
    for tool in own {
        tools.insert(tool.signature.clone());
    }
    tools.unlocked = project.unlocked().cloned().collect();
    tools
}

/// The machine itself.
#[must_use]
pub fn real_host() -> Arc<dyn Host> {
    Arc::new(RealHost)
}

fn choose(plans: &[Arc<Plan>], name: Option<&str>) -> Result<Arc<Plan>, Error> {
    let chosen = match (name, plans) {
        (Some(name), _) => plans.iter().find(|plan| &*plan.name == name),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    chosen.cloned().ok_or_else(|| {
        let plans = plans.iter().map(|plan| plan.name.to_string()).collect();
        Error::PlanChoice {
            wanted: name.map(str::to_owned),
            plans,
        }
    })
}

/// The items of a file that have no part in a plan: tests, and plans that neither it nor one of those calls.
fn others(checked: &CheckedFile, plan: &Arc<Plan>) -> Vec<Span> {
    let part = plan.with_called();
    let is_other = |item: &&Item| match &item.kind {
        ItemKind::Test(_) => true,
        ItemKind::Plan(own) => part
            .iter()
            .all(|plan| plan.name != own.name.text || !item.span.contains(plan.span)),
        ItemKind::Use(_) | ItemKind::Type(_) | ItemKind::Tool(_) | ItemKind::Error => false,
    };
    checked
        .tree
        .items
        .iter()
        .filter(is_other)
        .map(|item| item.span)
        .collect()
}

/// What `retry` of a project says, by tool.
fn retries(written: &[(String, Map<String, Json>)]) -> Result<Arc<[ToolRetry]>, String> {
    let one = |(name, settings): &(String, Map<String, Json>)| {
        let policy = Map::from_iter([("retry".to_owned(), Json::Object(settings.clone()))]);
        let retry = Policy::from_project(&policy)
            .map_err(|error| format!("retry of {name}: {error}"))?
            .retry;
        Ok(ToolRetry {
            tools: tool_names(name).map_err(|error| format!("retry: {error}"))?,
            retry,
        })
    };
    written.iter().map(one).collect()
}

fn tool_names(written: &str) -> Result<ToolNames, String> {
    ToolNames::find(written).ok_or_else(|| {
        format!("`{written}` names no tool; write `namespace.tool`, or `namespace.*`")
    })
}
