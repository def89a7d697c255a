//! Phrases of expressions: functions, methods, constants and objects of other languages.

use super::{Certainty, Phrase};

const ASCII: &str = "it changes only the letters a to z";
const LISTS: &str = "lists cannot be changed, so this makes a new one";
const TIME: &str = "read the time in a step, so that a resumed run sees the same value: `step now = sys.now()`, then `now`";
const SHIFTS: &str = "add a duration: `t + 3d`; a number of days that is computed is `t + n * 1d`";
const LENGTHS: &str = "divide the duration by a unit: `d / 1d` is the number of days";
const CHANCE: &str = "get a random value in a step, so that a resumed run sees the same value: `step id = sys.uuid()`, then `id`";
const PRINT: &str =
    "a plan cannot print: return the result with `reply`; `planrun run` shows every step";
const PARSE: &str = "a plan cannot parse JSON: declare the result of the tool, `tool ns.name(…) -> { field: string }`, and read its fields; \
     where a tool gives only text, as `fs.read` and `proc.run` do, make the program that reads it a tool of the project";
const GROUPS: &str = "there is no grouping; a map of groups is `xs.map(x, x.kind).distinct().transformMapEntry(i, k, { (k): \
     xs.filter(x, x.kind == k) })`";
const NUMBERED: &str = "the position comes first; for calls, use `each x, i in xs max 100 { … }`";
const FOLD: &str = "there is no fold: use `sum(xs)`, `size(xs)`, `xs.join(\", \")`, `.map` or `.filter`; for calls that depend on each other, use `repeat`";
const CALLS: &str = "to call a tool for each element, use a step, `step done = each x in xs max 100 { … yield … }`; for values, use `xs.map(x, e)`";
const TYPES: &str = "types are known before the run: test `x != null`, distinguish the cases of a union with `match`, or declare the type of an unknown value, `let y: T = x`";
const OUTSIDE: &str = "pass values from outside as parameters: `plan name(value: string)`";
const FIELDS: &str = "write out the fields of the object: `{ a: x.a, b: 1 }`";

