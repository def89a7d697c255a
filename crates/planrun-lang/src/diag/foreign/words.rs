//! Phrases of statements, clauses, items, types and operators.

use super::{Certainty, Phrase};

const LOOP: &str = "a loop is a step with a bound, and its value is the list of yielded values";
const BLOCKS: &str = "a block ends with its `}`";
const EARLY: &str = "end early with `reply value when condition`, in a block with `yield value when condition`; filter a list before `each` iterates over it";
const FUNCTIONS: &str = "there are no functions: use a `let` for a value, or a separate `plan` for several steps, which other plans can call";
const PRINT: &str =
    "a plan cannot print: return the result with `reply`; `planrun run` shows every step";
const ARMS: &str =
    "an arm names the errors that it catches, followed by a value, a call, `do { … }` or `fail`";
const ROUNDS: &str = "each round passes a state to the next, and `next null` ends the loop";
const OWN_FAILURES: &str =
    "each step handles its own failure; for several steps, use `step x = do { … } recover … => …`";
const NAMESPACES: &str = "name the namespaces of tools at the top of the file: `use kit`";
const MACROS: &str =
    "a macro takes a variable and an expression, separated by a comma: `xs.map(x, x.name)`";
const CALLS: &str = "remove the word: a step is already a call";
const ENDS: &str = "to undo a step after a failure, add `undo` to it; to act at the end in any case, use `listener l on plan is completed || plan is failed { … }`";
const INPUTS: &str = "declare inputs as parameters of the plan: `plan name(a: string)`";
const NO_YAML: &str = "a plan is not written in YAML";
const OBJECTS: &str = "use `{ a: string, b?: int }` for an object with known fields, `map<string, T>` for one with arbitrary keys";
const CHOICES: &str = "choose between values with `condition ? one : other`";
const WAITS: &str = "remove the word: a step waits for the values that it reads";
const TYPED: &str = "types are known before the run: test `x != null`, or distinguish the cases of a union with `match`";

/// Statements of other languages, recognized by their first word.
pub static STATEMENTS: &[Phrase] = phrases! {
    Certain("let a = 1"): "const a = 1", "var a = 1", "val a = 1", "final a = 1";
    Certain("reply value"): "return value";
    Advice("reply value"): "output value", "result value";
    Advice("", PRINT): "print(s)", "println(s)", "echo s", "log(s)", "console.log(s)";
    Advice("step r = each x in xs max 100 { … yield x }", LOOP):
        "for x in xs { … }", "foreach x in xs { … }", "forEach x in xs { … }", "each x in xs { … }",
        "map x in xs { … }";
    Advice("step r = repeat k = 1 max 100 { … yield k next k < n ? k + 1 : null }", ROUNDS):
        "while n > 1 { … }", "loop { … }", "repeat 3 { … }";
    Certain("else if n > 1 { … }"): "elif n > 1 { … }", "elsif n > 1 { … }", "elseif n > 1 { … }";
    Advice("if !flag { … }"): "unless flag { … }";
    Advice("step r = match s { \"a\" => ns.tool(…), _ => ns.other(…) }", "for values, use `let v = match s { … }`"):
        "switch s { … }", "case s { … }", "match s { … }";
    Advice("step a = ns.tool(…) recover transient => null", OWN_FAILURES):
        "try { … }", "catch (e) { … }", "except e { … }";
    Advice("", ENDS): "finally { … }", "defer { … }";
    Advice("fail tool.refused \"…\"", "a failure needs a class"):
        "throw s", "raise s", "error s", "abort s", "panic s";
    Advice("fail tool.refused \"…\"", "to end with success, use `reply`"): "exit s", "stop s";
    Advice("ensure n > 1 else \"…\""): "assert n > 1", "require n > 1", "check n > 1";
    Advice("", EARLY): "break", "continue";
    Advice("", "a block may be empty: `{}`"): "pass";
    Advice("", FUNCTIONS):
        "function f(a) { … }", "def f(a) { … }", "fn f(a) { … }", "func f(a) { … }";
    Advice("step a = ns.tool(…)", "a step waits for the values that it reads; effects run at the same time in `parallel { … }`"):
        "async step a = ns.tool(…)";
    Advice("step a = ns.tool(…)", "a step waits for the values that it reads"): "await ns.tool(…)";
    Advice("step a = ns.tool(…)", "reads run at the same time automatically, effects in `parallel { … }`"):
        "spawn ns.tool(…)";
    Advice("step a = ns.tool(…)"):
        "call ns.tool(…)", "run ns.tool(…)", "invoke ns.tool(…)", "exec ns.tool(…)";
    Advice("step a = do { … yield value }"): "do { … }";
    Advice("step a = race { one: ns.tool(…), other: ns.other(…) }"): "race { … }";
    Advice("step pause = wait 5s"): "sleep 5s", "delay 5s", "wait 5s";
    Advice("step form = input \"Name?\" -> { a: string }"): "input \"Name?\" -> { a: string }";
    Advice("listener l on plan is completed { … }"):
        "on plan is completed { … }", "whenever plan is completed { … }";
    Advice("step form = input \"…\" -> { yes: bool }", "to ask before a call, add the clause `confirm \"…\"` to it"):
        "approve s", "prompt s";
    Advice("step answer = ask desk(\"…\") -> string", "`desk` is a namespace, whose tools the model may call; without tools, write `infer(\"…\") -> string`"): "ask agent(\"…\")";
    Advice("step answer = infer(\"…\") -> string"): "infer(\"…\")";
    Advice("", BLOCKS): "begin", "end", "endif", "fi", "done";
    Advice("", NAMESPACES): "import kit", "from kit", "include kit";
    Advice("", "report progress with `set task status`, and wait for events from outside with `wait for signal \"name\"`"):
        "emit s";
    Advice("", INPUTS): "inputs { … }", "params { … }";
    Advice("", "write the steps one below the other in the plan: `step a = ns.tool(…)`"): "steps { … }";
};

