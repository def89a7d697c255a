//! The rules of the project that tests can check: crates, rows, opening sentences, sizes, names, codes.
//!
//! Each test collects all violations of one rule and lists them as `file:line: reason`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value as Json;

use crate::support::root;

/// One crate of the workspace, with the rows of its modules.
struct Crate {
    name: &'static str,
    /// The folder of its `Cargo.toml`, relative to the root; empty for the root package.
    folder: &'static str,
    /// The crates of the workspace that it may depend on.
    uses: &'static [&'static str],
    /// A module imports only from lower rows of its crate, never from its own.
    rows: &'static [&'static [&'static str]],
}

/// The crates and their rows, as in the tables of `docs/architecture.md`.
const CRATES: &[Crate] = &[
    Crate {
        name: "planrun-lang",
        folder: "crates/planrun-lang",
        uses: &[],
        rows: &[
            &["source", "value", "words", "characters"],
            &["diag", "types", "permission", "protocol", "secrets", "yaml"],
            &["syntax", "builtins", "call", "example"],
            &["format", "sema"],
            &["graph", "eval", "origin"],
            &["lint", "bounds"],
        ],
    },
    Crate {
        name: "planrun-core",
        folder: "crates/planrun-core",
        uses: &["planrun-lang"],
        rows: &[&["journal"], &["run"]],
    },
    Crate {
        name: "planrun-tools",
        folder: "crates/planrun-tools",
        uses: &["planrun-lang"],
        rows: &[&["host", "contract"], &["tools"], &["project", "mock"]],
    },
    Crate {
        name: "planrun-import",
        folder: "crates/planrun-import",
        uses: &["planrun-lang"],
        rows: &[
            &["document", "report", "tree"],
            &["draft"],
            &["expression"],
            &["control_flow"],
            &["asl", "arazzo", "serverless", "calls", "aintegration"],
        ],
    },
    Crate {
        name: "planrun-runs",
        folder: "crates/planrun-runs",
        uses: &[
            "planrun-lang",
            "planrun-core",
            "planrun-tools",
            "planrun-models",
        ],
        rows: &[&["journal"], &["driver", "forecast"], &["runs"]],
    },
    Crate {
        name: "planrun-test",
        folder: "crates/planrun-test",
        uses: &[
            "planrun-lang",
            "planrun-core",
            "planrun-tools",
            "planrun-runs",
        ],
        rows: &[&["plantest", "breaking"]],
    },
    Crate {
        name: "planrun-models",
        folder: "crates/planrun-models",
        uses: &["planrun-lang", "planrun-tools"],
        rows: &[
            &["model"],
            &["wire", "double"],
            &["client", "arguments"],
            &["prompt"],
        ],
    },
    Crate {
        name: "planrun-serve",
        folder: "crates/planrun-serve",
        uses: &[
            "planrun-lang",
            "planrun-core",
            "planrun-tools",
            "planrun-runs",
        ],
        rows: &[
            &["tokens", "blocking"],
            &["discovery", "report"],
            &["asking"],
            &["page"],
            &["mode"],
            &["mcp"],
        ],
    },
    Crate {
        name: "planrun-agent",
        folder: "crates/planrun-agent",
        uses: &[
            "planrun-lang",
            "planrun-core",
            "planrun-tools",
            "planrun-models",
            "planrun-runs",
            "planrun-serve",
        ],
        rows: &[
            &[
                "profile",
                "answer",
                "blocks",
                "markup",
                "rules",
                "shortlist",
            ],
            &["planner", "references", "session", "file_tools"],
            &["toolbox"],
            &["turns"],
        ],
    },
    Crate {
        name: "planrun",
        folder: "",
        uses: &[
            "planrun-lang",
            "planrun-core",
            "planrun-import",
            "planrun-tools",
            "planrun-models",
            "planrun-runs",
            "planrun-serve",
            "planrun-agent",
            "planrun-test",
        ],
        rows: &[&["cli"], &["check", "run", "testing", "tool"]],
    },
];

/// The source folder of the language.
const LANGUAGE: &str = "crates/planrun-lang/src";
/// Maximum number of lines of a file before its tests.
const MAX_LINES: usize = 600;
/// Maximum number of lines of a function, including the signature and the closing brace.
const MAX_LINES_OF_A_FUNCTION: usize = 60;
/// Maximum number of public items of the root library, without re-exported types.
const MAX_PUBLIC_ITEMS: usize = 40;
/// Maximum number of methods of one type, in all its `impl` blocks in a crate.
const MAX_METHODS: usize = 40;
/// Maximum number of files in one import cycle.
const MAX_CYCLE: usize = 3;
/// Names that do not describe the purpose of a module.
const EMPTY_NAMES: &[&str] = &[
    "util", "utils", "common", "helper", "helpers", "imp", "misc", "prelude",
];
/// The places that may read the clock, the environment and randomness: the host, which everything else uses; the
/// terminal, which belongs to the command line; and `main`, which gets the arguments. Timers follow the runtime's
/// clock, which tests can pause.
const OUTSIDE: &[&str] = &[
    "crates/planrun-tools/src/host/",
    "src/cli/terminal.rs",
    "src/main.rs",
    "src/cli/mod.rs",
];

