//! A project with its tools, and plans checked against it.

use std::path::Path;
use std::sync::Arc;

use planrun_lang::diag::codes::safety::SECRET_LEAKS;
use planrun_lang::diag::render::FileReport;
use planrun_lang::diag::{Diagnostic, Severities, Severity};
use planrun_lang::lint;
use planrun_lang::permission::{Confinement, Giver, Permissions};
use planrun_lang::sema::{Budget, CheckedFile, Files, Plan, Policy, Tools, plan_of_call};
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

use super::plan_text::{self, CALL};
use super::prefetch::Prefetch;
use super::used_plans::UsedPlans;
use super::{Error, Inputs};
use planrun_core::run::{Defaults, ToolNames, ToolRetry};

/// A project with its tools.
pub struct Workspace {
    pub host: Arc<dyn Host>,
    /// Reads the files of the project; for a recorded run, the pinned ones.
    reading: Arc<PinnedHost>,
    pub location: Location,
    pub project: Project,
    /// The project's limit on the permissions of plans; `None` if it sets none.
    pub limit: Option<Permissions>,
    /// Settings for what plans leave open.
    pub policy: Policy,
    /// Upper limits of what a run may use.
    pub limits: Budget,
    retries: Arc<[ToolRetry]>,
    confirm: Arc<[ToolNames]>,
    /// Severities of diagnostics, as configured by the project and overridden by the command line.
    pub severities: Severities,
    /// Findings in `planrun.yaml` and the app files.
    findings: Vec<FileReport>,
    pub(super) tools: Tools,
    /// Tools of the program that uses the service, which take precedence over those of the project.
    pub(super) own_tools: Arc<[Tool]>,
    /// Grants that restrict its plans in addition to the project's `allow`, if a model writes them.
    pub confined: Option<Arc<[Confinement]>>,
}

/// A checked plan file before one of its plans is chosen.
pub struct Checked {
    workspace: Arc<Workspace>,
    source: SourceFile,
    file: CheckedFile,
    project: Vec<FileReport>,
}

/// One plan of a checked file.
pub struct Choice {
    /// The errors; if there are none, warnings about the plan and what it calls.
    pub report: FileReport,
    /// `None` if the file or its project has errors, because what these leave out would be missing in the run.
    pub plan: Option<CheckedPlan>,
}

/// A plan without errors, with its text and its project.
#[derive(Clone)]
pub struct CheckedPlan {
    pub workspace: Arc<Workspace>,
    pub source: Arc<SourceFile>,
    pub plan: Arc<Plan>,
    /// Connections and reads that a run of it takes over.
    pub(super) prefetch: Prefetch,
    /// Why a run of it would fail, whatever the data.
    obstacles: Vec<Obstacle>,
}

/// A finding that would prevent a run from completing.
#[derive(Clone)]
struct Obstacle {
    finding: Diagnostic,
    /// Whether the report of the check contains it already.
    reported: bool,
}

impl Workspace {
    /// Opens the project of a plan.
    ///
    /// # Errors
    /// Returns an error if the project's file cannot be used.
    pub fn open(plan: &Path, folder: Option<&Path>) -> Result<Self, Error> {
        let host = real_host();
        let location = Self::locate(&*host, plan, folder)?;
        Self::at(host, &location)
    }

    /// Opens a project as it was when a run began.
    ///
    /// # Errors
    /// Returns an error if the project's file cannot be used.
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

    /// Returns the files that were read for the project and its plans so far.
    #[must_use]
    pub fn pins(&self) -> Pins {
        self.reading.pins()
    }

    /// Returns the location of a plan's project; for `-`, that of the current folder.
    ///
    /// # Errors
    /// Returns an error if the folder that the user named contains no project.
    pub fn locate(host: &dyn Host, plan: &Path, folder: Option<&Path>) -> Result<Location, Error> {
        let plan = (plan.as_os_str() != "-").then_some(plan);
        Location::of(host, plan, folder).map_err(|error| Error::Unusable(error.to_string()))
    }

    /// Opens the project at a location.
    ///
    /// # Errors
    /// Returns an error if the project's file cannot be used.
    pub fn at(host: Arc<dyn Host>, location: &Location) -> Result<Self, Error> {
        Self::with_tools(host, location, &Arc::default())
    }

