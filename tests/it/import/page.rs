//! Generates the page about imports from the formats and the results for the recorded machines.

use std::fmt::Write as _;

use planrun_import::Format;

use super::recorded::reasons;
use crate::support::{compare, root};

const HEAD: &str = "# Importing plans of other systems

If you have workflows in another system, `planrun import FILE` converts them to plans. It reads a document and prints an equivalent plan. On standard
error it reports, with its place in the document, what was carried, what was changed, and what could not be carried. It also checks the plan against
the tools of the project.

```console
$ planrun import machine.json --output order.plan
carried  machine.json:5:5  state `Check order`: `Task`
changed  machine.json:5:5  state `Check order`: is called `Check_order` in the plan
not carried  machine.json:31:12  state `Id`: `States.UUID()`: an expression cannot create a random id: call `sys.uuid()` in a step; replace `not_carried_1` in the plan
```

- **Nothing is dropped silently.** If a required part has no counterpart, the plan has a name such as `not_carried_1` in its place. No such name
  exists, so the check reports it, and the plan does not run until you replace it. A key that the format does not have is reported as not carried, and
  one that only describes something, such as a comment of a state that is no step, as changed. The exit code is 1 if something was not carried or the
  check finds errors, otherwise 0.
- **Text from outside stays text.** The plan is built as a syntax tree and printed; plan text is never concatenated. Names that are not identifiers
  are renamed, which is reported, or written in back quotes.
- **Tools are those of the project**: a call becomes a call of the tool with the name from the document. A tool that the project does not have is
  declared in the plan as a `tool` item with the type `any` everywhere, which is reported. Add types there, or connect the tool in `planrun.yaml`.
- **Expressions keep their meaning.** An expression is translated exactly, fails in the run where its language has no value, or is reported: as not
  carried, or as changed if its value may be another one.
- Documents may be JSON or YAML, with at most 4 MiB and 96 levels. In a page or the output of a model the document may be in a code fence, and JSON
  may be surrounded by prose: the first document of a known format is imported. An existing file is overwritten only with `--force`.
- `--format json` prints one document: `plan`, `report` with `fate` (`carried`, `changed`, `not_carried`), `line`, `column`, `what` and `why`, and
  `diagnostics` as in `check --format json`.

## Formats

The format is detected automatically; `--from` sets it.

| `--from` | documents | result |
| --- | --- | --- |
";

const WORKFLOWS: &str = "
## Serverless workflows

