//! Phrases of expressions: functions, methods, constants and objects of other languages.

use super::{Certainty, Phrase};

const ASCII: &str = "it changes the letters a to z only";
const LISTS: &str = "a list is never changed, so this makes another one";
const TIME: &str = "time is read in a step, so that a resumed run sees the same: `step now = sys.now()`, then `now`";
const CHANCE: &str = "chance is read in a step, so that a resumed run sees the same: `step id = sys.uuid()`, then `id`";
const PRINT: &str =
    "a plan prints nothing: what it tells is its `reply`, and `planrun run` shows every step";
const PARSE: &str = "texts are not read as JSON in a plan: declare what the tool gives, `tool ns.name(…) -> { field: string }`, and read its fields";
const FOLD: &str = "nothing is carried over a list: `sum(xs)`, `size(xs)`, `xs.join(\", \")`, `.map`, `.filter` make one value of it; where calls depend on each other, `repeat` does";
const CALLS: &str = "calls for each element are a step, `step done = each x in xs max 100 { … yield … }`; values are `xs.map(x, e)`";
const TYPES: &str = "types are known before the run: ask `x != null`, take the cases of a union apart with `match`, or give an unknown value a type, `let y: T = x`";
const OUTSIDE: &str = "what a plan gets from outside is a parameter: `plan name(value: string)`";
const FIELDS: &str = "an object is written out: `{ a: x.a, b: 1 }`";

