//! `permission-missing` and `path-escapes`: a call that is denied, whatever the data.

use super::Subject;
use super::subject::{allow, entry};
use crate::diag::{Diagnostic, Edit, Severity, codes};
use crate::lint::reach::{Access, Denial, Lists, Need, Open, Reach, leaves_root};
use crate::permission::{self, Giver, Permissions, entry as entry_of, quoted, remedy};
use crate::source::Span;
use crate::syntax::ast;

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    inspect(subject, true, found);
}

/// Reports only the calls whose denial would fail the run.
pub(super) fn obstacles(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    inspect(subject, false, found);
}

fn inspect(subject: &Subject<'_>, hidden: bool, found: &mut Vec<Diagnostic>) {
    let project = subject.project;
    let own = subject.plan.allow.as_ref();
    let lists = Lists {
        tools: own.is_some_and(|own| own.tools.is_some())
            || project.allow.is_some_and(Permissions::lists_tools),
        agents: own.is_some_and(|own| own.agents.is_some())
            || project.allow.is_some_and(Permissions::lists_agents),
    };
    let reach = Reach::of(&subject.walked(), lists);
    let compile = |grant| Permissions::new(grant, project.root, project.paths);
    let own = match subject.plan.allow.as_ref().map(compile).transpose() {
        Ok(own) => own,
        Err(error) => {
            let span = subject
                .setting(allow)
                .map_or(subject.plan.span, |allow| allow.span);
            let finding = codes::safety::PERMISSION_MISSING.at(span, error.to_string());
            return found
                .push(finding.help(
                    "correct it: until then nothing is allowed, and the plan does not start",
                ));
        }
    };
    if reach.needs.is_empty() && reach.open.is_empty() {
        return;
    }
    let forbidden = |need: &Need| need.forbidden(project.allow, (project.root, project.paths));
    let (never, needs) = reach
        .needs
        .iter()
        .filter(|need| match need.denial {
            Denial::Fails => true,
            Denial::Hidden => hidden,
            Denial::Expected => false,
        })
        .partition::<Vec<_>, _>(|need| forbidden(need).is_some());
    for need in never {
        if let Some(why) = forbidden(need) {
            found.push(unless_hidden(need, never_allowed(need, why)));
        }
    }
    if own.is_none() && project.allow.is_none() {
        return nothing_allowed(subject, &reach, &needs, found);
    }
    for need in needs {
        let refused = |grant: Option<&Permissions>| {
            let asked = grant.map(|grant| need.ask(grant, project.root, project.paths));
            asked.and_then(Result::err)
        };
        let (own, outer) = (refused(own.as_ref()), refused(project.allow));
        if own.is_some() || outer.is_some() {
            let finding = denied(subject, need, own.is_none(), outer.as_ref());
            found.push(unless_hidden(need, finding));
        }
    }
    let unknown = first_of_each(&reach);
    found.extend(unknown.filter_map(|open| never_granted(open, own.as_ref(), project.allow)));
}

/// Returns the first place at which something unknown is accessed whose denial fails the plan, for each kind of access
/// of which nothing is known.
fn first_of_each(reach: &Reach) -> impl Iterator<Item = &Open> {
    let kinds = Access::ALL.into_iter();
    let unknown = kinds.filter(|access| !reach.needs.iter().any(|need| need.access == *access));
    unknown.filter_map(|access| {
        let mut open = reach.open.iter();
        open.find(|open| open.access == access && open.denial == Denial::Fails)
    })
}

/// Reports a call that is denied whatever its target is: a list that would have to allow it is empty, that of the plan
/// (`own`) or that of the project (`outer`).
fn never_granted(
    open: &Open,
    own: Option<&Permissions>,
    outer: Option<&Permissions>,
) -> Option<Diagnostic> {
    let setting = open.access.name();
    let closed =
        |grant: Option<&Permissions>| grant.is_some_and(|grant| grant.allows_none(setting));
    let (own, outer) = (closed(own), closed(outer));
    let whose = match (own, outer) {
        (true, true) => "neither the plan nor the project has",
        (true, false) => "the plan's `allow` has no",
        (false, true) => "the project's `allow` has no",
        (false, false) => return None,
    };
    let place = match (own, outer) {
        (true, true) => "`allow` of the plan and of planrun.yaml",
        (true, false) => "`allow` of the plan",
        (false, _) => "`allow` of planrun.yaml",
    };
    let message = format!(
        "{} is not allowed here: {whose} `{setting}`",
        open.access.action()
    );
    let finding = codes::safety::PERMISSION_MISSING.at(open.span, message);
    Some(
        finding
            .note("denied.policy, whatever the target is")
            .help(format!(
                "add patterns for the targets to `{setting}` of {place}"
            )),
    )
}

/// Reports the needs of a plan without permissions in a project without permissions, which only a caller's `allow` can
/// satisfy.
fn nothing_allowed(
    subject: &Subject<'_>,
    reach: &Reach,
    needs: &[&Need],
    found: &mut Vec<Diagnostic>,
) {
    let is_call = subject.project.is_call;
    let unless_called = |finding| {
        if is_call {
            finding
        } else {
            unless_called(finding)
        }
    };
    for need in needs {
        found.push(unless_called(denied(subject, need, false, None)));
    }
    let kinds = Access::ALL.into_iter();
    for access in
        kinds.filter(|access| !matches!(access, Access::Env | Access::Tools | Access::Agents))
    {
        let known = reach.needs.iter().any(|need| need.access == access);
        let Some(open) = reach
            .open
            .iter()
            .find(|open| open.access == access && !known)
        else {
            continue;
        };
        let (whose, in_plan) = if is_call {
            ("the project", String::new())
        } else {
            let in_plan = format!(
                "`allow {{ {}: […] }}` at the top of the plan, or ",
                access.name()
            );
            ("this plan", in_plan)
        };
        let message = format!(
            "{} requires a permission, but {whose} allows nothing",
            access.action()
        );
        let help = format!(
            "add {in_plan}`allow: {{ {}: […] }}` to planrun.yaml",
            access.name()
        );
        found.push(unless_called(
            codes::safety::PERMISSION_MISSING
                .at(open.span, message)
                .help(help),
        ));
    }
}

