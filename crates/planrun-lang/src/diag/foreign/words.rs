//! Words that begin statements, clauses and items in other languages, their types and their marks.

use super::{Certainty, Phrase};

const LOOP: &str = "a loop is a step with a bound, and its value is the list of what it yields";
const BLOCKS: &str = "a block ends with its `}`";
const EARLY: &str = "an early end is guarded: `reply value when condition`, in a block `yield value when condition`; `each` goes over a list that is filtered before";
const FUNCTIONS: &str = "there are no functions: a value is a `let`, several steps are a `plan` of their own, which others call";
const PRINT: &str =
    "a plan prints nothing: what it tells is its `reply`, and `planrun run` shows every step";
const ARMS: &str = "an arm names what it catches, and gives a value, a call, `do { … }` or `fail`";
const ROUNDS: &str = "rounds carry a state, and `next null` ends them";
const OWN_FAILURES: &str = "each step says itself what to do where it fails; for several, `step x = do { … } recover … => …`";
const NAMESPACES: &str = "namespaces of tools are named at the head of the file: `use kit`";
const MACROS: &str =
    "a macro takes the name and the expression, with a comma between: `xs.map(x, x.name)`";
const CALLS: &str = "a step calls by itself: leave the word out";
const ENDS: &str = "what an end takes back is the `undo` of each step; what happens at the end in any case is `listener l on plan is completed || plan is failed { … }`";
const INPUTS: &str = "inputs are the parameters of the plan: `plan name(a: string)`";
const NO_YAML: &str = "a plan is a text of its own, and no YAML";
const OBJECTS: &str = "an object with fields that are known is `{ a: string, b?: int }`, one with others `map<string, T>`";
const CHOICES: &str = "a choice between values is `condition ? one : other`";
const WAITS: &str = "a step waits by itself for what it reads: leave the word out";
const TYPED: &str = "types are known before the run: ask `x != null`, or take the cases of a union apart with `match`";

/// What begins a statement elsewhere. The first word is what is recognised.
pub static STATEMENTS: &[Phrase] = phrases! {
    Certain("let a = 1"): "const a = 1", "var a = 1", "val a = 1", "final a = 1";
    Certain("reply value"): "return value";
    Told("reply value"): "output value", "result value";
    Told("", PRINT): "print(s)", "println(s)", "echo s", "log(s)", "console.log(s)";
    Told("step r = each x in xs max 100 { … yield x }", LOOP):
        "for x in xs { … }", "foreach x in xs { … }", "forEach x in xs { … }", "each x in xs { … }",
        "map x in xs { … }";
    Told("step r = repeat k = 1 max 100 { … yield k next k < n ? k + 1 : null }", ROUNDS):
        "while n > 1 { … }", "loop { … }", "repeat 3 { … }";
    Certain("else if n > 1 { … }"): "elif n > 1 { … }", "elsif n > 1 { … }", "elseif n > 1 { … }";
    Told("if !flag { … }"): "unless flag { … }";
    Told("step r = match s { \"a\" => ns.tool(…), _ => ns.other(…) }", "of values `let v = match s { … }`"):
        "switch s { … }", "case s { … }", "match s { … }";
    Told("step a = ns.tool(…) recover transient => null", OWN_FAILURES):
        "try { … }", "catch (e) { … }", "except e { … }";
    Told("", ENDS): "finally { … }", "defer { … }";
    Told("fail tool.refused \"…\"", "a failure has a class"):
        "throw s", "raise s", "error s", "abort s", "panic s";
    Told("fail tool.refused \"…\"", "a good end is a `reply`"): "exit s", "stop s";
    Told("ensure n > 1 else \"…\""): "assert n > 1", "require n > 1", "check n > 1";
    Told("", EARLY): "break", "continue";
    Told("", "a block may be empty: `{}`"): "pass";
    Told("", FUNCTIONS):
        "function f(a) { … }", "def f(a) { … }", "fn f(a) { … }", "func f(a) { … }";
    Told("step a = ns.tool(…)", "a step waits by itself for what it reads; effects run at the same time in `parallel { … }`"):
        "async step a = ns.tool(…)";
    Told("step a = ns.tool(…)", "a step waits by itself for what it reads"): "await ns.tool(…)";
    Told("step a = ns.tool(…)", "reads run at the same time by themselves, effects in `parallel { … }`"):
        "spawn ns.tool(…)";
    Told("step a = ns.tool(…)"):
        "call ns.tool(…)", "run ns.tool(…)", "invoke ns.tool(…)", "exec ns.tool(…)";
    Told("step a = do { … yield value }"): "do { … }";
    Told("step a = race { one: ns.tool(…), other: ns.other(…) }"): "race { … }";
    Told("step pause = wait 5s"): "sleep 5s", "delay 5s", "wait 5s";
    Told("step form = input \"Name?\" -> { a: string }"): "input \"Name?\" -> { a: string }";
    Told("step answer = ask agent(\"…\") -> string"): "ask agent(\"…\")";
    Told("step answer = infer(\"…\") -> string"): "infer(\"…\")";
    Told("", BLOCKS): "begin", "end", "endif", "fi", "done";
    Told("", NAMESPACES): "import kit", "from kit", "include kit";
    Told("", "what happened is told with `set task status`, what comes from outside is waited for with `wait for signal \"name\"`"):
        "emit s";
    Told("", INPUTS): "inputs { … }", "params { … }";
    Told("", "steps stand one below the other in the plan: `step a = ns.tool(…)`"): "steps { … }";
};

