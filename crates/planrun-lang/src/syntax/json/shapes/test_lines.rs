//! Shapes of the lines of tests.

use super::clauses::FAILURE;
use super::{Choice, Key, Shape, Slot, Word};

pub(super) static TEST_STATEMENTS: &[Shape] = shapes! {
    "given", "a `given`", "The inputs; a list is a table." => [{
        must "value": Slot::Value, "The inputs.";
    }];
    "mock", "a `mock`", "What a tool answers." => [{
        may "tool": Slot::Tool, "namespace.tool; every other tool if omitted.";
        may "arguments": Slot::Arguments, "Only calls with these; every call if omitted.";
        must "outcomes": Slot::Choices(Choice::Outcome), "One after the other.";
    }];
    "answer", "an `answer`", "What a person answers." => [{
        must "path": Slot::Value, "The step, or the step and `.confirm`.";
        must "outcome": Slot::Choice(Choice::Outcome), "The answer.";
    }];
    "signal", "a `signal`", "A signal at a time." => [{
        must "name": Slot::Text, "The signal.";
        may "payload": Slot::Value, "Its payload.";
        must "at": Slot::Value, "When, such as 5m.";
    }];
    "expect", "an `expect`", "What must hold." => [{
        must "condition": Slot::Value, "A condition.";
    }];
    "expect_diagnostics", "an `expect_diagnostics`", "The codes that the check must find." => [{
        must "codes": Slot::Names(Word::Code), "The codes.";
    }];
    "snapshot", "a `snapshot`", "What is recorded and compared." => [{
        must "of": Slot::Name, "trace, reply, graph or diagnostics.";
    }];
};

pub(super) static REPETITION: &[Key] = keys! {
    may "times": Slot::Value, "How often, before the next outcome.";
    may "delay": Slot::Value, "How long it takes.";
};

pub(super) static OUTCOMES: &[Shape] = shapes! {
    "value", "a `value`", "A value." => [{
        must "value": Slot::Value, "The value.";
    } REPETITION];
    "generated", "a `generated`", "A value made from the tool's result schema." => [REPETITION];
    "fail", "a `fail`", "A failure." => [FAILURE {
        may "details": Slot::Value, "What the tool reports in addition to the message.";
    } REPETITION];
    "crash", "a `crash`", "The engine stops." => [{
        must "moment": Slot::Word(Word::Moment), "Before or after the call.";
    } REPETITION];
};