A task that calls something becomes a step with its name. Other tasks become values, which are written where they are used. Branches, joins and loops
are converted as for [state machines](#state-machines).

| in the document | in the plan |
| --- | --- |
| the input | the inputs are the fields that the workflow reads, optional if it reads them with a default or on some paths only; if it passes the input on as a whole, there is one input, `input` |
| `input.from` `output.as` `export.as` `set` | expressions where the value is used; an exported value is a value separate from the data |
| `do` `if` `switch` `then` | statements in order, `if`, and `repeat` of at most 1,000 rounds for a jump back; `then: end` inside a loop, a branch or a `try` is not carried |
| `for` | an `each` of at most 10,000 elements; a `repeat` if a round reads the result of the previous one, exports something, or has a `while` |
| `fork` | `parallel`; with `compete` a `race`, whose branches may only read |
| `try` `catch` | a `do` with `recover`. A status or an error type becomes a class: `communication` with 503 is `transient.unavailable`, with 404 `tool.not_found`, `https://shop.example/errors/sold-out` is `tool.sold_out`. The `type` of a caught error is found by its class, and its `title` is its message, which is reported |
| `retry` | `retry` of the one call in the `try`: `count` further attempts. An exponential backoff doubles, a linear one doubles up to its longest wait, jitter is `full` |
| `raise` | `fail`, with `detail` or else `title` as its message |
| `wait` `timeout` | `wait`, `timeout` of a call, `within` of a step, `deadline` of the plan |
| `call: http` | `http.fetch`, with its host in `allow` if the document states it literally; an answer without a success status fails. Computed bearer tokens become a header; other credentials are not carried |
| `call: openapi` `grpc` `mcp` `asyncapi` | a call: the namespace is the name of the document, the service or the host, or the only system of the project that has the operation; subscriptions are not carried |
| `call: a2a` | `AGENT.send` with the texts and data of the message |
| `call: NAME` | the tasks of the function in `use.functions`; otherwise the tool `NAME` if the name is dotted, else `functions.NAME` |
| `run: workflow` | a call of `NAMESPACE.NAME`; containers, scripts and commands are not carried |
| `emit` | a call of `events.emit` with the attributes of the event |
| `listen` | a `wait for` signals named like the types of the events; `one`, `all` and `any`, with filters on data if one event is awaited at a time; `until`, `foreach` and listening to any event are not carried |
| `schedule`, extensions | not carried |
| jq | paths, literals, operators, `//`, `and or not`, `if`, `as $x`, objects, lists, texts with `\\(…)` of texts, numbers and booleans, `.[]` in a list, and the functions `map select length keys has any all add join split startswith endswith contains test sort sort_by min_by max_by min max first last unique reverse flatten floor ceil round tostring tonumber tojson ascii_downcase ascii_upcase trim`. A missing field is null if it is compared with `==` or `!=`, added to a known value, tested, counted, or has a default; elsewhere it fails. `.[]`, `map`, `any`, `all` and the functions that end in `_by` are for lists, which is reported. `add` is for numbers, texts and lists, `length` for texts, lists and objects, `has` takes a constant, and what is ordered must be of one kind, such as numbers; anything else fails |

The specification publishes 66 examples (revision of 15 January 2026, DSL 1.0.3; imported on 23 November 2026). 31 are carried completely and pass the
check. In 31 something is not carried: 12 run a container, a script or a command, 5 listen to more than one event or to any, 4 subscribe to messages,
4 have a schedule, 4 contain credentials, one calls a computed host, one has an extension. In 4 the check finds a mistake: three read a field of the
list of events that `listen` returns, and one races effects. None is refused. Of the 21 scenarios of its conformance kit, eleven need no network and
no other system; all of these produce the prescribed output.

## Workflows of Arazzo

A workflow becomes a plan whose inputs are those of its schema. Branches, joins and loops are converted as for [state machines](#state-machines).

| in the document | in the plan |
| --- | --- |
| a step | a call of the operation, as a tool of the namespace named like its source, or of the plan of another workflow |
| `outputs` | expressions; the outputs of a step that has not run on this path are null |
| `inputs` | the inputs of the plan, with their defaults; their schemas are omitted |
| `dependsOn` | a call of the plan before all others, if it needs no inputs; `$workflows.NAME.outputs` is its reply |
| `goto` | to a step: `if`, or for a jump back a `repeat` of at most 1,000 rounds, which must have a single exit; to a workflow that needs no inputs: a call of its plan, whose reply is the reply |
| `end` | `reply` with the outputs, also after a failure |
| `onFailure` | a `recover` arm for the classes of the required statuses; other criteria on the answer become conditions on `e.details`. Without a status, an arm for all failures except unknown outcomes |
| `retry` | `retry` on the classes of the statuses, else on `transient` and `tool`, with `retryLimit` further attempts after `retryAfter` seconds. If the criteria require more than a status, a read becomes a poll with `until`, and a call that may change something is not carried; nor is anything that has to run between two attempts |
| `successActions` `failureActions` `parameters` | apply to every step that does not set the same itself; references to components are resolved |
| `successCriteria` | an `ensure`. Criteria that only require a success status are left out, since every call requires one; texts are compared case-sensitively, which is reported |
| criteria | comparisons of runtime expressions; patterns; for JSONPath, whether an element exists: members, positions, slices, `[*]` and filters of comparisons at the end. Filters over the members of an object, `..`, functions and XPath are not carried |
| `$statusCode` | the class of a failure; which of several success statuses an answer has is not carried, nor is the status as a value |
| `$response.header` `$request` `$url` | not carried: a tool returns the body of an answer |
| `replacements` | not carried |

The specification of Arazzo 1.0 publishes six documents (imported on 24 November 2026 without their OpenAPI documents). Three are carried completely
and pass the check; in one of these a filter is assumed to apply to a list, which is reported. In three something is not carried: one requires a
redirection, one reads headers and calls a path that its document truncates, and one requires a redirection, headers, counts of nodes, one of two
success statuses, and outputs that its steps do not have. Their `goto` and `end` are carried.
";

const MACHINES: &str = "
## State machines

A state that calls something becomes a step with its name. Other states become values, which are written where they are used; a value that nothing
reads is left out, so it cannot fail. A branch becomes an `if`, and values that differ between the branches have the same name in all of them. A jump
back becomes a `repeat` of at most 1,000 rounds, if the loop has one entry state and continues at one state after it. A failure that leads to another
state becomes a `recover` arm that records the target (`to`), and an `if` on that.

| in the document | in the plan |
| --- | --- |
| the input | the inputs are the fields that the machine reads on every path; if it reads others, may find one missing, or passes the input on as a whole, there is one input, `input` |
| `InputPath` `Parameters` `Arguments` `ResultSelector` `OutputPath` `Output` | expressions where the value is used |
| `ResultPath` | `merge(input, { … })`, or the object itself if all its fields are known |
| `Assign` | the value, under the name of the variable if the value is large |
| `Task` | a call: `arn:aws:states:::SERVICE:ACTION` is `SERVICE.ACTION`, a Lambda function `lambda.NAME`, an activity `activity.NAME`, anything else `tasks.STATE`. Functions of several accounts or regions that would be one tool are reported |
| `.sync` `.waitForTaskToken` | a call lasts until its tool has answered; the token is left out |
| `TimeoutSeconds` `Retry` `Catch` | `timeout`, `retry` (one for each step, so only the first entry is carried), `recover`; names of errors become classes, as in [recorded machines](state-machines.md), and `States.TaskFailed` all classes in which a call fails except its timeout. A call that changes something fails with `unknown_outcome` if it gets no answer, so a timeout of it is neither retried nor caught, which is reported |
| `Choice` `Wait` `Succeed` `Fail` | `if`, `wait`, `reply` or `yield`, `fail`. A rule that compares a value of another type does not hold; a path that leads nowhere fails, except in `IsPresent` |
| `Comment` | the documentation of the plan or the step |
| `Map` `Parallel` | `each` of at most 10,000 elements, with 40 at once if no limit is set, and `parallel` with a `do` for each branch |
| `ToleratedFailurePercentage` `ToleratedFailureCount` | `settle` and `ensure`, after all elements |
| `ItemReader` `ItemBatcher` `ResultWriter` | not carried: lists are read and written by calls |
| paths | fields, positions, slices, `[*]` of a list and filters; an element without a field that is read fails; `..` is not carried |
| intrinsic functions | all but `States.UUID`, `States.Hash`, `States.MathRandom`, and `States.StringToJson` of a text that is not constant. The separators of `States.StringSplit` are constant; `States.MathAdd` does not round |
| JSONata | paths, filters, operators, objects, lists, `? :`, and the functions `merge sum count length max min average string number not exists uppercase lowercase trim contains split join replace append reverse distinct sort keys floor ceil round abs base64encode base64decode`; paths do not map over lists implicitly. A filter that selects one element gives the element, and one that selects none fails; brackets without a condition are a position. `&` joins texts, numbers and booleans, `%` is for integers; a condition that is a number, a sum of texts and a division by zero fail. `$uppercase` and `$lowercase` convert the letters A to Z only, the base64 functions use UTF-8, `$keys` sorts, `$number` reads more texts, and a text has all digits of a computed number, which is reported. `$replace` takes no limit |
| the context object | `Map.Item.Value`, `Map.Item.Index`, `Execution.Input`, `State.Name` |

### The recorded machines

These are the state machines whose runs [LocalStack](https://github.com/localstack/localstack) (Apache-2.0) has recorded. They were imported without
manual changes, checked, and run against tools that answer as the recorded tasks did. The recordings are not part of the project; `PLANRUN_CASES`
names their folder.

| machines | result |
| --- | --- |
";

/// Returns the source documents of a format, and the result of an import.
fn describe(format: Format) -> (&'static str, &'static str) {
    match format {
        Format::Asl => (
            "State machines of AWS Step Functions, in the Amazon States Language, with JSONPath and JSONata",
            "see [below](#state-machines)",
        ),
        Format::Arazzo => (
            "Workflows of Arazzo 1.0, over the operations of their OpenAPI documents",
            "see [below](#workflows-of-arazzo)",
        ),
        Format::Serverless => (
            "Workflows of Serverless Workflow 1.0, with expressions in jq",
            "see [below](#serverless-workflows)",
        ),
        Format::Aintegration => (
            "Plans of AIntegration: tasks and listeners, in both spellings (`trigger_condition` and `trigger_status`, `listener_type` and `action_type`)",
            "`task` and `listener` items. An agent becomes a call of the one tool of its app that its prompt names, or of the only one that changes something; values that its prompt reads become inputs, unless an earlier listener sets them. `{{result.x}}`, `{{result.list[0]}}` and `{002.context.y}` become expressions. Code is not carried, unless it is a constant `result` with `success`. After a call whose `failure_output` is an `Error` to which no listener reacts, the run pauses, so that `planrun runs resume` repeats the call. A listener that triggers itself may do so at most 100 times; if its call fails even then, the run pauses. If a run may come to a point where nothing can finish the main task, it then ends as `stalled`. The verification by agents is not carried",
        ),
        Format::Payload => (
            "Payloads of the skeleton: `steps` with `tool`, `dependencies` and references such as `$step_1.output.docs`, in all variants that occur",
            "a step for each, `after` for dependencies whose result is not read, `on_failure: settle`, and the last step as the reply. Every violation of the rules of the format is reported; without steps, or if they are not numbered in order, the plan does not run",
        ),
        Format::Graph => (
            "Graphs of steps of SAGE: `depends_on` and its synonyms, at the top level or under `steps` or `plan`",
            "steps in one `parallel`, each `after` its dependencies. A cycle is reported as a path",
        ),
        Format::Steps => (
            "Step arrays of SAGE: `{\"type\": \"tool\"}` and `{\"type\": \"reply\"}`",
            "a step for each, `on_failure: settle`, and the text as the reply; without one, the list of all results",
        ),
        Format::ToolCalls => (
            "Tool calls in the format of the OpenAI API: arrays of calls, a message, a complete conversation",
            "the calls of one round in one `parallel`, several rounds in order, and a text after all calls as the reply; recorded results are omitted, since the plan calls the tools again",
        ),
        Format::Numbered => (
            "Numbered plans of LLMCompiler: `1. search(\"x\")`, `$1`, `join()`",
            "steps in one `parallel`; arguments get the names that the tool has for them",
        ),
    }
}

#[tokio::test(start_paused = true)]
async fn the_page_is_current() {
    // The table at the end is generated from the records.
    let Some(reasons) = reasons().await else {
        return;
    };
    let mut page = HEAD.to_owned();
    for format in Format::ALL {
        let (documents, becomes) = describe(format);
        writeln!(page, "| `{}` | {documents} | {becomes} |", format.name()).unwrap();
    }
    page.push_str(WORKFLOWS);
    page.push_str(MACHINES);
    let mut rows: Vec<(usize, &str)> = reasons
        .iter()
        .map(|(reason, tests)| (tests.len(), reason.as_str()))
        .collect();
    rows.sort_by_key(|(count, reason)| (!reason.is_empty(), usize::MAX - count, *reason));
    for (count, reason) in rows {
        let result = if reason.is_empty() {
            "same result as recorded"
        } else {
            reason
        };
        writeln!(page, "| {count} | {result} |").unwrap();
    }
    compare(&root().join("docs/import.md"), &page).unwrap();
}