/// Words of other languages in place of the clauses of a step.
pub static CLAUSES: &[Phrase] = phrases! {
    Advice("recover transient => …", ARMS):
        "catch e", "rescue e", "except e", "fallback e", "on_error e", "on e";
    Certain("when flag"): "if flag", "where flag";
    Advice("when !flag"): "unless flag";
    Advice("retry { attempts: 3 }", "`attempts` counts the first one too"): "retries 3", "attempts 3";
    Certain("after f"): "depends_on f", "dependsOn f", "needs f", "requires f";
    Advice("undo …", "it runs if the plan fails later"):
        "rollback ns.tool(…)", "compensate ns.tool(…)", "revert ns.tool(…)";
    Advice("undo …", "it runs if the plan fails later; `recover … => …` handles a failure of this step"):
        "on_failure ns.tool(…)";
    Advice("confirm \"…\""): "approve \"…\"", "approval \"…\"";
    Advice("within 5m", "`timeout` limits one attempt, `within` the whole step, `policy { deadline: … }` the run"):
        "deadline 5m";
    Advice("", "put steps that may run at the same time in `parallel { … }`; for an `each`, write `each x in xs max 100 parallel 4 { … }`"):
        "parallel";
    Advice("", "write the name first: `step x = …`"): "as x";
    Advice("", ENDS): "finally { … }";
    Advice("", "clauses follow the call without `with`: `retry { attempts: 3 }`, `timeout 5s`"):
        "with retry";
};

/// Items of other languages, recognized by their first word.
pub static ITEMS: &[Phrase] = phrases! {
    Advice("use kit"): "import kit", "from kit", "include kit", "require kit", "using kit";
    Advice("plan f() { … }"):
        "function f() { … }", "def f() { … }", "fn f() { … }", "func f() { … }",
        "workflow f() { … }", "pipeline f() { … }", "flow f() { … }", "async f() { … }";
    Advice("plan f() { … }", "every plan of a file can be called"): "export plan f() { … }";
    Advice("type F = { a: string }"): "interface F", "class F", "struct F";
    Advice("type F = \"a\" | \"b\""): "enum F";
    Advice("", "define a value in a plan, `let a = 1`, or as the default of a parameter, `plan p(a: int = 1)`"):
        "const a = 1";
    Advice("plan f() { … }", NO_YAML): "name: f", "steps: f";
};