    /// Opens the project at a location, with tools of the program.
    pub(super) fn with_tools(
        host: Arc<dyn Host>,
        location: &Location,
        own_tools: &Arc<[Tool]>,
    ) -> Result<Self, Error> {
        let reading = Arc::new(PinnedHost::recording(host.clone()));
        Self::of(host, reading, location.clone(), own_tools.clone())
    }

    /// Returns the same project with another lock file.
    ///
    /// # Errors
    /// Returns an error if the project's file can no longer be used.
    pub fn with_lock(&self, lock: Lock) -> Result<Self, Error> {
        let (host, reading) = (self.host.clone(), self.reading.clone());
        let mut other = Self::of(host, reading, self.location.clone(), self.own_tools.clone())?;
        other.project.lock = Arc::new(lock);
        other.tools = tools(&other.project, &other.host, &other.own_tools);
        Ok(other)
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
        let allow = project.settings.allow.as_ref();
        let limit = allow.map(|grant| Permissions::new(grant, &project.root, &*host));
        let limit = limit.transpose();
        let limit = limit.map_err(|error| environment(format!("planrun.yaml: {error}")))?;
        let limit = limit.map(|limit| project.protecting(limit.given_by(&Giver::Project), &*host));
        let policy = Policy::from_project(&project.settings.policy);
        let policy =
            policy.map_err(|error| environment(format!("planrun.yaml: policy: {error}")))?;
        let limits = [("budget".to_owned(), project.settings.limits.clone().into())];
        let limits = Policy::from_project(&Map::from_iter(limits))
            .map_err(|error| environment(format!("planrun.yaml: limits: {error}")))?
            .budget;
        let retries = retries(&project.settings.retry)
            .map_err(|error| environment(format!("planrun.yaml: {error}")))?;
        let confirm = project.settings.confirm.iter();
        let confirm = confirm.map(|name| tool_names(name));
        let confirm = confirm.collect::<Result<_, _>>();
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

    /// Returns the project's settings for what plans leave open.
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

    /// Returns the question that is asked before each call of a tool, if the project requires a confirmation.
    pub(super) fn question_before(&self, tool: &str) -> Option<String> {
        let (namespace, name) = tool.split_once('.')?;
        self.confirm
            .iter()
            .any(|tools| tools.names(namespace, name))
            .then(|| ToolNames::question(tool))
    }

    /// Returns every tool of the project, with those of the program taking precedence. `endpoint` returns the address
    /// that replaces that of an app.
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

    /// Returns the plan files that plans can use.
    #[must_use]
    pub fn files(&self) -> impl Files + Sync + '_ {
        UsedPlans {
            host: &*self.reading,
            root: &self.project.root,
            has_project_file: self.location.file.is_some(),
        }
    }

    /// Checks one file, before severities are applied.
    #[must_use]
    pub fn find(&self, source: &SourceFile, files: &dyn Files) -> CheckedFile {
        // Without a project and without tools of the program, a plan may be meant for any project.
        let knows_tools = self.location.file.is_some() || !self.own_tools.is_empty();
        let tools = knows_tools.then_some(&self.tools);
        let rules = lint::Project {
            by_model: self.confined.is_some() && plan_text::is_handed_in(source),
            is_call: source.name() == CALL,
            ..self.rules(tools)
        };
        lint::check_file(source, &self.tools, files, &rules)
    }

    fn rules<'a>(&'a self, tools: Option<&'a Tools>) -> lint::Project<'a> {
        lint::Project {
            severities: Some(&self.severities),
            calls: Some(self),
            policy: &self.policy,
            limits: &self.limits,
            allow: self.limit.as_ref(),
            root: &self.project.root,
            paths: &*self.host,
            tools,
            by_model: false,
            is_call: false,
        }
    }

    /// Checks one file, and applies the severities of the project and the command line.
    #[must_use]
    pub fn check(&self, source: &SourceFile) -> CheckedFile {
        let mut checked = self.find(source, &self.files());
        self.severities.apply(&mut checked.diagnostics);
        checked
    }

    /// Returns the findings in `planrun.yaml` and the app files.
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

    /// Checks one file, so that one of its plans can be run.
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

