//! Words that begin statements, clauses and items in other languages, their types and their marks.

use super::{Phrase, certain, near, told};

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
pub static STATEMENTS: &[Phrase] = &[
    certain("const a = 1", "let a = 1"),
    certain("var a = 1", "let a = 1"),
    certain("val a = 1", "let a = 1"),
    certain("final a = 1", "let a = 1"),
    certain("return value", "reply value"),
    told("output value", "reply value", ""),
    told("result value", "reply value", ""),
    told("print(s)", "", PRINT),
    told("println(s)", "", PRINT),
    told("echo s", "", PRINT),
    told("log(s)", "", PRINT),
    told("console.log(s)", "", PRINT),
    told(
        "for x in xs { … }",
        "step r = each x in xs max 100 { … yield x }",
        LOOP,
    ),
    told(
        "foreach x in xs { … }",
        "step r = each x in xs max 100 { … yield x }",
        LOOP,
    ),
    told(
        "forEach x in xs { … }",
        "step r = each x in xs max 100 { … yield x }",
        LOOP,
    ),
    told(
        "each x in xs { … }",
        "step r = each x in xs max 100 { … yield x }",
        LOOP,
    ),
    told(
        "map x in xs { … }",
        "step r = each x in xs max 100 { … yield x }",
        LOOP,
    ),
    told(
        "while n > 1 { … }",
        "step r = repeat k = 1 max 100 { … yield k next k < n ? k + 1 : null }",
        ROUNDS,
    ),
    told(
        "loop { … }",
        "step r = repeat k = 1 max 100 { … yield k next k < n ? k + 1 : null }",
        ROUNDS,
    ),
    told(
        "repeat 3 { … }",
        "step r = repeat k = 1 max 100 { … yield k next k < n ? k + 1 : null }",
        ROUNDS,
    ),
    certain("elif n > 1 { … }", "else if n > 1 { … }"),
    certain("elsif n > 1 { … }", "else if n > 1 { … }"),
    certain("elseif n > 1 { … }", "else if n > 1 { … }"),
    told("unless flag { … }", "if !flag { … }", ""),
    told(
        "switch s { … }",
        "step r = match s { \"a\" => ns.tool(…), _ => ns.other(…) }",
        "of values `let v = match s { … }`",
    ),
    told(
        "case s { … }",
        "step r = match s { \"a\" => ns.tool(…), _ => ns.other(…) }",
        "of values `let v = match s { … }`",
    ),
    told(
        "match s { … }",
        "step r = match s { \"a\" => ns.tool(…), _ => ns.other(…) }",
        "of values `let v = match s { … }`",
    ),
    told(
        "try { … }",
        "step a = ns.tool(…) recover transient => null",
        OWN_FAILURES,
    ),
    told(
        "catch (e) { … }",
        "step a = ns.tool(…) recover transient => null",
        OWN_FAILURES,
    ),
    told(
        "except e { … }",
        "step a = ns.tool(…) recover transient => null",
        OWN_FAILURES,
    ),
    told("finally { … }", "", ENDS),
    told("defer { … }", "", ENDS),
    told(
        "throw s",
        "fail tool.refused \"…\"",
        "a failure has a class",
    ),
    told(
        "raise s",
        "fail tool.refused \"…\"",
        "a failure has a class",
    ),
    told(
        "error s",
        "fail tool.refused \"…\"",
        "a failure has a class",
    ),
    told(
        "abort s",
        "fail tool.refused \"…\"",
        "a failure has a class",
    ),
    told(
        "panic s",
        "fail tool.refused \"…\"",
        "a failure has a class",
    ),
    told(
        "exit s",
        "fail tool.refused \"…\"",
        "a good end is a `reply`",
    ),
    told(
        "stop s",
        "fail tool.refused \"…\"",
        "a good end is a `reply`",
    ),
    told("assert n > 1", "ensure n > 1 else \"…\"", ""),
    told("require n > 1", "ensure n > 1 else \"…\"", ""),
    told("check n > 1", "ensure n > 1 else \"…\"", ""),
    told("break", "", EARLY),
    told("continue", "", EARLY),
    told("pass", "", "a block may be empty: `{}`"),
    told("function f(a) { … }", "", FUNCTIONS),
    told("def f(a) { … }", "", FUNCTIONS),
    told("fn f(a) { … }", "", FUNCTIONS),
    told("func f(a) { … }", "", FUNCTIONS),
    told(
        "async step a = ns.tool(…)",
        "step a = ns.tool(…)",
        "a step waits by itself for what it reads; effects run at the same time in `parallel { … }`",
    ),
    told(
        "await ns.tool(…)",
        "step a = ns.tool(…)",
        "a step waits by itself for what it reads",
    ),
    told(
        "spawn ns.tool(…)",
        "step a = ns.tool(…)",
        "reads run at the same time by themselves, effects in `parallel { … }`",
    ),
    told("call ns.tool(…)", "step a = ns.tool(…)", ""),
    told("run ns.tool(…)", "step a = ns.tool(…)", ""),
    told("invoke ns.tool(…)", "step a = ns.tool(…)", ""),
    told("exec ns.tool(…)", "step a = ns.tool(…)", ""),
    told("do { … }", "step a = do { … yield value }", ""),
    told(
        "race { … }",
        "step a = race { one: ns.tool(…), other: ns.other(…) }",
        "",
    ),
    told("sleep 5s", "step pause = wait 5s", ""),
    told("delay 5s", "step pause = wait 5s", ""),
    told("wait 5s", "step pause = wait 5s", ""),
    told(
        "input \"Name?\" -> { a: string }",
        "step form = input \"Name?\" -> { a: string }",
        "",
    ),
    told(
        "ask agent(\"…\")",
        "step answer = ask agent(\"…\") -> string",
        "",
    ),
    told("infer(\"…\")", "step answer = infer(\"…\") -> string", ""),
    told("begin", "", BLOCKS),
    told("end", "", BLOCKS),
    told("endif", "", BLOCKS),
    told("fi", "", BLOCKS),
    told("done", "", BLOCKS),
    told("import kit", "", NAMESPACES),
    told("from kit", "", NAMESPACES),
    told("include kit", "", NAMESPACES),
    told(
        "emit s",
        "",
        "what happened is told with `set task status`, what comes from outside is waited for with `wait for signal \"name\"`",
    ),
    told("inputs { … }", "", INPUTS),
    told("params { … }", "", INPUTS),
    told(
        "steps { … }",
        "",
        "steps stand one below the other in the plan: `step a = ns.tool(…)`",
    ),
];