/// Phrases and their counterparts, by what they are about.
pub static EXPRESSIONS: &[Phrase] = phrases! {
    // How much.
    Certain("size(c)"):
        "len(c)", "length(c)", "count(c)", "sizeof(c)", "c.length", "c.length()", "c.len()",
        "c.count", "c.count()", "c.size";
    Certain("size(c) == 0"):
        "isEmpty(c)", "is_empty(c)", "empty(c)", "c.isEmpty()", "c.is_empty()", "c.empty()",
        "c.isEmpty", "c.empty";
    // Texts.
    Near("s.upperAscii()", ASCII):
        "s.toUpperCase()", "s.toUpper()", "s.upper()", "s.upcase()", "upper(s)", "toUpperCase(s)";
    Near("s.lowerAscii()", ASCII):
        "s.toLowerCase()", "s.toLower()", "s.lower()", "s.downcase()", "s.casefold()", "lower(s)",
        "toLowerCase(s)";
    Certain("s.trim()"): "s.strip()", "strip(s)";
    Near("s.trim()", "it takes the spaces away on both sides"):
        "s.trimEnd()", "s.trimStart()", "s.rstrip()", "s.lstrip()";
    Certain("s.startsWith(a)"): "s.startswith(a)", "s.starts_with(a)", "s.hasPrefix(a)";
    Certain("s.endsWith(a)"): "s.endswith(a)", "s.ends_with(a)", "s.hasSuffix(a)";
    Certain("s.contains(a)"): "s.includes(a)", "includes(s, a)";
    Certain("s.replace(a, b)"): "s.replaceAll(a, b)", "s.replace_all(a, b)", "s.gsub(a, b)";
    Certain("s.indexOf(a)"): "s.find(a)";
    Near("s.indexOf(a)", "it is -1 where the text is not there"): "s.index(a)";
    Near("s.substring(i)", "positions count from 0, and from the front"): "s.slice(i)";
    Near("s.substring(i, j)", "positions count from 0, and from the front"): "s.slice(i, j)";
    Near("s.substring(i, i + j)", "the second position is where it ends"): "s.substr(i, j)";
    Near("s.matches(a)", "it is true or false"): "s.match(a)", "s.test(a)";
    Certain("s == a"): "s.equals(a)";
    Certain("a == b"): "equals(a, b)";
    Certain("s + a"): "s.concat(a)";
    Certain("a + b"): "concat(a, b)";
    Certain("xs.join(s)"): "s.join(xs)";
    Certain("s.split(\"\\n\")"): "s.lines()", "s.splitlines()";
    Certain("bytes(s)"): "s.encode()";
    Told("", "there is only `s.upperAscii()`, for the whole text"): "s.title()", "s.capitalize()";
    Told("\"%.2f\".format([n])", "the digits stand in the text, and the result is text"):
        "n.toFixed(i)";
    Told("\"… ${x} …\""): "sprintf(a)";
    // Conversions.
    Certain("string(x)"):
        "str(x)", "String(x)", "toString(x)", "to_string(x)", "x.toString()", "x.to_s()";
    Certain("double(x)"): "float(x)", "Number(x)", "number(x)";
    Certain("double(s)"): "parseFloat(s)";
    Certain("int(s)"): "parseInt(s)";
    Certain("int(x)"): "Integer(x)", "integer(x)", "toInt(x)";
    Certain("int(s)"): "s.toInt()";
    Told("", "nothing is true or false by itself: ask `x != null`, `x != \"\"`, `x > 0` or `size(x) > 0`"):
        "Boolean(x)";
    Certain("json(x)"):
        "JSON.stringify(x)", "json.dumps(x)", "toJson(x)", "to_json(x)", "tojson(x)", "toJSON(x)",
        "x.toJSON()";
    Told("", PARSE):
        "JSON.parse(s)", "json.loads(s)", "parseJson(s)", "parse_json(s)", "fromJson(s)",
        "from_json(s)";
    Near("timestamp(s)", "the text has a date, a time and an offset, as in `2026-03-02T09:00:00Z`"):
        "date(s)", "datetime(s)", "parseDate(s)", "Date.parse(s)";
    // Numbers.
    Near("math.round(n)", "halves go away from zero, and the result is a double"):
        "round(n)", "Math.round(n)";
    Certain("math.floor(n)"): "floor(n)";
    Certain("math.ceil(n)"): "ceil(n)";
    Certain("math.abs(n)"): "abs(n)";
    Certain("math.sqrt(n)"): "sqrt(n)";
    Certain("math.trunc(n)"): "trunc(n)";
    Certain("math.floor(n)"): "Math.floor(n)";
    Certain("math.ceil(n)"): "Math.ceil(n)";
    Certain("math.abs(n)"): "Math.abs(n)";
    Certain("math.sqrt(n)"): "Math.sqrt(n)";
    Certain("math.trunc(n)"): "Math.trunc(n)";
    Certain("math.greatest(a, b)"): "Math.max(a, b)";
    Certain("math.least(a, b)"): "Math.min(a, b)";
    Certain("math.greatest(a, b)"): "math.max(a, b)";
    Certain("math.least(a, b)"): "math.min(a, b)";
    Certain("math.greatest(a, b)"): "max(a, b)";
    Certain("math.least(a, b)"): "min(a, b)";
    Told("", "there is no power: multiply, `n * n`"):
        "Math.pow(a, b)", "math.pow(a, b)", "pow(a, b)";
    Told("", CHANCE): "Math.random()", "random()";
    Near("double(sum(xs)) / double(size(xs))", "of an empty list it fails"):
        "avg(xs)", "mean(xs)", "xs.avg()", "xs.average()", "xs.mean()";
    // Lists.
    Certain("x in xs"):
        "xs.includes(x)", "xs.include(x)", "includes(xs, x)", "xs.contains(x)", "contains(xs, x)",
        "xs.has(x)";
    Certain("xs.exists(x, e)"): "xs.some(x, e)", "xs.any(x, e)";
    Certain("xs.all(x, e)"): "xs.every(x, e)";
    Certain("xs.filter(x, e)"): "xs.select(x, e)", "xs.where(x, e)";
    Certain("xs.map(x, e)"): "xs.collect(x, e)";
    Certain("xs.map(x, e).flatten()"): "xs.flatMap(x, e)", "xs.flat_map(x, e)";
    Certain("xs.flatten()"): "xs.flat()";
    Certain("xs.sortBy(x, e)"):
        "xs.sort_by(x, e)", "xs.sorted(x, e)", "xs.sort(x, e)", "xs.order_by(x, e)",
        "xs.orderBy(x, e)";
    Certain("xs.distinct()"): "xs.unique()", "xs.uniq()", "unique(xs)";
    Certain("xs.sort()"): "sorted(xs)", "xs.sorted()";
    Certain("xs.reverse()"): "reversed(xs)", "xs.reversed()";
    Certain("xs + ys"): "xs.concat(ys)";
    Near("xs + [a]", LISTS): "xs.push(a)", "xs.append(a)", "xs.add(a)", "append(xs, a)";
    Near("xs + ys", LISTS): "xs.extend(ys)";
    Near("xs.slice(i, size(xs))", "positions count from 0, and from the front"): "xs.slice(i)";
    Near("xs[i]", "positions count from 0, and from the front"): "xs.at(i)";
    Near("xs[i]", "a position that is not there fails"): "xs.get(i)";
    Certain("lists.range(n)"): "range(n)";
    Told("lists.range(b - a).map(i, a + i)"): "range(a, b)";
    Told("xs.transformList(i, x, …)", "with calls in it: `each x, i in xs max 100 { … }`"):
        "enumerate(xs)";
    Told("xs.transformList(i, x, { a: x, b: ys[i] })"): "zip(xs, ys)";
    Told("", CALLS): "xs.forEach(x, e)", "xs.each(x, e)", "forEach(xs, e)";
    Told("", FOLD):
        "xs.reduce(a)", "xs.fold(a)", "xs.inject(a)", "xs.accumulate(a)", "reduce(xs)", "fold(xs)";
    Told("", "there are no groups: filter once for each, `xs.filter(x, x.kind == \"a\")`"):
        "xs.groupBy(x, e)", "groupBy(xs)";
    Told("xs.exists(x, …)"): "any(xs)";
    Told("xs.all(x, …)"): "all(xs)";
    Told("xs.map(x, …)"): "map(xs)";
    Told("xs.filter(x, …)"): "filter(xs)";
    // Maps and objects.
    Certain("entries(m).map(one, one.key)"): "m.keys()";
    Certain("entries(m).map(one, one.value)"): "m.values()";
    Certain("entries(m)"): "m.items()", "m.entries()";
    Certain("entries(m).map(one, one.key)"): "keys(m)";
    Certain("entries(m).map(one, one.value)"): "values(m)";
    Certain("entries(m)"): "items(m)";
    Certain("entries(m).map(one, one.key)"): "Object.keys(m)";
    Certain("entries(m).map(one, one.value)"): "Object.values(m)";
    Certain("entries(m)"): "Object.entries(m)";
    Near("m[k]", "a key that is not there fails; `m[k] ?? other` gives another value then"):
        "m.get(k)";
    Certain("m[k] ?? d"): "m.get(k, d)";
    Certain("k in m"):
        "m.has(k)", "m.contains(k)", "m.containsKey(k)", "m.has_key(k)", "m.hasOwnProperty(k)";
    Told("", FIELDS): "m.merge(x)", "m.update(x)", "Object.assign(m)", "dict(m)";
    Told("", "values never change, so no copy is needed: use the value itself"):
        "copy(x)", "deepcopy(x)";
    // What is there, and of which type.
    Certain("null"): "None", "none", "nil", "NULL", "Null", "undefined";
    Certain("true"): "True", "TRUE";
    Certain("false"): "False", "FALSE";
    Certain("x == null"): "isNull(x)", "is_null(x)", "isNone(x)", "x.isNull()";
    Certain("x != null"): "defined(x)", "isset(x)", "exists(x)", "is_defined(x)";
    Certain("x ?? d"):
        "coalesce(x, d)", "default(x, d)", "ifNull(x, d)", "nvl(x, d)", "x.getOrElse(d)",
        "x.orElse(d)", "x.default(d)";
    Certain("a ? b : d"): "iif(a, b, d)";
    Told("", TYPES):
        "isinstance(x)", "typeof(x)", "instanceof(x)", "isString(x)", "isNumber(x)",
        "Array.isArray(x)";
    // The world.
    Told("", TIME):
        "now()", "today()", "Date()", "Date.now()", "datetime.now()", "datetime.utcnow()",
        "time.time()", "time.now()";
    Told("", CHANCE): "uuid()", "uuid4()", "uuid.uuid4()", "crypto.randomUUID()";
    Told("", PRINT):
        "print(x)", "println(x)", "echo(x)", "log(x)", "console.log(x)", "logger.info(x)";
    Told("", OUTSIDE): "env(s)", "getenv(s)", "os.getenv(s)", "os.environ", "process.env";
    Told("", "waiting is a step: `step pause = wait 5s`"): "sleep(x)", "wait(x)", "setTimeout(x)";
    Told("", "a request is a step: `step page = http.fetch(url: \"…\")`, with `use http` at the head"):
        "fetch(x)";
    Told("", "a file is read in a step: `step text = fs.read(path: \"…\")`, with `use fs` at the head"):
        "open(x)";
    Told("", "a request to an agent is `step x = ask agent(\"…\") -> T`; a question to a person `step x = input \"…\" -> { field: T }`"):
        "ask(x)";
    Told("", "a question to a person is `step x = input \"…\" -> { field: T }`"): "input(x)";
    Told("", "values are named bare: a parameter or a step is its own name"): "this", "self";
    Told("", "name the element: `xs.map(x, …)`, `each x in xs max 100 { … }`"): "it";
};
