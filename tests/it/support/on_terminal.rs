//! Runs the program on a terminal of its own.

use std::process::Command;

use serde_json::{Value as Json, json};

use super::{Program, has_python};

/// Runs a program on a terminal of its own. Its first argument is the list of what is awaited and what is then typed;
/// prints whether the terminal displayed what was typed, each time and at the end, and then all output.
const TERMINAL: &str = r#"
import json, os, pty, re, sys, termios, time
steps, program = json.loads(sys.argv[1]), sys.argv[2:]
child, terminal = pty.fork()
if child == 0:
    os.execv(program[0], program)
output, seen, displays = b"", 0, []
echo = lambda: bool(termios.tcgetattr(terminal)[3] & termios.ECHO)
while True:
    try:
        part = os.read(terminal, 65536)
    except OSError:
        break
    if not part:
        break
    output += part
    while steps and (found := re.search(steps[0][0].encode(), output[seen:])):
        seen += found.end()
        time.sleep(0.3)
        displays.append(echo())
        os.write(terminal, steps.pop(0)[1].encode())
displays.append(echo())
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps({"status": status, "displays": displays, "output": output.decode()}))
"#;

impl Program {
    /// Runs it on a terminal, where each step awaits a pattern and then types a text. Returns `status`, `output`, and in
    /// `displays` whether the terminal displayed what was typed; `None` without Python.
    pub fn on_terminal(self, steps: &[(&str, &str)]) -> Option<Json> {
        if !has_python("a terminal") {
            return None;
        }
        let program = self.command;
        let mut command = Command::new("python3");
        command
            .args(["-c", TERMINAL, &json!(steps).to_string()])
            .arg(program.get_program())
            .args(program.get_args());
        if let Some(folder) = program.get_current_dir() {
            command.current_dir(folder);
        }
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        Some(serde_json::from_slice(&output.stdout).unwrap())
    }
}