/// What stands behind a step elsewhere, as a clause does here.
pub static CLAUSES: &[Phrase] = phrases! {
    Told("recover transient => …", ARMS):
        "catch e", "rescue e", "except e", "fallback e", "on_error e", "on e";
    Certain("when flag"): "if flag", "where flag";
    Told("when !flag"): "unless flag";
    Told("retry { attempts: 3 }", "`attempts` counts the first one too"): "retries 3", "attempts 3";
    Certain("after f"): "depends_on f", "dependsOn f", "needs f", "requires f";
    Told("undo …", "it is done where the plan fails later"):
        "rollback ns.tool(…)", "compensate ns.tool(…)", "revert ns.tool(…)";
    Told("undo …", "it is done where the plan fails later; `recover … => …` is for this step's own failure"):
        "on_failure ns.tool(…)";
    Told("confirm \"…\""): "approve \"…\"", "approval \"…\"";
    Told("within 5m", "`timeout` bounds one attempt, `within` the whole step, `policy { deadline: … }` the run"):
        "deadline 5m";
    Told("", "steps that may run at the same time stand in `parallel { … }`; for an `each`, write `each x in xs max 100 parallel 4 { … }`"):
        "parallel";
    Told("", "the name stands in front: `step x = …`"): "as x";
};

/// What begins an item elsewhere.
pub static ITEMS: &[Phrase] = phrases! {
    Told("use kit"): "import kit", "from kit", "include kit", "require kit", "using kit";
    Told("plan f() { … }"):
        "function f() { … }", "def f() { … }", "fn f() { … }", "func f() { … }",
        "workflow f() { … }", "pipeline f() { … }", "flow f() { … }", "async f() { … }";
    Told("plan f() { … }", "every plan of a file can be called"): "export plan f() { … }";
    Told("type F = { a: string }"): "interface F", "class F", "struct F";
    Told("type F = \"a\" | \"b\""): "enum F";
    Told("", "a value stands in a plan, `let a = 1`, or is the default of a parameter, `plan p(a: int = 1)`"):
        "const a = 1";
    Told("plan f() { … }", NO_YAML): "name: f", "steps: f";
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
    Near("map<string, any>", "fields that are known are written out: `{ a: string, b?: int }`"):
        "dict";
    Near("any[]", "say of what: `string[]`"): "list", "array", "Array", "List";
    Certain("timestamp"): "datetime", "DateTime", "Date";
    Near("timestamp", "a day without a time is a `string`"): "date";
    Certain("duration"): "timedelta", "Duration";
    Certain("secret"): "password";
};

/// Marks and words between values.
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
    Told("", "there is no power: multiply, `n * n`"): "**";
    Told("", "a value never changes: name another one, `let m = n + 1`"): "++";
    Told("", "a value never changes: name another one, `let m = n - 1`"): "--";
    Told("", "a value never changes: name another one, `let m = n + 1`"): "+=";
    Told("", "a value never changes: name another one, `let m = n - 1`"): "-=";
    Told("", MACROS): "=>", "->", "lambda";
    Told("", "a list is made from another one with `xs.map(x, x.name)`, with calls in it by a step `each x in xs max 100 { … }`"):
        "for";
    Told("", "a list is extended with `xs + [x]`, an object is written out: `{ a: x.a, b: 1 }`"):
        "...";
    Told("", CHOICES): "if", "then";
    Told("", "there are no objects to make: an object is `{ a: 1 }`, a list `[1, 2]`, the time a step, `step now = sys.now()`"):
        "new";
    Told("", WAITS): "await";
    Told("", TYPED): "typeof", "instanceof";
    Told("", "reads run at the same time by themselves, effects in `parallel { … }`: leave the word out"):
        "spawn";
    Told("", WAITS): "async";
    Told("", CALLS): "call", "run", "invoke";
};
