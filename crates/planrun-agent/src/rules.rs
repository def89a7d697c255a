//! The instructions of a project for its agents: the rules below `.agents/rules`, and the skills below
//! `.agents/skills`.

use std::path::{Path, PathBuf};

use planrun_tools::host::{FileKind, Host};
use planrun_tools::project::AgentType;
use serde::Deserialize;

/// The folder of rules and skills.
pub const FOLDER: &str = ".agents";
const RULES: &str = ".agents/rules";
const SKILLS: &str = ".agents/skills";
/// The rule for main agents, and the one for sub-agents. All other rules are for both.
const FOR_MAIN: &str = "default.md";
const FOR_SUB: &str = "default-subagent.md";
/// Maximum size of one file, and of all rules, in bytes.
const MAX_FILE: u64 = 64 * 1024;
const MAX_RULES: usize = 256 * 1024;
const MAX_FILES: usize = 100;
const MAX_DEPTH: usize = 5;

/// The instructions for the agents of a project, in addition to their requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// The path of each rule below the folder of rules, and its text; sorted.
    pub rules: Vec<(String, String)>,
    pub skills: Vec<Skill>,
    /// Messages about files that cannot be used.
    pub problems: Vec<String>,
}

/// Instructions for a task, which a model reads when it needs them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    /// The path of its file in the project.
    pub path: String,
    pub text: String,
}

#[derive(Deserialize)]
struct Front {
    #[serde(default)]
    name: String,
    #[serde(default)]
    description: String,
}

impl Rules {
    /// Reads the rules and skills of the project in this folder for an agent of this type. They are trusted, like
    /// `planrun.yaml`; a link that leads out of their folder is not followed.
    pub fn of(host: &dyn Host, project: &Path, agent_type: &AgentType, is_sub_agent: bool) -> Self {
        let mut found = Self::default();
        found.read_rules(host, project, agent_type.rules.as_deref(), is_sub_agent);
        found.read_skills(host, project);
        if let Some(selected) = &agent_type.skills {
            let is_selected = |skill: &Skill| selected.contains(&skill.name);
            found.skills.retain(is_selected);
            let known = |name: &&String| found.skills.iter().any(|skill| skill.name == **name);
            let missing = selected.iter().filter(|name| !known(name));
            let messages = missing.map(|name| format!("there is no skill `{name}`"));
            found.problems.extend(messages);
        }
        found
    }

    /// Returns the texts of the rules, with the paths of their files in the project.
    pub fn texts(&self) -> Vec<(String, &str)> {
        let rules = self.rules.iter();
        let texts = rules.map(|(name, text)| (format!("{RULES}/{name}"), &**text));
        texts.collect()
    }

    fn read_rules(
        &mut self,
        host: &dyn Host,
        project: &Path,
        selected: Option<&[String]>,
        is_sub_agent: bool,
    ) {
        let mut left = MAX_RULES;
        let skipped = if is_sub_agent { FOR_MAIN } else { FOR_SUB };
        let is_selected =
            |name: &String| selected.map_or(name != skipped, |all| all.contains(name));
        let files = files(host, project, RULES);
        let missing = selected.into_iter().flatten();
        let missing = missing.filter(|name| files.iter().all(|(known, _)| known != *name));
        let messages = missing.map(|name| format!("there is no rule `{name}`"));
        self.problems.extend(messages);
        for (name, path) in files {
            let is_text = Path::new(&name).extension().is_some_and(|end| end == "md");
            if !is_text || !is_selected(&name) {
                continue;
            }
            match host.read_bounded(&path, MAX_FILE) {
                Ok(text) if text.len() <= left => {
                    left -= text.len();
                    self.rules.push((name, text));
                }
                Ok(_) => self.problems.push(format!(
                    "the rule {name} is omitted: together the rules have more than {MAX_RULES} bytes"
                )),
                Err(error) => self
                    .problems
                    .push(format!("the rule {name} is omitted: {error}")),
            }
        }
    }

    fn read_skills(&mut self, host: &dyn Host, project: &Path) {
        for (name, path) in files(host, project, SKILLS) {
            if !name.ends_with("/SKILL.md") || name.matches('/').count() != 1 {
                continue;
            }
            let text = host.read_bounded(&path, MAX_FILE);
            let skill = text
                .map_err(|error| error.to_string())
                .and_then(|text| Skill::read(&text, format!("{SKILLS}/{name}")));
            match skill {
                Ok(skill) if self.skills.iter().any(|known| known.name == skill.name) => {
                    let message = format!(
                        "the skill {name} is omitted: there is another `{}`",
                        skill.name
                    );
                    self.problems.push(message);
                }
                Ok(skill) => self.skills.push(skill),
                Err(why) => self
                    .problems
                    .push(format!("the skill {name} is omitted: {why}")),
            }
        }
    }
}