#[test]
fn modules_import_only_from_lower_rows() {
    let mut broken = Vec::new();
    for file in sources() {
        let Some((owner, own)) = file.module() else {
            continue;
        };
        let Some(own_row) = owner.row(own) else {
            broken.push(format!(
                "{}:1: `{own}` is in no row of `{}`: add it to the table here and in docs",
                file.name, owner.name
            ));
            continue;
        };
        for (line, imported) in file.imports() {
            let lower = owner.row(&imported).is_some_and(|row| row < own_row);
            if imported != own && !lower {
                broken.push(format!(
                    "{}:{line}: `{own}` may not use `{imported}`",
                    file.name
                ));
            }
        }
    }
    none(&broken);
}

#[test]
fn crates_use_only_what_they_may() {
    let workspace = CRATES.iter().map(|one| one.name);
    let mut broken = Vec::new();
    for one in CRATES {
        let used = one.dependencies();
        let inside = workspace.clone().filter(|name| used.contains(*name));
        let strays = inside.filter(|name| !one.uses.contains(name));
        broken.extend(strays.map(|name| format!("`{}` may not use `{name}`", one.name)));
    }
    let known: BTreeSet<&str> = CRATES.iter().map(|one| one.folder).collect();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = relative(&entry.unwrap().path());
        if !known.contains(folder.as_str()) {
            broken.push(format!("{folder} is in no table: add it here and in docs"));
        }
    }
    none(&broken);
}

/// The language and the state machine of a run are pure: everything they have to know of the outside is passed to them.
#[test]
fn language_and_core_reach_nothing_outside() {
    let outside = [
        r"\btokio\b",
        r"\bstd::(fs|net|env|process)\b",
        r"\bstd::\{[^;]*\b(fs|net|env|process)\b",
        r"\b(SystemTime|Instant|UNIX_EPOCH)\b",
        r"\bfastrand::[a-z]|\bRng::new\b",
    ];
    // The checker may use a thread with a larger stack, and a cache of compiled contracts.
    let concurrent =
        r"\b(thread|async|await|Mutex|RwLock|Condvar|Barrier|OnceLock|LazyLock|atomic|mpsc)\b";
    let mut broken = Vec::new();
    let pure = CRATES
        .iter()
        .filter(|one| ["planrun-lang", "planrun-core", "planrun-import"].contains(&one.name));
    let pure: Vec<&Crate> = pure.collect();
    for file in sources() {
        let inside = |(own, _): (&Crate, &str)| pure.iter().any(|one| one.name == own.name);
        if !file.module().is_some_and(inside) {
            continue;
        }
        let core = file.name.starts_with("crates/planrun-core/");
        for pattern in outside.into_iter().chain(core.then_some(concurrent)) {
            let strays = file.matches(&Regex::new(pattern).unwrap()).into_iter();
            broken.extend(strays.map(|(line, found)| format!("{}:{line}: `{found}`", file.name)));
        }
    }
    let clients = [
        "tokio",
        "tokio-util",
        "reqwest",
        "axum",
        "rusqlite",
        "rustix",
        "notify",
        "ignore",
    ];
    for one in pure {
        let used = one.dependencies().into_iter();
        broken.extend(
            used.filter(|name| clients.contains(&name.as_str()))
                .map(|name| format!("{}: depends on `{name}`", one.name)),
        );
    }
    none(&broken);
}

/// Users of a library cannot suppress what it prints.
#[test]
fn only_the_program_prints() {
    let prints = Regex::new(r"\b(e?print(ln)?|dbg)!|\bstd(out|err)\(\)").unwrap();
    let libraries = sources()
        .into_iter()
        .filter(|file| file.name.starts_with("crates/"));
    let broken = libraries.flat_map(|file| {
        let found = file.matches(&prints).into_iter();
        let lines = found.map(|(line, found)| format!("{}:{line}: `{found}`", file.name));
        lines.collect::<Vec<_>>()
    });
    none(&broken.collect::<Vec<_>>());
}

