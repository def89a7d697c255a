//! The page about imports, written from the formats and from what becomes of the recorded machines.

use std::fmt::Write as _;

use planrun_import::Format;

use super::recorded::reasons;
use crate::support::{compare, root};

const HEAD: &str = "# Plans of other systems

For those who have plans elsewhere. `planrun import FILE` reads a document, prints the plan that says the same, tells on standard error what was carried, what is said otherwise and what could not be
carried, each with its place in the document, and checks the plan against the tools of the project.

```console
$ planrun import machine.json --output order.plan
carried  machine.json:5:5  state `Check order`: `Task`
changed  machine.json:5:5  state `Check order`: is called `Check_order` in the plan
not carried  machine.json:31:12  state `Id`: `States.UUID()`: a random id comes from a step, `sys.uuid()`, and not from an expression; write it in place of `not_carried_1`
```

- **Nothing is left out silently.** Where a part that the plan needs has no counterpart, a name such as `not_carried_1` stands in its place. No such name exists, so the check finds it and the
  plan does not run before somebody has written what was meant. The exit code is 1 where something was not carried or the check finds errors, else 0.
- **Text from outside stays text.** The plan is built as a syntax tree and printed; no text of a plan is glued together. Names that are no identifiers are renamed, which is told, or stand in back quotes.
- **Tools are those of the project**: one that is called as the document says. One that the project does not have is declared in the plan as a `tool` item with `any` everywhere, which is told: give it
  types there, or connect it in `planrun.yaml`.
- Documents may be JSON or YAML, at most 4 MiB large and 96 levels deep. What models write may stand in a fence or in prose. A file that is there is overwritten only with `--force`.
- `--format json` prints one document: `plan`, `report` with `fate` (`carried`, `changed`, `not_carried`), `line`, `column`, `what` and `why`, and `diagnostics` as `check --format json` has them.

## Formats

The format is recognized; `--from` says which one it is.

| `--from` | documents | what becomes of them |
| --- | --- | --- |
";

const WORKFLOWS: &str = "
## Serverless workflows