/// What stands behind a step elsewhere, as a clause does here.
pub static CLAUSES: &[Phrase] = &[
    told("catch e", "recover transient => …", ARMS),
    told("rescue e", "recover transient => …", ARMS),
    told("except e", "recover transient => …", ARMS),
    told("fallback e", "recover transient => …", ARMS),
    told("on_error e", "recover transient => …", ARMS),
    told("on e", "recover transient => …", ARMS),
    certain("if flag", "when flag"),
    certain("where flag", "when flag"),
    told("unless flag", "when !flag", ""),
    told(
        "retries 3",
        "retry { attempts: 3 }",
        "`attempts` counts the first one too",
    ),
    told(
        "attempts 3",
        "retry { attempts: 3 }",
        "`attempts` counts the first one too",
    ),
    certain("depends_on f", "after f"),
    certain("dependsOn f", "after f"),
    certain("needs f", "after f"),
    certain("requires f", "after f"),
    told(
        "rollback ns.tool(…)",
        "undo …",
        "it is done where the plan fails later",
    ),
    told(
        "compensate ns.tool(…)",
        "undo …",
        "it is done where the plan fails later",
    ),
    told(
        "revert ns.tool(…)",
        "undo …",
        "it is done where the plan fails later",
    ),
    told(
        "on_failure ns.tool(…)",
        "undo …",
        "it is done where the plan fails later; `recover … => …` is for this step's own failure",
    ),
    told("approve \"…\"", "confirm \"…\"", ""),
    told("approval \"…\"", "confirm \"…\"", ""),
    told(
        "deadline 5m",
        "within 5m",
        "`timeout` bounds one attempt, `within` the whole step, `policy { deadline: … }` the run",
    ),
    told(
        "parallel",
        "",
        "steps that may run at the same time stand in `parallel { … }`; for an `each`, write `each x in xs max 100 parallel 4 { … }`",
    ),
    told("as x", "", "the name stands in front: `step x = …`"),
];