/// Makes a diagnostic a warning, since another plan may call this one and grant the permission.
fn unless_called(mut finding: Diagnostic) -> Diagnostic {
    finding.severity = Severity::Warning;
    finding.note("denied, unless a plan that calls this one allows it")
}

/// Makes a diagnostic a warning if something hides the failure of the call: the run continues without its result.
fn unless_hidden(need: &Need, finding: Diagnostic) -> Diagnostic {
    if need.denial != Denial::Hidden {
        return finding;
    }
    let mut finding =
        finding.note("denied.policy in every run, but all failures are caught or settled here");
    finding.severity = Severity::Warning;
    finding
}

/// Reports a file that no permission gives access to.
fn never_allowed(need: &Need, why: &str) -> Diagnostic {
    let file = need.pattern();
    let file = match &need.within {
        Some(name) => format!("`{file}`, which `{name}` uses,"),
        None => format!("`{file}`"),
    };
    codes::safety::PERMISSION_MISSING
        .at(need.span, format!("{file} {why}"))
        .note("denied.policy")
        .help("use another file")
}

/// Reports what is not allowed: by the plan itself unless it is `own`, and by those outside of the plan that the denial
/// names.
fn denied(
    subject: &Subject<'_>,
    need: &Need,
    own: bool,
    outer: Option<&permission::Denial>,
) -> Diagnostic {
    let (setting, pattern) = (need.access.name(), need.pattern());
    let whose = match &need.within {
        Some(name) => format!(
            "`{name}` requires {} `{pattern}`, which is not allowed here",
            doing(need.access)
        ),
        None => format!("{} `{pattern}` is not allowed", doing(need.access)),
    };
    if leaves_root(&need.resource) {
        let message = format!("`{pattern}` leads out of the project, which is not allowed");
        let help = "use a file inside of the project, or allow the folder by its own path";
        return codes::safety::PATH_ESCAPES
            .at(need.span, message)
            .help(help);
    }
    let finding = codes::safety::PERMISSION_MISSING
        .at(need.span, whose)
        .note("denied.policy");
    if let Some(outer) = outer {
        if !outer.by.contains(&Giver::Project) {
            let plan = [Giver::Plan].into_iter().filter(|_| !own);
            let by: Vec<Giver> = plan.chain(outer.by.iter().cloned()).collect();
            return finding.help(remedy(setting, &pattern, &by));
        }
        let which = if own {
            "the project's planrun.yaml"
        } else {
            "neither the plan nor the project's planrun.yaml"
        };
        let verb = if own { "does not allow" } else { "allows" };
        let (entry, _) = entry_of(setting, &pattern);
        return finding.help(format!(
            "add `{entry}` to `{setting}` of `allow`: {which} {verb} it"
        ));
    }
    let available = subject
        .plan
        .allow
        .as_ref()
        .map(|grant| need.access.patterns(grant))
        .unwrap_or_default();
    let finding = finding.available(available);
    let (entry, rewrite) = entry_of(setting, &pattern);
    let entry = quoted(&entry);
    let help = format!("{rewrite}to allow it, write `allow {{ {setting}: [{entry}] }}`");
    let edit = addition(subject, need.access, &entry).filter(|_| rewrite.is_empty());
    match edit {
        Some(edit) => finding
            .help(help)
            .unsafe_fix(format!("allow `{pattern}`"), vec![edit]),
        None => finding.help(help),
    }
}

/// Returns the action that a setting allows, for messages that name the resource after it.
fn doing(access: Access) -> &'static str {
    match access {
        Access::Net => "a request to",
        Access::Read => "reading",
        Access::Write => "writing",
        Access::Run => "running",
        Access::Env => "setting the variable",
        Access::Tools => "calling",
        Access::Agents => "calling the agent",
    }
}

/// Returns the edit that adds a pattern to the plan's `allow`.
fn addition(subject: &Subject<'_>, access: Access, pattern: &str) -> Option<Edit> {
    if !subject.is_text() {
        return None;
    }
    let Some(written) = subject.setting(allow) else {
        let body = subject.written.body.span.start as usize;
        let setting = format!("allow {{ {}: [{pattern}] }}", access.name());
        let has_braces = subject
            .source
            .slice(subject.written.body.span)
            .starts_with('{');
        return Some(if has_braces {
            Edit::new(Span::at(body + 1), format!("\n    {setting}"))
        } else {
            Edit::new(Span::at(body), format!("{setting}\n"))
        });
    };
    match entry(written, access.name()) {
        Some(list) => behind_last(list, pattern),
        None => behind_last(written, &format!("{}: [{pattern}]", access.name())),
    }
}

/// Returns the edit that appends an element to a list or to settings.
fn behind_last(within: &ast::Expr, text: &str) -> Option<Edit> {
    let last = match &within.kind {
        ast::ExprKind::List(items) => items.last().map(|item| item.span),
        ast::ExprKind::Object(entries) => entries.last().map(|entry| entry.span),
        _ => return None,
    };
    let (at, text) = match last {
        Some(last) => (last.end as usize, format!(", {text}")),
        None => (within.span.start as usize + 1, text.to_owned()),
    };
    Some(Edit::new(Span::at(at), text))
}