A task that calls something is a step with its name; other tasks are values that are written where they are used. Ways part, meet and lead back as those of [state machines](#state-machines) do.

| there | here |
| --- | --- |
| the input | the inputs are the fields that the workflow reads, optional where it reads them with a default; where it hands the input on as a whole, there is one, `input` |
| `input.from` `output.as` `export.as` `set` | expressions at the place where the value is used; what is exported is a value beside the data |
| `do` `if` `switch` `then` | statements in order, `if`, and `repeat` of at most 1,000 rounds for a way back; `then: end` inside of a loop, a branch or a `try` is not carried |
| `for` | an `each` of at most 10,000 elements; a `repeat` where a round reads what the one before has given, exports something, or has a `while` |
| `fork` | `parallel`, with `compete` a `race`, whose branches only read |
| `try` `catch` | a `do` with `recover`. A status or a type of error is a class: `communication` with 503 is `transient.unavailable`, with 404 `tool.not_found`, `https://shop.example/errors/sold-out` is `tool.sold_out` |
| `retry` | `retry` of the one call in the `try`: `count` further attempts; an exponential wait doubles, a linear one doubles up to its longest, jitter is `full` |
| `raise` | `fail`, with `detail` or else `title` as its message |
| `wait` `timeout` | `wait`, `timeout` of a call, `within` of a step, `deadline` of the plan |
| `call: http` | `http.fetch`, with its host in `allow` where that is written down; an answer that is not one of success fails. Bearer tokens that are computed become a header; other credentials are not carried |
| `call: openapi` `grpc` `mcp` `asyncapi` | a call: the namespace is the name of the document, the service or the host, or the one system of the project that has the operation; subscriptions are not carried |
| `call: a2a` | `AGENT.send` with the texts and data of the message |
| `call: NAME` | the tasks of the function of `use.functions`; else the tool `NAME` where that is dotted, or `functions.NAME` |
| `run: workflow` | a call of `NAMESPACE.NAME`; containers, scripts and commands are not carried |
| `emit` | a call of `events.emit` with the attributes of the event |
| `listen` | a `wait for` signals that are called as the types of the events; `one`, `all` and `any`, with filters on data where one event is waited for at a time; `until`, `foreach` and any event at all are not carried |
| `schedule`, extensions | not carried |
| jq | paths, literals, operators, `//`, `and or not`, `if`, `as $x`, objects, lists, texts with `\\(…)`, `.[]` in a list, and the functions `map select length keys has any all add join split startswith endswith contains test sort sort_by min_by max_by min max first last unique reverse flatten floor ceil round tostring tonumber tojson ascii_downcase ascii_upcase trim`. A field that is missing is null where it is compared with `==` or `!=`, added to something known, tested, or has a default; elsewhere it fails |

Of the 66 examples that the specification publishes (its revision of 15 January 2026, DSL 1.0.3; imported on 23 November 2026), 31 are carried whole and pass the check. Of 31 something is not carried: 12 run a container, a
script or a command, 5 listen to more than one event or to any, 4 subscribe to messages, 4 have a schedule, 4 have credentials in them, one calls a computed host, one has an extension. In 4 the check finds a mistake: three read a
field of the list of events that `listen` gives, and one lets effects race. None is refused. Of the 21 scenarios of its conformance kit, all eleven come to the prescribed output that need no network and no other system.

## Workflows of Arazzo

A workflow is a plan whose inputs are those of its schema. Ways part, meet and lead back as those of [state machines](#state-machines) do.

| there | here |
| --- | --- |
| a step | a call of the operation as a tool of the namespace that is called like its source, or of the plan of another workflow |
| `outputs` | expressions; those of a step that has not run on this way are null |
| `dependsOn` | a call of the plan before all others, where that needs no inputs; `$workflows.NAME.outputs` are what it gives |
| `goto` | to a step: `if`, or `repeat` of at most 1,000 rounds for a way back, which is left to one place; to a workflow that needs no inputs: a call of its plan, whose reply is the reply |
| `end` | `reply` with the outputs, also after a failure |
| `onFailure` | an arm for the classes of the statuses that are asked for; what else is asked of the answer is asked of `e.details`. Without a status it is an arm for all failures but those of which nobody knows whether the call has happened |
| `retry` | `retry` on the classes of the statuses, else on `transient` and `tool`, with `retryLimit` further attempts after `retryAfter` seconds. Where the criteria ask for more than a status, a read is a poll with `until`, and a call that may change something is not carried; nor is what has to run between two attempts |
| `successActions` `failureActions` `parameters` | those of every step that does not say the same itself; components are resolved |
| `successCriteria` | an `ensure`. Criteria that only ask for a good status are what every call asks for; texts are compared with their case, which is told |
| criteria | comparisons of runtime expressions; patterns; of JSONPath whether there is such an element: members, positions, slices, `[*]` and filters of comparisons at the end. Filters over the members of an object, `..`, functions and XPath are not carried |
| `$statusCode` | the class of a failure; which of several good statuses an answer has is not carried, nor is the status as a value |
| `$response.header` `$request` `$url` | not carried: a tool gives the body of an answer |
| `replacements` | not carried |

Of the six documents that the specification of Arazzo 1.0 publishes (imported on 24 November 2026 without their OpenAPI documents), three are carried whole and pass the check; in one of these a filter is taken for one over a list,
which is told. In three something is not carried: one asks for a redirection, one reads headers and calls a path that its document cuts off, and one asks for a redirection, headers, counts of nodes, one of two good statuses, and outputs
that its steps do not have. Their `goto` and `end` are carried.
";

const MACHINES: &str = "
## State machines

A state that calls something is a step with its name; other states are values that are written where they are used. Where ways part there is an `if`, and what differs where they meet again has one name in
all branches. A way back is a `repeat` of at most 1,000 rounds where the loop begins at one state and goes on at one state behind it. A failure that leads to another state is an arm that says where (`to`), and an `if` over that.

| there | here |
| --- | --- |
| the input | the inputs are the fields that the machine reads; where it hands the input on as a whole, there is one, `input` |
| `InputPath` `Parameters` `Arguments` `ResultSelector` `OutputPath` `Output` | expressions at the place where the value is used |
| `ResultPath` | `merge(input, { … })`, or the object itself where all its fields are known |
| `Assign` | the value, under the name of the variable where it is large |
| `Task` | a call: `arn:aws:states:::SERVICE:ACTION` is `SERVICE.ACTION`, a Lambda function `lambda.NAME`, an activity `activity.NAME`, anything else `tasks.STATE` |
| `.sync` `.waitForTaskToken` | a call lasts until its tool has answered; the token is left out |
| `TimeoutSeconds` `Retry` `Catch` | `timeout`, `retry` (one for each step, so that only the first entry is carried), `recover`; names of errors are classes, as in [recorded machines](state-machines.md) |
| `Choice` `Wait` `Succeed` `Fail` | `if`, `wait`, `reply` or `yield`, `fail` |
| `Map` `Parallel` | `each` of at most 10,000 elements, with 40 at once where no bound is set, and `parallel` with a `do` for each branch |
| `ToleratedFailurePercentage` `ToleratedFailureCount` | `settle` and `ensure` |
| `ItemReader` `ItemBatcher` `ResultWriter` | not carried: lists are read and written by calls |
| paths | fields, positions, slices, `[*]` and filters; `..` is not carried |
| intrinsic functions | all but `States.UUID`, `States.Hash`, `States.MathRandom`, and `States.StringToJson` of a text that is not constant |
| JSONata | paths, filters, operators, objects, lists, `? :`, and the functions `merge sum count length max min average string number not exists uppercase lowercase trim contains split join replace append reverse distinct sort keys floor ceil round abs base64encode base64decode`; a path does not go through lists by itself |
| the context object | `Map.Item.Value`, `Map.Item.Index`, `Execution.Input`, `State.Name` |

### The recorded machines

The machines whose runs [LocalStack](https://github.com/localstack/localstack) (Apache-2.0) has recorded, imported without a hand, checked, and run against tools that answer as the recorded tasks did. The records are no part of the
project; `PLANRUN_CASES` names their folder.

| machines | what became of them |
| --- | --- |
";

/// What a format is read from, and what it becomes.
fn told(format: Format) -> (&'static str, &'static str) {
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
            "`task` and `listener` items. An agent becomes a call of the one tool of its app that its prompt names, or that is the only one to change something; what it read in its prompt becomes an input. \
             `{{result.x}}` and `{002.context.y}` are expressions. Code is not carried, unless it only says whether it has gone well. A listener that sets itself off again may do so 100 times",
        ),
        Format::Payload => (
            "Payloads of the skeleton: `steps` with `tool`, `dependencies` and references such as `$step_1.output.docs`, in all the forms into which they drift",
            "a step for each, `after` for dependencies that are not read, `on_failure: settle`, and the last step as the reply. What the rules of the format forbid is told, all of it",
        ),
        Format::Graph => (
            "Graphs of steps of SAGE: `depends_on` and its other names, bare or under `steps` or `plan`",
            "steps in one `parallel`, each `after` what it depends on. A circle is told as a path",
        ),
        Format::Steps => (
            "Step arrays of SAGE: `{\"type\": \"tool\"}` and `{\"type\": \"reply\"}`",
            "a step for each, `on_failure: settle`, and the text as the reply; without one, the list of all results",
        ),
        Format::ToolCalls => (
            "Tool calls in the shape of the OpenAI API: arrays of calls, a message, a whole conversation",
            "calls of one message in one `parallel`, several messages in order, and the last text as the reply",
        ),
        Format::Numbered => (
            "Numbered plans of LLMCompiler: `1. search(\"x\")`, `$1`, `join()`",
            "steps in one `parallel`; arguments get the names that the tool has for them",
        ),
    }
}

#[tokio::test(start_paused = true)]
async fn the_page_is_current() {
    // The table at its end is made from the records.
    let Some(reasons) = reasons().await else {
        return;
    };
    let mut page = HEAD.to_owned();
    for format in Format::ALL {
        let (documents, becomes) = told(format);
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
        let told = if reason.is_empty() {
            "come to the same"
        } else {
            reason
        };
        writeln!(page, "| {count} | {told} |").unwrap();
    }
    compare(&root().join("docs/import.md"), &page).unwrap();
}