#[test]
fn the_tables_of_rows_are_the_documented_ones() {
    let text = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let line = Regex::new(r"(?m)^\| (\d) \| (`[^|]*`) \|").unwrap();
    for one in CRATES {
        let title = format!("\n### `{}`\n", one.name);
        let (_, rest) = text
            .split_once(&title)
            .unwrap_or_else(|| panic!("no{title}"));
        let section = rest.split("\n#").next().unwrap();
        let mut documented: BTreeMap<String, usize> = BTreeMap::new();
        for found in line.captures_iter(section) {
            for name in found[2].split(", ") {
                documented.insert(name.trim_matches('`').to_owned(), found[1].parse().unwrap());
            }
        }
        let rows = one.rows.iter().enumerate();
        let held: BTreeMap<String, usize> = rows
            .flat_map(|(row, names)| names.iter().map(move |name| ((*name).to_owned(), row)))
            .collect();
        assert_eq!(
            documented, held,
            "{}: left: docs/architecture.md, right: the rows here",
            one.name
        );
        for name in held.keys() {
            let module = root().join(one.sources()).join(name);
            let exists = module.exists() || module.with_extension("rs").exists();
            assert!(exists, "{}: there is no `{name}`", one.name);
        }
    }
}

#[test]
fn every_file_opens_with_what_it_is_for() {
    let broken = sources().into_iter().chain(tests()).filter_map(|file| {
        let opening: String = file
            .text
            .lines()
            .map_while(|line| line.strip_prefix("//!"))
            .take_while(|line| !line.is_empty())
            .collect();
        let sound = opening.starts_with(' ') && opening.trim_end().ends_with(['.', '?']);
        (!sound).then(|| format!("{}:1: no `//!` sentence", file.name))
    });
    none(&broken.collect::<Vec<_>>());
}

#[test]
fn files_and_functions_are_short() {
    let mut broken = Vec::new();
    for file in sources() {
        let lines = file.code().lines().count();
        if lines > MAX_LINES {
            broken.push(format!(
                "{}:{lines}: {lines} lines, at most {MAX_LINES}",
                file.name
            ));
        }
        for (line, length) in file.functions() {
            if length > MAX_LINES_OF_A_FUNCTION {
                broken.push(format!(
                    "{}:{line}: a function of {length} lines",
                    file.name
                ));
            }
        }
    }
    none(&broken);
}

/// A type with too many responsibilities is hard to understand.
#[test]
fn types_have_few_methods() {
    let head = Regex::new(r"(?m)^impl(<[^{;]*?>)? ((?s:[^{;]*?) for )?([\w:]+)[^{;]*\{\n").unwrap();
    let method = Regex::new(r"(?m)^    (pub(\([^)]*\))? )?((const|async|unsafe) )*fn \w").unwrap();
    let mut counts: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for file in sources() {
        let owner = file.owner().name;
        for found in head.captures_iter(file.code()) {
            let body = &file.code()[found.get(0).unwrap().end()..];
            let body = body.split("\n}\n").next().unwrap();
            let name = found[3].rsplit("::").next().unwrap().to_owned();
            *counts.entry((owner, name)).or_default() += method.find_iter(body).count();
        }
    }
    let many = counts.iter().filter(|(_, count)| **count > MAX_METHODS);
    let broken: Vec<String> = many
        .map(|((owner, name), count)| {
            format!("{owner}: `{name}` has {count} methods, at most {MAX_METHODS}")
        })
        .collect();
    none(&broken);
}

/// Files that import each other can only be understood together.
#[test]
fn circles_of_imports_are_small() {
    let mut broken = Vec::new();
    for one in CRATES {
        let cycles = Modules::of(one).cycles();
        let large = cycles.iter().filter(|cycle| cycle.len() > MAX_CYCLE);
        broken.extend(large.map(|cycle| {
            let (name, size) = (one.name, cycle.len());
            format!("{name}: a circle of {size} files: {}", cycle.join(" "))
        }));
    }
    none(&broken);
}

#[test]
fn modules_have_names_and_folders_have_mod_rs() {
    let mut broken = Vec::new();
    for file in sources() {
        let path = Path::new(&file.name);
        for part in path
            .with_extension("")
            .iter()
            .filter_map(|part| part.to_str())
        {
            if EMPTY_NAMES.contains(&part) {
                broken.push(format!("{}:1: `{part}` says nothing", file.name));
            }
        }
        let folder = path.parent().unwrap_or(path);
        let is_root = CRATES.iter().any(|one| folder == Path::new(&one.sources()));
        if !is_root && !root().join(folder).join("mod.rs").exists() {
            broken.push(format!("{}:1: its folder has no mod.rs", file.name));
        }
        if root().join(path.with_extension("")).is_dir() {
            broken.push(format!(
                "{}:1: belongs into its folder as mod.rs",
                file.name
            ));
        }
    }
    none(&broken);
}

