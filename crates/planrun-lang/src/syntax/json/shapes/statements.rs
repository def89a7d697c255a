//! Shapes of statements and of the objects in them.

use super::clauses::{AGENT, CALLED, CLAUSES, PROMPTED, STEP};
use crate::syntax::settings::{ALLOW, POLICY};

use super::{BODY, Choice, DOC, Shape, Slot, WHEN, Word};

pub(super) static STATEMENTS: &[Shape] = shapes! {
    "step", "a `step`", "One call of a tool." => [STEP CALLED CLAUSES];
    "each", "an `each`", "Runs its body once for each element of a list; its value is the list of yielded values." =>
        [STEP {
            must "element": Slot::Name, "The name of the element in the body.";
            may "index": Slot::Name, "The name of its index in the body.";
            must "list": Slot::Value, "The list.";
            may "max": Slot::Value, "The maximum number of elements.";
            may "parallel": Slot::Value,
                "How many run at the same time; if omitted, 1 for a body with effects.";
            may "by": Slot::Value, "A key that names the elements.";
            may "settle": Slot::Flag, "Whether a failure becomes a value instead of ending the step.";
            must "body": BODY, "The statements for each element, up to a yield.";
        } CLAUSES];
    "repeat", "a `repeat`", "Rounds with carried state; its value is the list of yielded values." =>
        [STEP {
            must "state": Slot::Name, "The name of the state in the body.";
            must "initial": Slot::Value, "The first state.";
            may "max": Slot::Value, "The maximum number of rounds.";
            must "body": BODY, "Yields a value and gives the next state.";
        } CLAUSES];
    "do", "a `do`", "Several statements as one value." => [STEP {
        must "body": BODY, "Up to a yield.";
    } CLAUSES];
    "match", "a `match`", "A choice between actions." => [STEP {
        must "subject": Slot::Value, "The value to match.";
        must "arms": Slot::Objects(&MATCH_ARM), "The first that matches is taken.";
    } CLAUSES];
    "race", "a `race`", "The first success wins, the rest are cancelled; reads only." => [STEP {
        must "arms": Slot::Objects(&RACE_ARM), "What runs at the same time.";
    } CLAUSES];
    "ask", "an `ask`", "A request to an agent, which chooses its own tools." =>
        [STEP AGENT PROMPTED CLAUSES];
    "infer", "an `infer`", "A model answers with a value of a type." => [STEP PROMPTED CLAUSES];
    "input", "an `input`", "A person fills in a form; the run waits." => [STEP {
        must "prompt": Slot::Message, "The question.";
        may "by": Slot::Value, "The role of the person who answers.";
        must "fields": Slot::Objects(&INPUT_FIELD), "The form.";
    } CLAUSES];
    "wait", "a `wait`", "Waits for a duration." => [STEP {
        must "duration": Slot::Value, "How long, such as 5m.";
    } CLAUSES];
    "wait_until", "a `wait_until`", "Waits for a point in time." => [STEP {
        must "time": Slot::Value, "A timestamp.";
    } CLAUSES];
    "wait_for", "a `wait_for`", "Waits for a condition of steps and tasks, or for a signal." =>
        [STEP {
            must "on": Slot::Value, "The condition.";
            may "payload": Slot::Type, "The type of the payload of a signal.";
        } CLAUSES];
    "let", "a `let`", "A pure value." => [DOC {
        must "name": Slot::Name, "Its name.";
        may "type": Slot::Type, "Its type; inferred if omitted.";
        must "value": Slot::Value, "The value.";
    }];
    "if", "an `if`", "Statements under a condition." => [DOC {
        must "condition": Slot::Value, "A condition.";
        must "then": BODY, "If it holds.";
        may "else_if": Slot::Objects(&ELSE_IF), "Further conditions, in order.";
        may "else": BODY, "If none holds.";
    }];
    "parallel", "a `parallel`", "Steps that do not wait for each other: effects in it run at the same time." =>
        [DOC {
            must "body": BODY, "Steps, lets and ifs; a sequence is a `do`.";
        }];
    "ensure", "an `ensure`", "A condition that must hold; otherwise the plan fails." => [DOC {
        must "condition": Slot::Value, "What must hold.";
        must "message": Slot::Value, "The message if it does not.";
    }];
    "fail", "a `fail`", "Ends the plan with an error." => [DOC {
        must "class": Slot::Word(Word::Class), "The error class, such as denied.policy.";
        may "message": Slot::Message, "The message.";
    } WHEN];
    "reply", "a `reply`", "The plan's value." => [DOC {
        must "value": Slot::Value, "The value.";
    } WHEN];
    "yield", "a `yield`", "A body's value." => [DOC {
        must "value": Slot::Value, "The value.";
    } WHEN];
    "next", "a `next`", "The next state of a `repeat`; \"null\" ends it." => [DOC {
        must "value": Slot::Value, "The state.";
    } WHEN];
    "task", "a `task`", "A milestone: a status and a context." => [DOC {
        must "name": Slot::Name, "Its name.";
        must "title": Slot::Text, "What people see.";
        may "statuses": Slot::Names(Word::Name), "Its statuses, if not the default ones.";
        may "context": Slot::ObjectType, "The type of its context: an object.";
        may "external": Slot::Flag, "Whether it is set from outside.";
    }];
    "set", "a `set`", "Sets the status of a task." => [DOC {
        must "task": Slot::Name, "The task.";
        must "status": Slot::Name, "Its new status.";
        may "context": Slot::Members, "What is merged into its context.";
    } WHEN {
        may "after": Slot::Names(Word::Name), "Also wait for these.";
    }];
    "listener", "a `listener`", "Statements that an event starts." => [DOC {
        must "name": Slot::Name, "Its name.";
        must "on": Slot::Value, "The event.";
        may "payload": Slot::Type, "The type of the payload of a signal.";
        may "as": Slot::Name, "The name of the event in the body.";
    } WHEN {
        may "max": Slot::Value, "The maximum number of firings.";
        must "body": BODY, "What is done.";
    }];
    "policy", "a `policy`", POLICY.about => [DOC {
        must "settings": Slot::Settings(&POLICY), "";
    }];
    "allow", "an `allow`", ALLOW.about => [DOC {
        must "settings": Slot::Settings(&ALLOW), "";
    }];
};

objects! {
    static MATCH_ARM = "match_arm", "an arm", "One arm of a `match`." => [{
        must "pattern": Slot::Pattern, "A literal, a | b, { field: pattern } or _.";
        must "then": Slot::Choice(Choice::Action), "What is done.";
    }];
    static RACE_ARM = "race_arm", "an arm", "One arm of a `race`." => [{
        must "name": Slot::Name, "Its name in winner(…).";
        must "then": Slot::Choice(Choice::Action), "What is done.";
    }];
    static ELSE_IF = "else_if", "an `else_if`", "A further condition of an `if`." => [{
        must "condition": Slot::Value, "A condition.";
        must "then": BODY, "If it is the first that holds.";
    }];
    static INPUT_FIELD = "input_field", "a field", "One field of a form." => [{
        must "name": Slot::Name, "Its name.";
        must "type": Slot::Type, "Its type.";
        may "prefill": Slot::Value, "Its prefilled value, which may be changed.";
        may "known": Slot::Value,
            "Its known value: unless it is null, the field is not asked for.";
        may "options": Slot::Value, "The list to choose from.";
    }];
}
