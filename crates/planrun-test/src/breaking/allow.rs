//! Permissions: patterns that `allow` gained or lost between the two versions.

use std::path::Path;

use planrun_lang::permission::{Grant, Permissions, ReachedProgram};
use planrun_lang::source::Span;
use planrun_lang::syntax::ast;
use planrun_tools::host::MemoryHost;
use reqwest::Url;

use super::{Changes, Side, kind};

/// Paths that are tested for a file pattern, relative to it: the path itself and paths below it.
const BELOW: [&str; 3] = ["", "/one", "/one/more"];

pub(super) fn inspect(changes: &mut Changes<'_>) {
    let (then, now) = (changes.then, changes.now);
    let [was, is] = [then, now].map(|side| side.plan.allow.clone().unwrap_or_default());
    for (setting, pattern) in patterns_not_in(&is, &was) {
        let places = (allow(then), entry(now, pattern).or_else(|| allow(now)));
        let message =
            format!("`allow` now lists {setting}: \"{pattern}\", which was not allowed before");
        let subject = format!("{setting}: {pattern}");
        changes.note(&kind::PERMISSION_ADDED, subject, message, places);
    }
    for (setting, pattern) in patterns_not_in(&was, &is) {
        let places = (entry(then, pattern).or_else(|| allow(then)), allow(now));
        let message = format!("`allow` no longer allows {setting}: \"{pattern}\"");
        let subject = format!("{setting}: {pattern}");
        changes.note(&kind::PERMISSION_REMOVED, subject, message, places);
    }
}

/// Returns the patterns of a grant that the other grant does not allow, each with its setting.
fn patterns_not_in<'a>(grant: &'a Grant, other: &'a Grant) -> Vec<(&'static str, &'a str)> {
    let mut found = Vec::new();
    for (setting, own, others) in [
        ("tools", &grant.tools, &other.tools),
        ("agents", &grant.agents, &other.agents),
    ] {
        let (own, others) = (listed(own.as_ref()), listed(others.as_ref()));
        let is_new = |pattern: &&&str| !others.iter().any(|other| covers_calls(other, pattern));
        found.extend(own.iter().filter(is_new).map(|pattern| (setting, *pattern)));
    }
    for (setting, own, others) in [
        ("net", &grant.net, &other.net),
        ("read", &grant.read, &other.read),
        ("write", &grant.write, &other.write),
        ("run", &grant.run, &other.run),
        ("env", &grant.env, &other.env),
    ] {
        for pattern in own.iter().filter(|pattern| !others.contains(pattern)) {
            let allowed = others.iter().any(|other| covers(setting, other, pattern));
            if !allowed && !found.contains(&(setting, pattern.as_str())) {
                found.push((setting, pattern.as_str()));
            }
        }
    }
    found
}

/// Returns the tools or agents that a grant allows to be called; all of them if it has no list.
fn listed(list: Option<&Vec<String>>) -> Vec<&str> {
    match list {
        Some(list) => list.iter().map(String::as_str).collect(),
        None => vec!["*"],
    }
}

fn covers_calls(outer: &str, inner: &str) -> bool {
    let namespace = outer.strip_suffix(".*");
    outer == "*"
        || outer == inner
        || namespace.is_some_and(|name| inner.split_once('.').is_some_and(|(own, _)| own == name))
}

/// Returns true if everything that `inner` allows is known to be allowed by `outer`. A pattern with wildcards is
/// covered by an equal pattern, by one that allows everything, and by the folder that contains all its matches.
fn covers(setting: &'static str, outer: &str, inner: &str) -> bool {
    let outer_only = grant_of(setting, outer);
    let (root, host) = (Path::new("/"), MemoryHost::default());
    let Ok(permissions) = Permissions::new(&outer_only, root, &host) else {
        return false;
    };
    if setting == "net" {
        // IP addresses must be listed explicitly: no pattern of host names covers them.
        let names = inner.contains(|one: char| one.is_ascii_alphabetic()) || inner == "*";
        return (outer == "*" && names && !inner.starts_with('['))
            || addresses(inner)
                .is_some_and(|all| all.iter().all(|url| permissions.net(url).is_ok()));
    }
    let is_wild = |text: &str| text.contains(['*', '?', '[', '{', '\\']);
    match setting {
        "run" => {
            let program = ReachedProgram::of(&host, root, inner);
            !is_wild(inner) && permissions.run(&program).is_ok()
        }
        "env" => permissions.env(inner).is_ok(),
        _ => {
            let plain = inner
                .split('/')
                .take_while(|part| !is_wild(part))
                .collect::<Vec<_>>()
                .join("/");
            // The folder before the first wildcard represents `inner` only if `outer` has no wildcards itself.
            let known = plain == inner || !is_wild(outer) || outer == "**";
            let paths = BELOW
                .iter()
                .map(|end| Path::new("/").join(format!("{plain}{end}")));
            let allows = |path: &Path| match setting {
                "write" => permissions.write(path, inner).is_ok(),
                _ => permissions.read(path, inner).is_ok(),
            };
            // The target of `..` is unknown until the path is resolved.
            known
                && !inner.split('/').any(|part| part == "..")
                && paths.into_iter().all(|path| allows(&path))
        }
    }
}