#[test]
fn habits_hold_outside_tests() {
    let habits = [
        (
            r"\.unwrap\(\)|\.expect\(\x22|\bpanic!|\btodo!|\bunimplemented!|\bunreachable!|\bdbg!",
            "may stop the program",
        ),
        (r"pub(\([a-z]+\))? use [^;]*::\*", "re-exports by glob"),
        (r"#!?\[allow\(", "use #[expect(lint, reason = …)]"),
        (r"#\[expect\([^)]*\)\]", "an #[expect] without a reason"),
        (r"\b(TODO|FIXME|XXX|HACK)\b", "an unfinished thought"),
    ];
    let mut broken = Vec::new();
    for (pattern, why) in habits {
        let pattern = Regex::new(pattern).unwrap();
        for file in sources() {
            broken.extend(file.matches(&pattern).into_iter().map(|(line, found)| {
                let excused = why.contains("reason") && found.contains("reason");
                if excused {
                    String::new()
                } else {
                    format!("{}:{line}: {found}: {why}", file.name)
                }
            }));
        }
    }
    broken.retain(|line| !line.is_empty());
    none(&broken);
}

#[test]
fn the_outside_has_one_door() {
    let patterns = [
        r"\benv::(var|vars|var_os|current_dir|temp_dir|home_dir)\b",
        r"\b(SystemTime|Instant|Timestamp|Zoned)::now\b",
        r"\bUuid::(new_v4|now_v7|now_v6|now_v1)\b",
        r"\b(thread_rng|rand::|getrandom|RandomState)\b",
    ];
    let mut broken = Vec::new();
    for pattern in patterns {
        let pattern = Regex::new(pattern).unwrap();
        for file in sources()
            .iter()
            .filter(|file| !OUTSIDE.iter().any(|place| file.name.starts_with(place)))
        {
            let found = file.matches(&pattern).into_iter();
            broken
                .extend(found.map(|(line, found)| {
                    format!("{}:{line}: `{found}` outside `host`", file.name)
                }));
        }
    }
    none(&broken);
}

/// The public API of the library is small, and every item is documented.
#[test]
fn the_face_of_the_library_is_small_and_documented() {
    let item = Regex::new(
        r"^\s*pub (const |async |unsafe )*(fn|struct|enum|trait|type|const|static|mod|union) (\w+)",
    )
    .unwrap();
    let head = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let hidden = Regex::new(r"#\[doc\(hidden\)\][^\n]*\npub mod (\w+);").unwrap();
    let hidden: BTreeSet<&str> = hidden
        .captures_iter(&head)
        .map(|found| found.get(1).unwrap().as_str())
        .collect();
    assert_eq!(hidden, BTreeSet::from(["cli"]), "what the face hides");
    let (mut items, mut broken) = (Vec::new(), Vec::new());
    for file in rust_files(&root().join("src")) {
        if file.name.starts_with("src/cli/") || file.name == "src/main.rs" {
            continue;
        }
        let lines: Vec<&str> = file.code().lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let Some(found) = item.captures(line).filter(|found| &found[3] != "cli") else {
                continue;
            };
            // A module is documented at the head of its file.
            let above = lines[..index].iter().rev();
            let documented = &found[2] == "mod"
                || above
                    .take_while(|line| line.trim_start().starts_with(['#', '/']))
                    .any(|line| line.trim_start().starts_with("///"));
            if !documented {
                broken.push(format!("{}:{}: not documented", file.name, index + 1));
            }
            items.push(format!("{} {}", file.name, &found[3]));
        }
    }
    none(&broken);
    assert!(
        (10..=MAX_PUBLIC_ITEMS).contains(&items.len()),
        "{} public items, at most {MAX_PUBLIC_ITEMS}:\n{}",
        items.len(),
        items.join("\n")
    );
}

/// The command line is a client of the service in `runs`, like any other program.
#[test]
fn the_command_line_opens_no_journal() {
    let store = Regex::new(r"\b(journal::store|rusqlite|JournalError|RunRow)\b|\bstore::").unwrap();
    let mut broken = Vec::new();
    for file in sources()
        .iter()
        .filter(|file| file.name.starts_with("src/cli/"))
    {
        let found = file.matches(&store).into_iter();
        broken.extend(
            found.map(|(line, found)| format!("{}:{line}: `{found}` is the service's", file.name)),
        );
    }
    none(&broken);
}