impl Skill {
    /// Parses a skill with its front matter, which has a name and a description.
    fn read(text: &str, path: String) -> Result<Self, String> {
        let text = text.replace("\r\n", "\n");
        let front = text
            .strip_prefix("---\n")
            .and_then(|rest| rest.split_once("\n---\n"));
        let (front, body) =
            front.ok_or("it does not begin with front matter between lines of `---`")?;
        let front: Front = serde_yaml::from_str(front).map_err(|error| error.to_string())?;
        let (name, description) = (front.name.trim(), front.description.trim());
        if name.is_empty() || description.is_empty() {
            return Err("its front matter needs a `name` and a `description`".to_owned());
        }
        Ok(Self {
            name: name.to_owned(),
            description: description.to_owned(),
            path,
            text: body.trim().to_owned(),
        })
    }
}

/// Returns the files below a folder of the project, by their relative paths, sorted.
fn files(host: &dyn Host, project: &Path, folder: &str) -> Vec<(String, PathBuf)> {
    let (Ok(root), start) = (host.canonical(project), project.join(folder)) else {
        return Vec::new();
    };
    let own = root.join(folder);
    let mut found = Vec::new();
    let mut open = vec![(start.clone(), 0)];
    while let Some((path, depth)) = open.pop() {
        let is_own = host
            .canonical(&path)
            .is_ok_and(|place| place.starts_with(&own));
        if !is_own || found.len() == MAX_FILES {
            continue;
        }
        match host.kind(&path) {
            Ok(FileKind::Folder) if depth < MAX_DEPTH => {
                let inner = host.list_folder(&path).unwrap_or_default();
                open.extend(inner.into_iter().map(|path| (path, depth + 1)));
            }
            Ok(FileKind::File) => {
                let name = path.strip_prefix(&start).unwrap_or(&path);
                found.push((name.display().to_string(), path.clone()));
            }
            Ok(FileKind::Folder) | Err(_) => {}
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use planrun_tools::host::MemoryHost;

    use super::*;

    fn names(rules: &Rules) -> Vec<&str> {
        rules.rules.iter().map(|(name, _)| &**name).collect()
    }

    #[test]
    fn s4_24_rules_are_read_in_order_and_each_kind_of_agent_has_its_own_default() {
        let host = [
            "default.md",
            "default-subagent.md",
            "b/c.md",
            "a.md",
            "x.txt",
        ]
        .into_iter()
        .fold(MemoryHost::default(), |host, name| {
            host.with_file(format!("/p/.agents/rules/{name}"), name)
        });
        let of = |is_sub| Rules::of(&host, Path::new("/p"), &AgentType::default(), is_sub);
        assert_eq!(names(&of(false)), ["a.md", "b/c.md", "default.md"]);
        assert_eq!(names(&of(true)), ["a.md", "b/c.md", "default-subagent.md"]);
        assert_eq!(
            Rules::of(&host, Path::new("/none"), &AgentType::default(), false),
            Rules::default()
        );
    }

    #[test]
    fn s4_26_a_skill_needs_a_name_and_a_description() {
        let host = MemoryHost::default()
            .with_file(
                "/p/.agents/skills/good/SKILL.md",
                "---\nname: pdf\ndescription: Reads PDFs\n---\nDo it.\n",
            )
            .with_file(
                "/p/.agents/skills/nameless/SKILL.md",
                "---\ndescription: x\n---\n",
            )
            .with_file("/p/.agents/skills/plain/SKILL.md", "# Nothing")
            .with_file(
                "/p/.agents/skills/second/SKILL.md",
                "---\nname: pdf\ndescription: y\n---\n",
            )
            .with_file("/p/.agents/skills/good/notes.md", "no skill");
        let found = Rules::of(&host, Path::new("/p"), &AgentType::default(), false);
        let skill = Skill {
            name: "pdf".to_owned(),
            description: "Reads PDFs".to_owned(),
            path: ".agents/skills/good/SKILL.md".to_owned(),
            text: "Do it.".to_owned(),
        };
        assert_eq!(found.skills, [skill]);
        assert_eq!(found.problems.len(), 3, "{:?}", found.problems);
    }

    #[test]
    fn a_link_that_leads_out_of_the_folder_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let rules = place.path().join(RULES);
        std::fs::create_dir_all(&rules).unwrap();
        std::fs::write(place.path().join("secret"), "hunter2").unwrap();
        std::os::unix::fs::symlink("../../secret", rules.join("a.md")).unwrap();
        std::fs::write(rules.join("b.md"), "fine").unwrap();
        let found = Rules::of(
            &planrun_tools::host::RealHost,
            place.path(),
            &AgentType::default(),
            false,
        );
        assert_eq!(names(&found), ["b.md"]);
    }
}