/// What begins an item elsewhere.
pub static ITEMS: &[Phrase] = &[
    told("import kit", "use kit", ""),
    told("from kit", "use kit", ""),
    told("include kit", "use kit", ""),
    told("require kit", "use kit", ""),
    told("using kit", "use kit", ""),
    told("function f() { … }", "plan f() { … }", ""),
    told("def f() { … }", "plan f() { … }", ""),
    told("fn f() { … }", "plan f() { … }", ""),
    told("func f() { … }", "plan f() { … }", ""),
    told("workflow f() { … }", "plan f() { … }", ""),
    told("pipeline f() { … }", "plan f() { … }", ""),
    told("flow f() { … }", "plan f() { … }", ""),
    told("async f() { … }", "plan f() { … }", ""),
    told(
        "export plan f() { … }",
        "plan f() { … }",
        "every plan of a file can be called",
    ),
    told("interface F", "type F = { a: string }", ""),
    told("class F", "type F = { a: string }", ""),
    told("struct F", "type F = { a: string }", ""),
    told("enum F", "type F = \"a\" | \"b\"", ""),
    told(
        "const a = 1",
        "",
        "a value stands in a plan, `let a = 1`, or is the default of a parameter, `plan p(a: int = 1)`",
    ),
    told("name: f", "plan f() { … }", NO_YAML),
    told("steps: f", "plan f() { … }", NO_YAML),
];

/// Types of other languages.
pub static TYPES: &[Phrase] = &[
    certain("str", "string"),
    certain("String", "string"),
    certain("text", "string"),
    certain("varchar", "string"),
    certain("boolean", "bool"),
    certain("Boolean", "bool"),
    certain("Bool", "bool"),
    certain("integer", "int"),
    certain("Integer", "int"),
    certain("Int", "int"),
    certain("long", "int"),
    certain("i64", "int"),
    certain("int64", "int"),
    certain("float", "double"),
    certain("Float", "double"),
    certain("f64", "double"),
    certain("float64", "double"),
    certain("decimal", "double"),
    near("number", "double", "whole numbers are `int`"),
    near("Number", "double", "whole numbers are `int`"),
    certain("undefined", "null"),
    certain("None", "null"),
    certain("nil", "null"),
    certain("void", "null"),
    certain("unknown", "any"),
    certain("Any", "any"),
    near("object", "any", OBJECTS),
    near("Object", "any", OBJECTS),
    near(
        "dict",
        "map<string, any>",
        "fields that are known are written out: `{ a: string, b?: int }`",
    ),
    near("list", "any[]", "say of what: `string[]`"),
    near("array", "any[]", "say of what: `string[]`"),
    near("Array", "any[]", "say of what: `string[]`"),
    near("List", "any[]", "say of what: `string[]`"),
    certain("datetime", "timestamp"),
    certain("DateTime", "timestamp"),
    certain("Date", "timestamp"),
    near("date", "timestamp", "a day without a time is a `string`"),
    certain("timedelta", "duration"),
    certain("Duration", "duration"),
    certain("password", "secret"),
];

/// Marks and words between values.
pub static MARKS: &[Phrase] = &[
    certain("===", "=="),
    certain("!==", "!="),
    certain("<>", "!="),
    certain("and", "&&"),
    certain("AND", "&&"),
    certain("&", "&&"),
    certain("or", "||"),
    certain("OR", "||"),
    certain("|", "||"),
    certain("not", "!"),
    certain("NOT", "!"),
    certain("eq", "=="),
    certain("ne", "!="),
    certain("gt", ">"),
    certain("lt", "<"),
    certain("mod", "%"),
    told("**", "", "there is no power: multiply, `n * n`"),
    told(
        "++",
        "",
        "a value never changes: name another one, `let m = n + 1`",
    ),
    told(
        "--",
        "",
        "a value never changes: name another one, `let m = n - 1`",
    ),
    told(
        "+=",
        "",
        "a value never changes: name another one, `let m = n + 1`",
    ),
    told(
        "-=",
        "",
        "a value never changes: name another one, `let m = n - 1`",
    ),
    told("=>", "", MACROS),
    told("->", "", MACROS),
    told("lambda", "", MACROS),
    told(
        "for",
        "",
        "a list is made from another one with `xs.map(x, x.name)`, with calls in it by a step `each x in xs max 100 { … }`",
    ),
    told(
        "...",
        "",
        "a list is extended with `xs + [x]`, an object is written out: `{ a: x.a, b: 1 }`",
    ),
    told("if", "", CHOICES),
    told("then", "", CHOICES),
    told(
        "new",
        "",
        "there are no objects to make: an object is `{ a: 1 }`, a list `[1, 2]`, the time a step, `step now = sys.now()`",
    ),
    told("await", "", WAITS),
    told("typeof", "", TYPED),
    told("instanceof", "", TYPED),
    told(
        "spawn",
        "",
        "reads run at the same time by themselves, effects in `parallel { … }`: leave the word out",
    ),
    told("async", "", WAITS),
    told("call", "", CALLS),
    told("run", "", CALLS),
    told("invoke", "", CALLS),
];