#[test]
fn codes_are_unique_and_each_has_its_page_file() {
    let name = Regex::new("^[a-z]+(-[a-z0-9]+)*$").unwrap();
    let folder = root().join(LANGUAGE).join("diag/codes/pages");
    let mut seen = BTreeSet::new();
    let mut broken = Vec::new();
    for code in planrun_lang::diag::codes::all() {
        if !seen.insert(format!("{}.md", code.name)) {
            broken.push(format!("`{}` is there twice", code.name));
        }
        if !name.is_match(code.name) {
            broken.push(format!("`{}` is not in kebab case", code.name));
        }
        let page = fs::read_to_string(folder.join(format!("{}.md", code.name)));
        if page.ok().as_deref() != Some(code.page) {
            broken.push(format!("`{}` does not use the page of its name", code.name));
        }
    }
    let files: BTreeSet<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    let strays = files
        .iter()
        .filter_map(|file| file.to_str())
        .filter(|file| !seen.contains(*file));
    broken.extend(strays.map(|file| format!("pages/{file} belongs to no code")));
    none(&broken);
}

/// A file of rules is named after a code, and each rule is in the table.
#[test]
fn every_rule_has_its_file_its_code_and_its_row() {
    let table = fs::read_to_string(root().join(LANGUAGE).join("lint/rules/mod.rs")).unwrap();
    let mut broken = Vec::new();
    let mut rules = 0;
    for file in sources() {
        let stem = file
            .name
            .strip_prefix(LANGUAGE)
            .and_then(|name| name.strip_prefix("/lint/rules/"))
            .and_then(|name| name.strip_suffix(".rs"));
        let Some(stem) = stem.filter(|stem| *stem != "mod") else {
            continue;
        };
        rules += 1;
        let code = stem.replace('_', "-");
        if planrun_lang::diag::codes::find(&code).is_none() {
            broken.push(format!("{}:1: there is no code `{code}`", file.name));
        }
        if !file.text.starts_with(&format!("//! `{code}`")) {
            broken.push(format!(
                "{}:1: does not open with the code `{code}`",
                file.name
            ));
        }
        if !table.contains(&format!("\n    {stem}:")) {
            broken.push(format!(
                "{}:1: stands in no row of the table of rules",
                file.name
            ));
        }
    }
    none(&broken);
    let rows = Regex::new(r"(?m)^    \w+:( |$)").unwrap();
    assert_eq!(
        rules,
        rows.find_iter(&table).count(),
        "rows of the table, files"
    );
}

#[test]
fn no_test_file_is_forgotten() {
    let mut broken = Vec::new();
    for file in tests() {
        let path = Path::new(&file.name);
        let (folder, stem) = (
            path.parent().unwrap(),
            path.file_stem().unwrap().to_str().unwrap(),
        );
        // A `mod.rs` represents its folder, which is a module of the parent folder.
        let (folder, name) = if stem == "mod" {
            (
                folder.parent().unwrap(),
                folder.file_name().unwrap().to_str().unwrap(),
            )
        } else {
            (folder, stem)
        };
        let parent_file = root().join(folder).with_extension("rs");
        let owner = [
            root().join(folder).join("main.rs"),
            root().join(folder).join("mod.rs"),
            parent_file,
        ];
        let owner = owner
            .iter()
            .find_map(|owner| fs::read_to_string(owner).ok())
            .unwrap_or_default();
        if name != "main" && !owner.contains(&format!("mod {name};\n")) {
            broken.push(format!("{} is no module", file.name));
        }
    }
    none(&broken);
}

/// No file mentions the machine it was written on.
#[test]
fn the_tree_names_no_machine() {
    // Split, so that this file does not contain them.
    let words = [
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
        concat!("/Us", "ers/"),
        concat!("work", "tree"),
    ];
    let mut broken = Vec::new();
    let parts = [
        "src",
        "crates",
        "tests",
        "docs",
        "grammar",
        "plans",
        "examples",
        "benches",
        "fuzz",
        "README.md",
        "Cargo.toml",
        ".ci",
    ];
    for part in parts
        .iter()
        .map(|part| root().join(part))
        .filter(|part| part.exists())
    {
        for entry in ignore::WalkBuilder::new(part)
            .hidden(false)
            .build()
            .filter_map(Result::ok)
        {
            let Ok(text) = fs::read_to_string(entry.path()) else {
                continue;
            };
            for (index, line) in text.lines().enumerate() {
                if words.iter().any(|word| line.contains(word)) {
                    broken.push(format!(
                        "{}:{}: {}",
                        relative(entry.path()),
                        index + 1,
                        line.trim()
                    ));
                }
            }
        }
    }
    none(&broken);
}