/// Settings of other systems, each after the group that it was written in.
pub static SETTINGS: &[Phrase] = phrases! {
    Near("attempts", "it counts all attempts, including the first"):
        "retry.max_attempts", "retry.max", "retry.times", "retry.count", "retry.retries", "retry.limit";
    Near("delay", "`factor` lets it grow from attempt to attempt"):
        "retry.backoff", "retry.interval", "retry.wait", "retry.initial_delay", "retry.min_delay";
    Near("factor"): "retry.multiplier", "retry.backoff_rate", "retry.exponent";
    Near("on"): "retry.errors", "retry.when", "retry.retry_on";
    Advice("retry: { attempts: 3 }"): "policy.retries", "policy.attempts", "policy.max_attempts";
    Near("deadline"): "policy.max_time", "policy.max_duration", "policy.ttl";
    Near("concurrency"): "policy.parallel", "policy.parallelism", "policy.max_parallel";
    Near("net"): "allow.hosts", "allow.network", "allow.http", "allow.domains", "allow.urls";
    Near("run"): "allow.exec", "allow.programs", "allow.commands", "allow.proc", "allow.shell";
    Advice("read: [\"data/*\"], write: [\"out/*\"]"): "allow.fs", "allow.files", "allow.paths";
};

/// Names that other languages give to the class of every error.
pub const EVERY_ERROR: [&str; 8] = [
    "any",
    "all",
    "error",
    "Error",
    "Exception",
    "err",
    "default",
    "everything",
];

/// Lines of tests in other frameworks, recognized by their first word.
pub static TEST_LINES: &[Phrase] = phrases! {
    Certain("expect reply > 1"): "assert reply > 1";
    Advice("given { a: 1 }"): "input a", "inputs { … }", "params { … }", "with { … }";
    Advice("mock ns.tool => { a: 1 }"): "stub ns.tool", "fake ns.tool";
};

/// Types of other languages.
pub static TYPES: &[Phrase] = phrases! {
    Certain("string"): "str", "String", "text", "varchar";
    Certain("bool"): "boolean", "Boolean", "Bool";
    Certain("int"): "integer", "Integer", "Int", "long", "i64", "int64";
    Certain("double"): "float", "Float", "f64", "float64", "decimal";
    Near("double", "whole numbers are `int`"): "number", "Number";
    Certain("null"): "undefined", "None", "nil", "void";
    Certain("any"): "unknown", "Any";
    Near("any", OBJECTS): "object", "Object";
    Near("map<string, any>", "for known fields, use `{ a: string, b?: int }`"):
        "dict";
    Near("any[]", "to specify the type of its elements, use `string[]`"): "list", "array", "Array", "List";
    Certain("timestamp"): "datetime", "DateTime", "Date";
    Near("timestamp", "for a date without a time, use `string`"): "date";
    Certain("duration"): "timedelta", "Duration";
    Certain("secret"): "password";
};

/// Operators and other marks of expressions.
pub static MARKS: &[Phrase] = phrases! {
    Certain("=="): "===";
    Certain("!="): "!==", "<>";
    Certain("&&"): "and", "AND", "&";
    Certain("||"): "or", "OR", "|";
    Certain("!"): "not", "NOT";
    Certain("=="): "eq";
    Certain("!="): "ne";
    Certain(">"): "gt";
    Certain("<"): "lt";
    Certain("%"): "mod";
    Advice("", "there is no power operator; multiply instead: `n * n`"): "**";
    Advice("", "values cannot be reassigned; use a new name: `let m = n + 1`"): "++";
    Advice("", "values cannot be reassigned; use a new name: `let m = n - 1`"): "--";
    Advice("", "values cannot be reassigned; use a new name: `let m = n + 1`"): "+=";
    Advice("", "values cannot be reassigned; use a new name: `let m = n - 1`"): "-=";
    Advice("", MACROS): "=>", "->", "lambda";
    Advice("", "make a list from another one with `xs.map(x, x.name)`, or with calls in a step `each x in xs max 100 { … }`"):
        "for";
    Advice("", "extend a list with `xs + [x]`, and write out the fields of an object: `{ a: x.a, b: 1 }`"):
        "...";
    Advice("", CHOICES): "if", "then";
    Advice("", "there are no constructors: write an object as `{ a: 1 }`, a list as `[1, 2]`, and read the time in a step, `step now = sys.now()`"):
        "new";
    Advice("", WAITS): "await";
    Advice("", TYPED): "typeof", "instanceof";
    Advice("", "remove the word: reads run at the same time automatically, effects in `parallel { … }`"):
        "spawn";
    Advice("", WAITS): "async";
    Advice("", CALLS): "call", "run", "invoke";
};