    /// Checks a plan that makes one call, with the arguments `given`, and replies with its result. The reply is only
    /// displayed, redacted, so it may contain what the contract marks as sensitive.
    #[must_use]
    pub fn checked_call(self: Arc<Self>, tool: &Signature, given: &[&str]) -> Checked {
        let source = SourceFile::new(CALL, plan_of_call(tool, given));
        let mut checked = self.checked(source);
        (checked.file.diagnostics).retain(|found| *found.code != SECRET_LEAKS);
        checked
    }
}

impl Checked {
    /// Returns the findings in `planrun.yaml` and the app files.
    #[must_use]
    pub fn project_findings(&self) -> &[FileReport] {
        &self.project
    }

    /// Returns all findings of any severity: those in the project's own files, then those in this file.
    #[must_use]
    pub fn reports(&self) -> Vec<FileReport> {
        let own = FileReport::new(self.source.clone(), self.file.diagnostics.clone());
        let reports = self.project.iter().cloned().chain([own]);
        reports
            .filter(|report| !report.diagnostics.is_empty())
            .collect()
    }

    /// Chooses the plan of this name, or the only one of the file. If there are errors, no plan is chosen.
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
        // Notes are for `check`. Here they would only distract, and so would warnings about plans that are not
        // involved.
        let threshold = if failed {
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
            .filter(|found| found.severity <= threshold && !elsewhere(found))
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
            prefetch: Prefetch::default(),
            obstacles,
        };
        Ok(Choice {
            report,
            plan: Some(plan),
        })
    }

    /// As [`Self::choose`], but returns only the plan.
    ///
    /// # Errors
    /// [`Error::PlanChoice`]; [`Error::Findings`] if there are errors.
    pub fn plan(self, name: Option<&str>) -> Result<CheckedPlan, Error> {
        let mut reports = self.project.clone();
        let Choice { report, plan } = self.choose(name)?;
        let Some(mut plan) = plan else {
            reports.push(report);
            return Err(Error::Findings(reports));
        };
        // The report that contains them is not returned.
        for obstacle in &mut plan.obstacles {
            obstacle.reported = false;
        }
        Ok(plan)
    }
}

impl CheckedPlan {
    /// Converts inputs from JSON.
    ///
    /// # Errors
    /// [`Error::Invalid`] if an input is unknown or does not fit; [`Error::MissingInputs`].
    pub fn inputs(&self, given: Map<String, Json>) -> Result<Inputs, Error> {
        let mut reader = super::InputReader::new(&self.plan);
        reader.take_object(given)?;
        reader.finish()
    }

    /// Refuses a plan if a run that starts now could not complete.
    ///
    /// # Errors
    /// [`Error::Obstacles`].
    pub fn ready(&self) -> Result<(), Error> {
        self.unobstructed(&[])
    }

    /// Refuses a plan that could not complete because of an obstacle outside of these spans.
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

/// Returns the tools that plans of a project are checked against.
fn tools(project: &Project, host: &Arc<dyn Host>, own: &[Tool]) -> Tools {
    let catalog = project.catalog(host, &Arc::new(Permissions::none()), None);
    let mut tools = catalog.tools();
    for tool in own {
        tools.insert(tool.signature.clone());
    }
    tools.unlocked = project.unlocked().cloned().collect();
    tools
}

/// Returns the host that represents the real machine.
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
            requested: name.map(str::to_owned),
            plans,
        }
    })
}

/// Returns the spans of the items of a file that are not involved in a plan: tests, and plans that it does not call.
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

/// Parses the `retry` settings of a project, by tool.
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

impl lint::CallSettings for Workspace {
    fn confirms(&self, tool: &Signature) -> bool {
        self.confirm.iter().any(|tools| tools.covers(tool))
    }

    fn retries(&self, tool: &Signature) -> bool {
        self.retries.iter().any(|retry| retry.tools.covers(tool))
    }

    fn lacks_model(&self, prompt: &Signature, model: Option<&str>) -> Option<String> {
        let list = &self.project.settings.models;
        // Without configured models, the environment names one.
        if list.models.is_empty() || self.answers_itself(prompt) {
            return None;
        }
        list.find(model).err()
    }
}

fn tool_names(written: &str) -> Result<ToolNames, String> {
    ToolNames::find(written).ok_or_else(|| {
        format!("`{written}` is not the name of a tool; write `namespace.tool`, or `namespace.*`")
    })
}