/// A benchmark that never runs breaks unnoticed when the code changes.
#[test]
fn d18_every_benchmark_runs_in_ci_on_a_small_size() {
    let ci = fs::read_to_string(root().join(".ci/run")).unwrap();
    let stages: Vec<&str> = ci
        .lines()
        .skip_while(|line| !line.contains("bench"))
        .collect();
    let run: BTreeSet<&str> = stages
        .iter()
        .flat_map(|line| line.split(|c: char| !c.is_alphanumeric()))
        .collect();
    assert!(
        stages
            .iter()
            .filter(|line| line.contains("PLANRUN_BENCH_SMALL=1"))
            .count()
            > 1,
        "{stages:?}"
    );
    for entry in fs::read_dir(root().join("benches"))
        .unwrap()
        .map(Result::unwrap)
    {
        let name = entry.file_name().into_string().unwrap();
        let measures = ["main.rs", "src/main.rs"]
            .iter()
            .any(|file| entry.path().join(file).exists());
        assert!(
            !measures || run.contains(name.as_str()),
            "`.ci/run` does not run the benchmark `{name}`"
        );
    }
}

/// Fails with the list of violations.
fn none(broken: &[String]) {
    assert!(
        broken.is_empty(),
        "{} places break this rule:\n{}",
        broken.len(),
        broken.join("\n")
    );
}

impl Crate {
    /// Returns the folder of its sources, relative to the root.
    fn sources(&self) -> String {
        format!("{}/src", self.folder)
            .trim_start_matches('/')
            .to_owned()
    }

    fn row(&self, module: &str) -> Option<usize> {
        self.rows.iter().position(|names| names.contains(&module))
    }

    /// Returns the dependencies of its program or library, without those of its tests, whatever it calls them.
    fn dependencies(&self) -> BTreeSet<String> {
        static PACKAGES: LazyLock<Json> = LazyLock::new(|| {
            let output = Command::new(env!("CARGO"))
                .args([
                    "metadata",
                    "--no-deps",
                    "--format-version",
                    "1",
                    "--offline",
                ])
                .current_dir(root())
                .output()
                .unwrap();
            serde_json::from_slice(&output.stdout).unwrap()
        });
        let packages = PACKAGES["packages"].as_array().unwrap();
        let own = packages.iter().find(|package| package["name"] == self.name);
        let dependencies = own.unwrap()["dependencies"].as_array().unwrap().iter();
        let used = dependencies.filter(|dependency| dependency["kind"] != "dev");
        let names = used.map(|dependency| dependency["name"].as_str().unwrap().to_owned());
        names.collect()
    }
}

/// The modules of a crate by path, with their imports.
struct Modules {
    files: BTreeMap<Vec<String>, RustFile>,
    /// The re-exports of each module by name: the path of the target, as written there.
    reexports: BTreeMap<(Vec<String>, String), Vec<String>>,
}

impl Modules {
    fn of(one: &Crate) -> Self {
        let inside = format!("{}/", one.sources());
        let mut files = BTreeMap::new();
        let mut reexports = BTreeMap::new();
        for file in sources() {
            if !file.name.starts_with(&inside) {
                continue;
            }
            let module = file.path();
            for path in file.uses(true) {
                let name = path.last().unwrap().clone();
                reexports.insert((module.clone(), name), path);
            }
            files.insert(module, file);
        }
        Self { files, reexports }
    }

    /// Returns the module that a path refers to, seen from another module.
    fn resolve(&self, from: &[String], path: &[String], depth: usize) -> Option<Vec<String>> {
        let (mut module, mut rest) = anchored(from, path).unwrap_or((from.to_vec(), path));
        while let Some(name) = rest.first() {
            let inner: Vec<String> = module.iter().chain([name]).cloned().collect();
            if self.files.contains_key(&inner) {
                (module, rest) = (inner, &rest[1..]);
                continue;
            }
            let passed = self.reexports.get(&(module.clone(), name.clone()));
            match passed.filter(|_| depth < 8) {
                Some(passed) => return self.resolve(&module, passed, depth + 1),
                None => break,
            }
        }
        self.files.contains_key(&module).then_some(module)
    }

    /// Returns the modules that each module uses; a re-export is not a use.
    fn graph(&self) -> BTreeMap<&[String], BTreeSet<&[String]>> {
        let inline = Regex::new(r"\b(crate|super)(::\w+)+").unwrap();
        let mut graph = BTreeMap::new();
        let code = Regex::new(r"\buse [^;]*;").unwrap();
        for (module, file) in &self.files {
            let mut paths = file.uses(false);
            let code = code.replace_all(&file.bare_code(), "").into_owned();
            let words = |found: regex::Match<'_>| -> Vec<String> {
                found.as_str().split("::").map(str::to_owned).collect()
            };
            paths.extend(inline.find_iter(&code).map(words));
            paths.retain(|path| ["crate", "self", "super"].contains(&path[0].as_str()));
            let targets = paths
                .iter()
                .filter_map(|path| self.resolve(module, path, 0));
            let used: BTreeSet<&[String]> = targets
                .filter(|target| target != module)
                .filter_map(|target| Some(self.files.get_key_value(&target)?.0.as_slice()))
                .collect();
            graph.insert(module.as_slice(), used);
        }
        graph
    }

    /// Returns the import cycles, the largest first.
    fn cycles(&self) -> Vec<Vec<String>> {
        let graph = self.graph();
        let reached: BTreeMap<_, _> = graph.keys().map(|one| (*one, reach(&graph, one))).collect();
        let mut cycles: BTreeSet<Vec<String>> = BTreeSet::new();
        for (one, far) in &reached {
            let together = far.iter().filter(|other| reached[*other].contains(one));
            let cycle: Vec<String> = together.map(|other| other.join("::")).collect();
            if cycle.len() > 1 {
                cycles.insert(cycle);
            }
        }
        let mut cycles: Vec<_> = cycles.into_iter().collect();
        cycles.sort_by_key(|cycle| std::cmp::Reverse(cycle.len()));
        cycles
    }
}

