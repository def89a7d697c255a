//! Shapes of calls, of the clauses of steps and of the actions of arms.

use crate::syntax::settings::RETRY;

use super::{BODY, Choice, Key, Shape, Slot, Word};

pub(super) static STEP: &[Key] = keys! {
    may "doc": Slot::Text, "What it is for.";
    must "name": Slot::Name, "The name of its result.";
};

pub(in crate::syntax::json) static CLAUSES: &[Key] = keys! {
    may "when": Slot::Value, "Only under this condition; else its value is null.";
    may "after": Slot::Names(Word::Name), "Also wait for these.";
    may "confirm": Slot::Object(&CONFIRM), "Ask a person first.";
    may "timeout": Slot::Value, "The longest that one attempt may take, such as 10s.";
    may "within": Slot::Value, "The longest that the step may take with all attempts, such as 5m.";
    may "retry": Slot::Settings(&RETRY), "";
    may "until": Slot::Object(&UNTIL), "Call again until a condition over its own result holds.";
    may "cache": Slot::Value, "How long a result may be used again, such as 1h.";
    may "verify": Slot::Object(&VERIFY), "Verify whether the effect has happened.";
    may "recover": Slot::Objects(&RECOVER),
        "What to do instead if it fails; the first that matches is taken.";
    may "undo": Slot::Choice(Choice::Undo), "What undoes the effect.";
};

objects! {
    static CONFIRM = "confirm", "a `confirm`", "A question to a person." => [{
        must "message": Slot::Value, "The question.";
        may "by": Slot::Value, "The role of the person who answers.";
        may "expires": Slot::Value, "How long to wait for the answer, such as 2d.";
    }];
    static UNTIL = "until", "an `until`", "How a read is polled." => [{
        must "condition": Slot::Value, "Over the step's own result.";
        must "every": Slot::Value, "The time between two calls, such as 5s.";
    }];
    static VERIFY = "verify", "a `verify`", "How to verify that an effect has happened." => [{
        must "call": Slot::Probe, "A read, or a request to an agent.";
        may "every": Slot::Value, "The time between two checks.";
        may "within": Slot::Value, "The longest that checks are repeated.";
        must "as": Slot::Name, "The name of the result of the read.";
        must "check": Slot::Value, "Whether it has happened.";
        may "gives": Slot::Value, "The step's value, from the result of the read.";
    }];
    pub(in crate::syntax::json) static ASKED = "asked", "a request to an agent",
        "A request to an agent, which may call only its read tools." => [AGENT PROMPTED];
    static RECOVER = "recover", "a `recover`", "What to do instead if a step fails." => [{
        may "classes": Slot::Names(Word::Class), "The error classes; all if omitted.";
        may "as": Slot::Name, "The name of the error.";
        must "then": Slot::Choice(Choice::Action), "What is done instead.";
    }];
    pub(in crate::syntax::json) static CALL = "call", "a call", "A call of a tool or a plan." =>
        [{
            must "tool": Slot::Callee, "namespace.tool, or the name of a plan of the file";
            may "arguments": Slot::Arguments, "Values by argument name.";
        }];
}

pub(super) static ACTIONS: &[Shape] = shapes! {
    "call", "a `call`", "A call of a tool." => [CALLED];
    "value", "a `value`", "A value." => [{
        must "value": Slot::Value, "The value.";
    }];
    "do", "a `do`", "Several statements as one value." => [{
        must "body": BODY, "Up to a yield.";
    }];
    "ask", "an `ask`", "A request to an agent, which chooses its own tools." => [AGENT PROMPTED];
    "infer", "an `infer`", "A model answers with a value of a type." => [PROMPTED];
    "fail", "a `fail`", "A failure." => [FAILURE];
};

pub(super) static UNDOS: &[Shape] = shapes! {
    "call", "a `call`", "A call of a tool." => [CALLED];
    "do", "a `do`", "Several statements." => [{
        must "body": BODY, "The statements, run one after the other.";
    }];
};

pub(super) static CALLED: &[Key] = keys! {
    must "call": Slot::Call, "The tool and its arguments.";
};

pub(super) static AGENT: &[Key] = keys! {
    must "agent": Slot::Name, "The agent.";
};

pub(super) static PROMPTED: &[Key] = keys! {
    may "prompt": Slot::Value, "The prompt.";
    may "arguments": Slot::Arguments,
        "Data for the prompt as with, and for a model its name as model.";
    must "returns": Slot::Type, "The type of its answer.";
};

pub(super) static FAILURE: &[Key] = keys! {
    must "class": Slot::Word(Word::Class), "The error class, such as denied.policy.";
    may "message": Slot::Message, "The message.";
};