/// Phrases of expressions with their counterparts, grouped by topic.
pub static EXPRESSIONS: &[Phrase] = phrases! {
    // Sizes.
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
    Near("s.trim()", "it removes the spaces on both sides"):
        "s.trimEnd()", "s.trimStart()", "s.rstrip()", "s.lstrip()";
    Certain("s.startsWith(a)"): "s.startswith(a)", "s.starts_with(a)", "s.hasPrefix(a)";
    Certain("s.endsWith(a)"): "s.endswith(a)", "s.ends_with(a)", "s.hasSuffix(a)";
    Certain("s.contains(a)"): "s.includes(a)", "includes(s, a)";
    Certain("s.replace(a, b)"): "s.replaceAll(a, b)", "s.replace_all(a, b)", "s.gsub(a, b)";
    Certain("s.indexOf(a)"): "s.find(a)";
    Near("s.indexOf(a)", "it is -1 if the string is not found"): "s.index(a)";
    Near("s.substring(i)", "positions are counted from 0, from the start"): "s.slice(i)";
    Near("s.substring(i, j)", "positions are counted from 0, from the start"): "s.slice(i, j)";
    Near("s.substring(i, i + j)", "the second position is the end"): "s.substr(i, j)";
    Near("s.matches(a)", "it is true or false"): "s.match(a)", "s.test(a)";
    Certain("s == a"): "s.equals(a)";
    Certain("a == b"): "equals(a, b)";
    Certain("s + a"): "s.concat(a)";
    Certain("a + b"): "concat(a, b)";
    Certain("xs.join(s)"): "s.join(xs)";
    Certain("s.split(\"\\n\")"): "s.lines()", "s.splitlines()";
    Certain("bytes(s)"): "s.encode()";
    Advice("", "there is only `s.upperAscii()`, for the whole string"): "s.title()", "s.capitalize()";
    Advice("\"%.2f\".format([n])", "the number of digits is part of the format string, and the result is a string"):
        "n.toFixed(i)";
    Advice("\"… ${x} …\""): "sprintf(a)";
    // Conversions.
    Certain("string(x)"):
        "str(x)", "String(x)", "toString(x)", "to_string(x)", "x.toString()", "x.to_s()";
    Certain("double(x)"): "float(x)", "Number(x)", "number(x)";
    Certain("double(s)"): "parseFloat(s)";
    Certain("int(s)"): "parseInt(s)";
    Certain("int(x)"): "Integer(x)", "integer(x)", "toInt(x)";
    Certain("int(s)"): "s.toInt()";
    Advice("", "only bools are true or false: test `x != null`, `x != \"\"`, `x > 0` or `size(x) > 0`"):
        "Boolean(x)";
    Certain("json(x)"):
        "JSON.stringify(x)", "json.dumps(x)", "toJson(x)", "to_json(x)", "tojson(x)", "toJSON(x)",
        "x.toJSON()";
    Advice("", PARSE):
        "JSON.parse(s)", "json.parse(s)", "json.decode(s)", "JSON.decode(s)", "json.loads(s)",
        "json_decode(s)", "s.parseJson()", "s.parseJSON()", "s.fromJson()", "parseJson(s)", "parse_json(s)", "fromJson(s)",
        "from_json(s)";
    Near("timestamp(s)", "the string needs a date, a time and an offset, as in `2026-03-02T09:00:00Z`"):
        "date(s)", "datetime(s)", "parseDate(s)", "Date.parse(s)";
    // Numbers.
    Near("math.round(n)", "halves are rounded away from zero, and the result is a double"):
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
    Advice("", "there is no power operator; multiply instead: `n * n`"):
        "Math.pow(a, b)", "math.pow(a, b)", "pow(a, b)";
    Advice("", CHANCE): "Math.random()", "random()";
    Near("double(sum(xs)) / double(size(xs))", "it fails for an empty list"):
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
    Near("xs.filter(x, e).first()", "it is null if there is none"):
        "xs.find(x, e)", "xs.findFirst(x, e)", "xs.first(x, e)", "xs.detect(x, e)";
    Certain("size(xs.filter(x, e))"): "xs.count(x, e)";
    Certain("sum(xs)"): "xs.sum()", "xs.total()";
    Certain("sum(xs.map(x, e))"): "xs.sum(x, e)", "xs.sumBy(x, e)", "xs.sumOf(x, e)";
    Near("xs.sortBy(x, e).last()", "it is null for an empty list"):
        "xs.maxBy(x, e)", "xs.max_by(x, e)", "xs.max(x, e)";
    Near("xs.sortBy(x, e).first()", "it is null for an empty list"):
        "xs.minBy(x, e)", "xs.min_by(x, e)", "xs.min(x, e)";
    Certain("xs.distinct()"): "xs.unique()", "xs.uniq()", "unique(xs)";
    Certain("xs.sort()"): "sorted(xs)", "xs.sorted()";
    Certain("xs.reverse()"): "reversed(xs)", "xs.reversed()";
    Certain("xs + ys"): "xs.concat(ys)";
    Near("xs + [a]", LISTS): "xs.push(a)", "xs.append(a)", "xs.add(a)", "append(xs, a)";
    Near("xs + ys", LISTS): "xs.extend(ys)";
    Near("xs.slice(i, size(xs))", "positions are counted from 0, from the start"): "xs.slice(i)";
    Near("xs[i]", "positions are counted from 0, from the start"): "xs.at(i)";
    Near("xs[i]", "a position outside of the list fails"): "xs.get(i)";
    Certain("lists.range(n)"): "range(n)";
    Advice("lists.range(b - a).map(i, a + i)"): "range(a, b)";
    Advice("xs.transformList(i, x, …)", NUMBERED):
        "enumerate(xs)", "xs.enumerate()", "xs.withIndex()", "xs.with_index()", "xs.indexed()",
        "xs.mapIndexed(x)", "xs.map_with_index(x)";
    Advice("xs.transformMapEntry(i, x, { (x): i })", "`(…)` computes the key, as in `{ (x.key): x.value }`"):
        "xs.toMap(x)", "xs.to_map(x)", "xs.toObject(x)", "xs.associate(x)", "xs.associateBy(x)",
        "xs.keyBy(x)", "xs.key_by(x)", "xs.indexBy(x)", "xs.toDict(x)", "dict(xs)",
        "Object.fromEntries(xs)", "fromEntries(xs)";
    Advice("xs.transformList(i, x, { a: x, b: ys[i] })"): "zip(xs, ys)";
    Advice("", CALLS): "xs.forEach(x, e)", "xs.each(x, e)", "forEach(xs, e)";
    Advice("", FOLD):
        "xs.reduce(a)", "xs.fold(a)", "xs.inject(a)", "xs.accumulate(a)", "reduce(xs)", "fold(xs)";
    Advice("", GROUPS):
        "xs.groupBy(x, e)", "xs.group_by(x, e)", "groupBy(xs)";
    Advice("xs.exists(x, …)"): "any(xs)";
    Advice("xs.all(x, …)"): "all(xs)";
    Advice("xs.map(x, …)"): "map(xs)";
    Advice("xs.filter(x, …)"): "filter(xs)";
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
    Near("m[k]", "a missing key fails; use `m[k] ?? other` for a default"):
        "m.get(k)";
    Certain("m[k] ?? d"): "m.get(k, d)";
    Certain("k in m"):
        "m.has(k)", "m.contains(k)", "m.containsKey(k)", "m.has_key(k)", "m.hasOwnProperty(k)";
    Advice("", FIELDS): "m.merge(x)", "m.update(x)", "Object.assign(m)", "dict(m)";
    Advice("", "use the value itself: values cannot be changed, so no copy is needed"):
        "copy(x)", "deepcopy(x)";
    // Null, booleans and types.
    Certain("null"): "None", "none", "nil", "NULL", "Null", "undefined";
    Certain("true"): "True", "TRUE";
    Certain("false"): "False", "FALSE";
    Certain("x == null"): "isNull(x)", "is_null(x)", "isNone(x)", "x.isNull()";
    Certain("x != null"): "defined(x)", "isset(x)", "exists(x)", "is_defined(x)";
    Certain("x ?? d"):
        "coalesce(x, d)", "default(x, d)", "ifNull(x, d)", "nvl(x, d)", "x.getOrElse(d)",
        "x.orElse(d)", "x.default(d)";
    Certain("a ? b : d"): "iif(a, b, d)";
    Advice("", TYPES):
        "isinstance(x)", "typeof(x)", "instanceof(x)", "isString(x)", "isNumber(x)",
        "Array.isArray(x)";
    // Time, randomness, input and output.
    Advice("", TIME):
        "now()", "today()", "Date()", "Date.now()", "datetime.now()", "datetime.utcnow()",
        "time.time()", "time.now()";
    Advice("", SHIFTS):
        "x.addDays(n)", "x.addHours(n)", "x.addMinutes(n)", "x.plusDays(n)", "x.plusHours(n)", "x.add(n)", "x.minusDays(n)",
        "x.subtract(n)";
    Advice("", LENGTHS):
        "x.days", "x.hours", "x.minutes", "x.total_seconds()", "x.toDays()", "x.toHours()", "x.toMinutes()";
    Advice("x.format(\"%Y-%m-%d\")", "the pattern has the clauses of `strftime`"):
        "x.date()", "x.toDateString()";
    Near("string(x)", "it is the time in UTC, as in `2026-03-02T09:00:00Z`"): "x.toISOString()", "x.isoformat()";
    Certain("x.format(s)"): "x.strftime(s)";
    Advice("", CHANCE): "uuid()", "uuid4()", "uuid.uuid4()", "crypto.randomUUID()";
    Advice("", PRINT):
        "print(x)", "println(x)", "echo(x)", "log(x)", "console.log(x)", "logger.info(x)";
    Advice("", OUTSIDE): "env(s)", "getenv(s)", "os.getenv(s)", "os.environ", "process.env";
    Advice("", "wait in a step: `step pause = wait 5s`"): "sleep(x)", "wait(x)", "setTimeout(x)";
    Advice("", "make a request in a step: `step page = http.fetch(url: \"…\")`, with `use http` at the top of the file"):
        "fetch(x)";
    Advice("", "read a file in a step: `step text = fs.read(path: \"…\")`, with `use fs` at the top of the file"):
        "open(x)";
    Advice("", "ask a model that may call the tools of `desk` with `step x = ask desk(\"…\") -> T`, or a person with `step x = input \"…\" -> { field: T }`"):
        "ask(x)";
    Advice("", "ask a person with `step x = input \"…\" -> { field: T }`"): "input(x)";
    Advice("", "name parameters and steps directly"): "this", "self";
    Advice("", "name the element: `xs.map(x, …)`, `each x in xs max 100 { … }`"): "it";
};