/// Returns everything that a module uses, directly or indirectly.
fn reach<'m>(
    graph: &BTreeMap<&'m [String], BTreeSet<&'m [String]>>,
    from: &'m [String],
) -> BTreeSet<&'m [String]> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(one) = open.pop() {
        let used = graph[one].iter().copied();
        open.extend(used.filter(|other| reached.insert(*other)));
    }
    reached
}

/// Splits a path that begins with `crate`, `self` or `super` into the module that this refers to, seen from another
/// module, and the names behind it.
fn anchored<'p>(from: &[String], path: &'p [String]) -> Option<(Vec<String>, &'p [String])> {
    let (mut module, mut rest) = match path.first()?.as_str() {
        "crate" => (Vec::new(), &path[1..]),
        "self" => (from.to_vec(), &path[1..]),
        "super" => (from.to_vec(), path),
        _ => return None,
    };
    while rest.first().is_some_and(|word| word == "super") {
        module.pop();
        rest = &rest[1..];
    }
    Some((module, rest))
}

/// Expands `a::{b, c::{d, e}}` into its paths.
fn paths(tree: &str) -> Vec<Vec<String>> {
    let Some((head, group)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap().split("::");
        return vec![path.map(|word| word.trim().to_owned()).collect()];
    };
    let head: Vec<String> = head
        .split("::")
        .map(|word| word.trim().to_owned())
        .filter(|word| !word.is_empty())
        .collect();
    let group = group.rsplit_once('}').map_or(group, |(group, _)| group);
    let mut members = vec![String::new()];
    let mut depth = 0;
    for character in group.chars() {
        depth += i32::from(character == '{') - i32::from(character == '}');
        match character {
            ',' if depth == 0 => members.push(String::new()),
            _ => members.last_mut().unwrap().push(character),
        }
    }
    let members = members.iter().map(|member| member.trim());
    members
        .filter(|member| !member.is_empty())
        .flat_map(paths)
        .map(|path| head.iter().cloned().chain(path).collect())
        .collect()
}

/// One Rust file.
struct RustFile {
    /// Relative to the root, with `/`.
    name: String,
    text: String,
}

impl RustFile {
    /// Returns its crate and the top-level module that it belongs to. `None` for `lib.rs` and `main.rs`.
    fn module(&self) -> Option<(&'static Crate, &str)> {
        CRATES.iter().find_map(|one| {
            let inside = self.name.strip_prefix(&one.sources())?.strip_prefix('/')?;
            let module = match inside.split_once('/') {
                Some((folder, _)) => folder,
                None => inside.strip_suffix(".rs")?,
            };
            (!["lib", "main"].contains(&module)).then_some((one, module))
        })
    }

