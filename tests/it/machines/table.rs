//! The plan for each recorded machine, and the intended differences.

use Difference::{Arguments, Class, Completes, Input, Refused, Unrecorded, Unseen};

/// One machine, and its plan in `tests/fixtures/asl`.
pub struct Case {
    pub plan: &'static str,
    /// The last part of the machine's id in the records.
    pub test: &'static str,
    pub shows: &'static str,
    pub differs: &'static [Difference],
}

/// An intended difference, with the reason. Everything else is compared.
pub enum Difference {
    /// The calls have other arguments.
    Arguments(&'static str),
    /// The run fails with this class.
    Class(&'static str, &'static str),
    /// The run completes where the machine failed.
    Completes(&'static str),
    /// The input does not have the type that the plan declares, so that no run begins.
    Input(&'static str),
    /// The check reports this error in the plan.
    Refused(&'static str, &'static str),
    /// The output was not recorded.
    Unrecorded,
    /// Something that the records do not contain.
    Unseen(&'static str),
}

impl Difference {
    pub fn why(&self) -> String {
        match self {
            Arguments(why) | Completes(why) | Input(why) | Unseen(why) => (*why).to_owned(),
            Class(class, why) => format!("`{class}`: {why}"),
            Refused(code, why) => format!("`{code}`: {why}"),
            Unrecorded => "the recordings contain no output to compare".to_owned(),
        }
    }
}

const fn case(
    plan: &'static str,
    test: &'static str,
    shows: &'static str,
    differs: &'static [Difference],
) -> Case {
    Case {
        plan,
        test,
        shows,
        differs,
    }
}

pub const CASES: &[Case] = &[
    case(
        "retry_then_catch",
        "test_base_scenarios.py::TestBaseScenarios::test_lambda_invoke_with_retry_base",
        "three retries, each wait twice the one before, then `Catch`",
        &[],
    ),
    case(
        "retry_with_context",
        "test_base_scenarios.py::TestBaseScenarios::test_lambda_service_invoke_with_retry_extended_input",
        "the same with a service integration",
        &[Arguments(
            "arguments are evaluated once and are the same for every attempt, so that the idempotency key identifies them; a plan cannot read the number of its retries",
        )],
    ),
    case(
        "retry_once",
        "test_error_output.py::TestStateVariablesTemplate::test_task_catch_error_with_retry[TASK_CATCH_ERROR_OUTPUT_WITH_RETRY_TO_JSONPATH]",
        "one retry, then `Catch` with `Output`",
        &[],
    ),
    case(
        "retry_jitter",
        "test_base_scenarios.py::TestBaseScenarios::test_retry_interval_features",
        "every field of `Retry`: `MaxDelaySeconds`, `JitterStrategy`",
        &[],
    ),
    case(
        "retry_even",
        "test_base_scenarios.py::TestBaseScenarios::test_retry_interval_features_jitter_none",
        "`BackoffRate` of one: equal waits",
        &[],
    ),
    case(
        "catch_all",
        "test_error_output.py::TestStateVariablesTemplate::test_task_catch_error_output[TASK_CATCH_ERROR_OUTPUT_TO_JSONPATH]",
        "`Catch` with `States.ALL` and `Output`",
        &[],
    ),
    case(
        "catch_assigned",
        "test_error_output.py::TestStateVariablesTemplate::test_catch_error_variable_sampling[TASK_CATCH_ERROR_VARIABLE_SAMPLING_TO_JSONPATH]",
        "`Catch` with `Assign`",
        &[],
    ),
    case(
        "catch_in_map",
        "test_error_output.py::TestStateVariablesTemplate::test_map_catch_error[MAP_CATCH_ERROR_VARIABLE_SAMPLING]",
        "`Catch` inside a `Map`",
        &[],
    ),
    case(
        "catch_parallel",
        "test_error_output.py::TestStateVariablesTemplate::test_parallel_catch_error[PARALLEL_CATCH_ERROR_OUTPUT]",
        "`Catch` around a `Parallel`",
        &[],
    ),
    case(
        "catch_parallel_assigned",
        "test_error_output.py::TestStateVariablesTemplate::test_parallel_catch_error[PARALLEL_CATCH_ERROR_VARIABLE_SAMPLING]",
        "the same with `Assign`",
        &[],
    ),
    case(
        "catch_unnamed",
        "test_callback.py::TestCallback::test_sqs_failure_in_wait_for_task_tok_no_error_field[SQS_PARALLEL_WAIT_FOR_TASK_TOKEN]",
        "a failure without a name",
        &[Arguments(
            "there are no task tokens: a later answer is a deferred answer of the tool, or a signal",
        )],
    ),
    case(
        "catch_by_class",
        "test_task_lambda.py::TestTaskLambda::test_raise_exception_catch",
        "which `Catch` applies first; `States.TaskFailed` is the family `tool`",
        &[],
    ),
    case(
        "catch_by_class",
        "test_task_lambda.py::TestTaskLambda::test_no_such_function_catch",
        "the same for a function that does not exist",
        &[],
    ),
    case(
        "catch_by_class",
        "test_task_service_lambda.py::TestTaskServiceLambda::test_raise_exception_catch",
        "the same with a service integration",
        &[],
    ),
    case(
        "catch_by_class",
        "test_task_service_lambda.py::TestTaskServiceLambda::test_no_such_function_catch",
        "another error of the same family",
        &[],
    ),
    case(
        "catch_another",
        "test_task_service_lambda.py::TestTaskServiceLambda::test_raise_exception",
        "a `Catch` that does not match",
        &[],
    ),
    case(
        "catch_another",
        "test_task_service_lambda.py::TestTaskServiceLambda::test_no_such_function",
        "the same for another error",
        &[],
    ),
    case(
        "catch_without_names",
        "test_task_service_lambda.py::TestTaskServiceLambda::test_raise_custom_exception",
        "`ErrorEquals` without a name catches all, as `recover =>` does",
        &[],
    ),
    case(
        "catch_into_input",
        "test_task_service_lambda.py::TestTaskServiceLambda::test_raise_exception_catch_output_path[None]",
        "the error as input of the next state",
        &[],
    ),
    case(
        "catch_into_input",
        "test_task_service_lambda.py::TestTaskServiceLambda::test_raise_exception_catch_output_path[$.Payload]",
        "the same with an `OutputPath`",
        &[],
    ),
    case(
        "catch_into_input",
        "test_task_service_lambda.py::TestTaskServiceLambda::test_raise_exception_catch_output_path[$.no.such.path]",
        "the same with an `OutputPath` that matches nothing",
        &[],
    ),
    case(
        "catch_timeout",
        "test_task_service_lambda.py::TestTaskServiceLambda::test_invoke_timeout",
        "`TimeoutSeconds` and `Catch` of `States.Timeout`, on a read-only task",
        &[],
    ),
    case(
        "catch_one_of_two",
        "test_task_service_sqs.py::TestTaskServiceSqs::test_send_message_no_such_queue",
        "two errors, two `Catch`: the first",
        &[],
    ),
    case(
        "catch_one_of_two",
        "test_task_service_sqs.py::TestTaskServiceSqs::test_send_message_empty_body",
        "two errors, two `Catch`: the second",
        &[],
    ),
    case(
        "catch_and_fail",
        "test_aws_sdk.py::TestAwsSdk::test_s3_no_such_key",
        "a `Catch` that leads to `Fail`",
        &[],
    ),
    case(
        "refused_by_gateway",
        "test_apigetway_task_service.py::TestTaskApiGateway::test_invoke_error",
        "an error that is not caught",
        &[],
    ),
    case(
        "refused_events",
        "test_events_task_service.py::TestTaskServiceEvents::test_put_events_malformed_detail",
        "an error whose cause is an object",
        &[],
    ),
    case(
        "refused_topic",
        "test_sns_task_service.py::TestTaskServiceSns::test_publish_base_error_topic_arn",
        "an error with a plain cause",
        &[],
    ),
    case(
        "timeout_effect",
        "test_timeouts.py::TestTimeouts::test_fixed_timeout_lambda",
        "`TimeoutSeconds` on a task that may have effects",
        &[Class(
            "unknown_outcome",
            "a task that was sent and not answered may have happened; neither a retry nor an arm without a class treats that as a failure",
        )],
    ),
    case(
        "timeout_read",
        "test_timeouts.py::TestTimeouts::test_fixed_timeout_service_lambda",
        "`TimeoutSeconds` on a read-only task",
        &[],
    ),
    case(
        "timeout_computed",
        "test_timeouts.py::TestTimeouts::test_fixed_timeout_service_lambda_with_path",
        "`TimeoutSecondsPath`",
        &[],
    ),
    case(
        "timeout_in_map",
        "test_timeouts.py::TestTimeouts::test_service_lambda_map_timeout",
        "`TimeoutSeconds` in a `Map`, all items at once",
        &[],
    ),
    case(
        "callback_timeout",
        "test_callback.py::TestCallback::test_sqs_wait_for_task_token_no_token_parameter",
        "a task token that is never returned",
        &[],
    ),
    case(
        "callback_failure",
        "test_callback.py::TestCallback::test_sqs_failure_in_wait_for_task_token",
        "a task token that is returned with a failure",
        &[Arguments(
            "there are no task tokens: a later answer is a deferred answer of the tool, or a signal",
        )],
    ),
    case(
        "map_values",
        "test_base_scenarios.py::TestBaseScenarios::test_map_state",
        "`Map` over values of all kinds",
        &[],
    ),
    case(
        "map_break",
        "test_base_scenarios.py::TestBaseScenarios::test_map_state_break_condition",
        "a `Fail` inside a `Map` ends it",
        &[],
    ),
    case(
        "map_break",
        "test_base_scenarios.py::TestBaseScenarios::test_map_state_break_condition_legacy",
        "the same with `Iterator`",
        &[],
    ),
    case(
        "map_catch",
        "test_base_scenarios.py::TestBaseScenarios::test_map_state_catch",
        "`Catch` around a `Map`",
        &[],
    ),
    case(
        "map_catch",
        "test_base_scenarios.py::TestBaseScenarios::test_map_state_catch_legacy",
        "the same with `Iterator`",
        &[],
    ),
    case(
        "map_fails",
        "test_base_scenarios.py::TestBaseScenarios::test_map_state_retry",
        "`Retry` around a `Map`",
        &[Unseen(
            "the machine runs its items three times; `retry` applies to calls only, since repeating a block would repeat its effects",
        )],
    ),
    case(
        "map_catch_another",
        "test_base_scenarios.py::TestBaseScenarios::test_map_state_catch_empty_fail",
        "a `Fail` without a name is not caught by a `Catch` that names another error",
        &[],
    ),
    case(
        "map_selected",
        "test_base_scenarios.py::TestBaseScenarios::test_map_state_item_selector_singleton",
        "`ItemSelector`, `ItemsPath` and `ResultPath`",
        &[],
    ),
    case(
        "map_selected_list",
        "test_base_scenarios.py::TestBaseScenarios::test_map_state_legacy_config_inline_item_selector",
        "`ItemSelector` over a list",
        &[],
    ),
    case(
        "map_variable",
        "test_base_scenarios.py::TestBaseScenarios::test_map_state_item_selector[MAP_STATE_ITEM_SELECTOR_JSONATA]",
        "`ItemSelector` in JSONata with variables",
        &[],
    ),
    case(
        "map_scope",
        "test_assign_base.py::TestAssignBase::test_base_cases[BASE_SCOPE_MAP]",
        "variables inside a `Map`",
        &[],
    ),
    case(
        "map_nested",
        "test_base_scenarios.py::TestBaseScenarios::test_map_state_nested",
        "a `Map` in a `Map`",
        &[],
    ),
    case(
        "map_nested_result",
        "test_base_scenarios.py::TestBaseScenarios::test_map_state_nested_config_distributed",
        "the same with `ItemsPath` and `ResultPath`",
        &[],
    ),
    case(
        "map_width",
        "test_base_scenarios.py::TestBaseScenarios::test_max_concurrency_path[1]",
        "`MaxConcurrencyPath`",
        &[],
    ),
    case(
        "map_width",
        "test_base_scenarios.py::TestBaseScenarios::test_max_concurrency_path[0]",
        "`MaxConcurrencyPath` of zero",
        &[Unseen(
            "zero means no limit there; a `parallel` of less than one is one here",
        )],
    ),
    case(
        "map_width",
        "test_base_scenarios.py::TestBaseScenarios::test_max_concurrency_path[NoNumber]",
        "`MaxConcurrencyPath` that is not a number",
        &[],
    ),
    case(
        "map_settled",
        "test_base_scenarios.py::TestBaseScenarios::test_map_state_tolerated_failure_percentage_path[0]",
        "`ToleratedFailurePercentagePath` of zero",
        &[],
    ),
    case(
        "map_settled",
        "test_base_scenarios.py::TestBaseScenarios::test_map_state_tolerated_failure_percentage_path[100]",
        "`ToleratedFailurePercentagePath` of a hundred",
        &[],
    ),
    case(
        "parallel_order",
        "test_base_scenarios.py::TestBaseScenarios::test_parallel_state_order",
        "`Parallel` keeps the order of its branches",
        &[],
    ),
    case(
        "parallel_lengths",
        "test_base_scenarios.py::TestBaseScenarios::test_parallel_state[PARALLEL_STATE]",
        "branches of different lengths",
        &[],
    ),
    case(
        "parallel_scope",
        "test_assign_base.py::TestAssignBase::test_base_parallel_cases[BASE_SCOPE_PARALLEL]",
        "variables in branches",
        &[],
    ),
    case(
        "parallel_catch",
        "test_base_scenarios.py::TestBaseScenarios::test_parallel_state_catch",
        "`Catch` around a `Parallel` whose branch fails",
        &[],
    ),
    case(
        "parallel_tasks",
        "test_base_scenarios.py::TestBaseScenarios::test_parallel_state_lambda",
        "two tasks at once",
        &[Unrecorded],
    ),
    case(
        "choice_flag",
        "test_output.py::TestArgumentsBase::test_output_in_choice[CONDITION_TRUE]",
        "`Choice` with a condition that holds",
        &[],
    ),
    case(
        "choice_flag",
        "test_output.py::TestArgumentsBase::test_output_in_choice[CONDITION_FALSE]",
        "`Choice` whose default is `Fail`",
        &[],
    ),
    case(
        "choice_ranges",
        "test_base_scenarios.py::TestBaseScenarios::test_choice_aws_docs_scenario[CHOICE_STATE_AWS_SCENARIO_JSONATA]",
        "`Choice` with three rules in order",
        &[],
    ),
    case(
        "choice_text",
        "test_base_scenarios.py::TestBaseScenarios::test_choice_singleton_composite[CHOICE_STATE_SINGLETON_COMPOSITE]",
        "`Choice` with `StringEquals`",
        &[],
    ),
    case(
        "choice_literal",
        "test_base_scenarios.py::TestBaseScenarios::test_choice_singleton_composite[CHOICE_STATE_SINGLETON_COMPOSITE_LITERAL_JSONATA]",
        "`Choice` over the output of a state",
        &[],
    ),
    case(
        "choice_loop",
        "test_base_scenarios.py::TestBaseScenarios::test_numbered_mock_responses_multiple_success_invocations",
        "`Choice` that leads back to its task",
        &[],
    ),
    case(
        "wait_seconds",
        "test_wait.py::TestSfnWait::test_base_wait_seconds_path",
        "`Wait` with `SecondsPath`",
        &[],
    ),
    case(
        "wait_seconds",
        "test_wait.py::TestSfnWait::test_base_wait_seconds_path[1.5]",
        "`SecondsPath` that is not an integer",
        &[Input(
            "an `int` is distinguished from other numbers before a run begins",
        )],
    ),
    case(
        "wait_seconds",
        "test_wait.py::TestSfnWait::test_base_wait_seconds_path[-1]",
        "`SecondsPath` below zero",
        &[Completes(
            "a negative wait ends at once, like a wait until a time in the past",
        )],
    ),
    case(
        "wait_none",
        "test_base_scenarios.py::TestBaseScenarios::test_wait_seconds_jsonata",
        "`Wait` of zero seconds in JSONata",
        &[],
    ),
    case(
        "wait_past",
        "test_assign_reference_variables.py::TestAssignReferenceVariables::test_reference_assign[BASE_REFERENCE_IN_WAIT]",
        "`Wait` until a time in the past",
        &[],
    ),
    case(
        "fail_computed",
        "test_base.py::TestSnfBase::test_state_fail_intrinsic",
        "`ErrorPath` and `CausePath`",
        &[Unseen(
            "the message is computed; the class is a literal in the plan, so that the check can determine which arm catches it",
        )],
    ),
    case(
        "fail_empty",
        "test_base.py::TestSnfBase::test_state_fail_empty",
        "`Fail` without error or cause",
        &[],
    ),
    case(
        "fail_cause",
        "test_base_scenarios.py::TestBaseScenarios::test_fail_cause_jsonata",
        "`Fail` with a cause from the input",
        &[],
    ),
    case(
        "undefined",
        "test_assign_reference_variables.py::TestAssignReferenceVariables::test_undefined_reference[BASE_UNDEFINED_OUTPUT]",
        "a variable that does not exist",
        &[Refused(
            "unknown-name",
            "the check finds it before anything has run; the machine fails when it reaches it",
        )],
    ),
    case(
        "task_then_pass",
        "test_mixed_query_language.py::TestMixedQueryLanguageFlow::test_lambda_task_resource_data_flow[TASK_LAMBDA_LEGACY_RESOURCE_JSONPATH_TO_JSONATA]",
        "a task whose result is the output",
        &[],
    ),
    case(
        "task_of_constants",
        "test_mixed_query_language.py::TestMixedQueryLanguageFlow::test_task_dataflow_to_state",
        "`Arguments` and `Output` in JSONata",
        &[],
    ),
    case(
        "task_caught_by_none",
        "test_base_scenarios.py::TestBaseScenarios::test_catch_empty",
        "an empty `Catch`",
        &[],
    ),
    case(
        "tasks_in_order",
        "test_base_scenarios.py::TestBaseScenarios::test_dynamodb_put_get_item",
        "two tasks with `ResultPath`",
        &[],
    ),
];