/// Returns a grant of a single pattern.
fn grant_of(setting: &str, pattern: &str) -> Grant {
    let mut grant = Grant::default();
    let patterns = match setting {
        "net" => &mut grant.net,
        "read" => &mut grant.read,
        "write" => &mut grant.write,
        "run" => &mut grant.run,
        _ => &mut grant.env,
    };
    patterns.push(pattern.to_owned());
    grant
}

/// Returns sample URLs for a pattern of hosts; `None` if its host name has wildcards.
fn addresses(pattern: &str) -> Option<Vec<Url>> {
    let behind = pattern.rfind(']').map_or(0, |at| at + 1);
    let colon = pattern.get(behind..)?.rfind(':').map(|at| behind + at);
    let (host, port) = colon.map_or((pattern, None), |at| {
        (&pattern[..at], pattern.get(at + 1..))
    });
    let bracketed = host.starts_with('[');
    if host.contains(['*', '?', '{', '\\']) || (!bracketed && host.contains('[')) {
        return None;
    }
    let urls = match port {
        None => vec![format!("http://{host}/"), format!("https://{host}/")],
        // The default port of each scheme, and one that is the default of neither.
        Some("*") => ["80", "443", "49151"]
            .map(|port| format!("http://{host}:{port}/"))
            .into(),
        Some(port) => vec![format!("http://{host}:{port}/")],
    };
    urls.iter().map(|url| Url::parse(url).ok()).collect()
}

/// Returns the span of the settings of `allow`.
fn allow(side: Side<'_>) -> Option<Span> {
    settings(side).map(|settings| settings.span)
}

fn settings(side: Side<'_>) -> Option<&ast::Expr> {
    side.written.body.statements.iter().find_map(|statement| {
        if let ast::StatementKind::Allow(settings) = &statement.kind {
            Some(settings)
        } else {
            None
        }
    })
}

/// Returns the span of a pattern inside `allow`.
fn entry(side: Side<'_>, pattern: &str) -> Option<Span> {
    let settings = settings(side)?;
    let start = settings.span.start as usize;
    let written = format!("\"{pattern}\"");
    let at = side.source.slice(settings.span).find(&written)?;
    Some(Span::new(start + at, start + at + written.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_allowed_in_other_words_is_not_new() {
        let covered = [
            ("net", "*", "*.example.com:8443"),
            ("net", "*.example.com", "api.example.com"),
            ("net", "127.0.0.1:*", "127.0.0.1:80"),
            ("net", "[::1]:*", "[::1]:80"),
            ("read", "data", "data/deep/a.txt"),
            ("read", "data", "data/*.md"),
            ("read", "**", "data"),
            ("write", "out", "out/a"),
            ("run", "git*", "git"),
        ];
        let beyond = [
            ("net", "api.example.com", "api.example.com:*"),
            ("net", "*.example.com", "*.org"),
            ("net", "127.0.0.1:80", "127.0.0.1"),
            ("read", "data/*.md", "data/a.txt"),
            ("read", "data/*", "data/a"),
            ("read", "data", "data/../secret"),
            ("read", "data", "*"),
            ("write", "out/a", "out"),
            ("run", "git", "git*"),
            ("env", "HOME", "HOM"),
        ];
        for (setting, outer, inner) in covered {
            assert!(
                covers(setting, outer, inner),
                "{setting}: {outer} allows {inner}"
            );
        }
        for (setting, outer, inner) in beyond {
            assert!(
                !covers(setting, outer, inner),
                "{setting}: {outer} does not allow {inner}"
            );
        }
    }
}
