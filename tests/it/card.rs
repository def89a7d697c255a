//! Plans that were written with the language card, `search` and `describe` alone: the checker accepts the language that
//! the card teaches.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use planrun_tools::contract::{Lock, LockedServer, OfferedServer, OfferedTool};
use serde_json::Value as Json;

use crate::support::{cases, folder, planrun, root};

/// Tools that are read-only according to the project, because their servers do not declare it.
const READS: &[&str] = &[
    "convert_time",
    "describe_table",
    "directory_tree",
    "fetch",
    "get_current_time",
    "get_file_info",
    "git_branch",
    "git_diff",
    "git_diff_staged",
    "git_diff_unstaged",
    "git_log",
    "git_show",
    "git_status",
    "list_allowed_directories",
    "list_directory",
    "list_directory_with_sizes",
    "list_tables",
    "open_nodes",
    "read_file",
    "read_graph",
    "read_media_file",
    "read_multiple_files",
    "read_query",
    "read_text_file",
    "search_files",
    "search_nodes",
];

/// Returns `planrun.yaml` and the lock file of a project with these tools.
fn project(tools: &[Json]) -> (String, String) {
    let mut servers: BTreeMap<String, OfferedServer> = BTreeMap::new();
    for tool in tools {
        let text = |name: &str| tool[name].as_str().unwrap().to_owned();
        let offered = OfferedTool {
            description: Some(text("description")),
            input: tool["schema"].clone(),
            ..OfferedTool::default()
        };
        let server = servers.entry(text("server").replace('-', "_")).or_default();
        server.tools.insert(text("tool"), offered);
    }
    let (mut settings, mut lock) = ("tools:\n".to_owned(), Lock::default());
    for (name, offered) in servers {
        let reads = offered
            .tools
            .keys()
            .filter(|tool| READS.contains(&tool.as_str()));
        let classes: Vec<String> = reads.map(|tool| format!("{tool}: read")).collect();
        let classes = classes.join(", ");
        writeln!(
            settings,
            "  {name}: {{ mcp: {{ command: [nothing] }}, classes: {{ {classes} }} }}"
        )
        .unwrap();
        lock.servers
            .insert(name, LockedServer::default().renewed(offered));
    }
    (settings, lock.text())
}

#[test]
fn plans_that_were_written_from_the_card_pass_the_check() {
    let Some(cases) = cases("mcp") else { return };
    let tools = fs::read_to_string(cases.join("tools-45.json")).unwrap();
    let (settings, lock) = project(&serde_json::from_str::<Vec<Json>>(&tools).unwrap());
    let mut files = vec![
        ("planrun.yaml".to_owned(), settings),
        (Lock::FILE.to_owned(), lock),
    ];
    for entry in fs::read_dir(root().join("tests/it/card")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "plan") {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            files.push((name, fs::read_to_string(path).unwrap()));
        }
    }
    assert_eq!(files.len(), 22);
    let place = folder(
        files
            .iter()
            .map(|(name, text)| (name.as_str(), text.clone())),
    );
    let checked = planrun(["check", "--format", "short", "."])
        .within(place.path())
        .run();
    assert_eq!(checked.status, 0, "{checked:?}");
    assert!(!checked.stdout.contains(" error["), "{}", checked.stdout);
}