    /// Returns its crate.
    fn owner(&self) -> &'static Crate {
        let mut inside = CRATES
            .iter()
            .filter(|one| self.name.starts_with(&format!("{}/", one.sources())));
        inside.next().unwrap()
    }

    /// Returns the text before its tests, with empty lines in place of comments.
    fn bare_code(&self) -> String {
        let is_comment = |line: &&str| line.trim_start().starts_with("//");
        let lines = self.code().lines();
        let lines: Vec<&str> = lines
            .map(|line| if is_comment(&line) { "" } else { line })
            .collect();
        lines.join("\n")
    }

    /// Returns the paths that it imports, or those that it re-exports.
    fn uses(&self, reexports: bool) -> Vec<Vec<String>> {
        let line = Regex::new(r"(?m)^\s*(pub(?:\([^)]*\))? )?use ([^;]*);").unwrap();
        let code = self.bare_code();
        let found = line.captures_iter(&code);
        let selected = found.filter(|found| found.get(1).is_some() == reexports);
        selected.flat_map(|found| paths(&found[2])).collect()
    }

    /// Returns the text before its tests.
    fn code(&self) -> &str {
        self.text.split("\n#[cfg(test)]\nmod ").next().unwrap_or("")
    }

    /// Returns the lines that are not comments, with their numbers from 1.
    fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code()
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
            .map(|(index, line)| (index + 1, line))
    }

    fn matches(&self, pattern: &Regex) -> Vec<(usize, String)> {
        self.code_lines()
            .flat_map(|(line, text)| {
                pattern
                    .find_iter(text)
                    .map(move |found| (line, found.as_str().to_owned()))
            })
            .collect()
    }

    /// Returns the top-level modules of its crate that it names, with the lines.
    fn imports(&self) -> Vec<(usize, String)> {
        let own = self.path();
        let code = self.bare_code();
        let used = Regex::new(r"\buse ([^;]*);").unwrap();
        let inline = Regex::new(r"\b(crate|self|super)(::\w+)+").unwrap();
        let mut found = Vec::new();
        for item in used.captures_iter(&code) {
            let at = item.get(0).unwrap().start();
            found.extend(paths(&item[1]).into_iter().map(|path| (at, path)));
        }
        let in_item = |at: usize| used.find_iter(&code).any(|item| item.range().contains(&at));
        for path in inline.find_iter(&code) {
            let is_macro = code[..path.start()].ends_with('$');
            if !is_macro && !in_item(path.start()) {
                let words = path.as_str().split("::").map(str::to_owned);
                found.push((path.start(), words.collect()));
            }
        }
        let top = |(at, path): (usize, Vec<String>)| {
            let (module, rest) = anchored(&own, &path)?;
            let top = module.first().or(rest.first())?.clone();
            Some((code[..at].matches('\n').count() + 1, top))
        };
        found.into_iter().filter_map(top).collect()
    }

    /// Returns the path of its module within its crate.
    fn path(&self) -> Vec<String> {
        let folder = format!("{}/", self.owner().sources());
        let inside = self.name.strip_prefix(&folder).unwrap();
        let parts = inside.trim_end_matches(".rs").split('/');
        let mut path: Vec<String> = parts.map(str::to_owned).collect();
        if ["mod", "lib", "main"].contains(&path.last().unwrap().as_str()) {
            path.pop();
        }
        path
    }

    /// Returns the first line and the length of each function. rustfmt aligns the closing brace with the `fn` line.
    fn functions(&self) -> Vec<(usize, usize)> {
        let head = Regex::new(r"^(\s*)(pub(\([^)]*\))? )?((const|async|unsafe) )*fn ").unwrap();
        let lines: Vec<_> = self.code().lines().collect();
        let mut found = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            let Some(indent) = head.captures(line).map(|found| found[1].to_owned()) else {
                continue;
            };
            let end = lines[index..]
                .iter()
                .position(|line| *line == format!("{indent}}}") || *line == format!("{indent};"));
            let one_line = line.ends_with(';') || line.ends_with('}');
            found.push((
                index + 1,
                if one_line {
                    1
                } else {
                    end.map_or(0, |end| end + 1)
                },
            ));
        }
        found
    }
}

/// Returns the source files of all crates, without `tests.rs` files and `tests` folders.
fn sources() -> Vec<RustFile> {
    let folders = CRATES.iter().map(|one| root().join(one.sources()));
    let mut files: Vec<RustFile> = folders.flat_map(|folder| rust_files(&folder)).collect();
    files.retain(|file| !file.name.ends_with("/tests.rs") && !file.name.contains("/tests/"));
    files
}

fn tests() -> Vec<RustFile> {
    rust_files(&root().join("tests/it"))
}

fn rust_files(folder: &Path) -> Vec<RustFile> {
    let walk = ignore::WalkBuilder::new(folder)
        .sort_by_file_path(Path::cmp)
        .build();
    let paths = walk.map(|entry| entry.unwrap().into_path());
    let read = |path: PathBuf| RustFile {
        name: relative(&path),
        text: fs::read_to_string(&path).unwrap(),
    };
    paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "rs"))
        .map(read)
        .collect()
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root())
        .unwrap_or(path)
        .display()
        .to_string()
        .replace('\\', "/")
}

#[test]
fn imports_are_found_in_every_form() {
    let text = "use crate::a::B;\n// crate::no\nuse crate::{\n    c::{D, e},\n    f,\n};\nfn x() { crate::g::h() }\n\
                use super::super::i::J;\nfn y() { super::super::k::l(); super::m::n(); self::o::p() }\n";
    let file = RustFile {
        name: "src/x/y.rs".into(),
        text: format!("{text}\n#[cfg(test)]\nmod tests {{ use crate::z; }}\n"),
    };
    let found = file.imports();
    let names: Vec<&str> = found.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["a", "c", "c", "f", "i", "g", "k", "x", "x"]);
    let lines: Vec<usize> = found.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [1, 3, 3, 3, 8, 7, 9, 9, 9]);
}
