//! Statements and what stands in them.

use super::clauses::{AGENT, CALLED, CLAUSES, PROMPTED, STEP};
use crate::syntax::settings::{ALLOW, POLICY};

use super::{BODY, Choice, DOC, Shape, Slot, WHEN, Word};

pub(super) static STATEMENTS: &[Shape] = shapes! {
    "step", "a `step`", "One call of a tool." => [STEP CALLED CLAUSES];
    "each", "an `each`", "The body once for each element of a list; the value is the list of what is yielded." =>
        [STEP {
            must "element": Slot::Name, "The name of the element in the body.";
            may "index": Slot::Name, "The name of its index in the body.";
            must "list": Slot::Value, "The list.";
            may "max": Slot::Value, "The most elements that the list may have.";
            may "parallel": Slot::Value,
                "How many run at the same time; where it is left out, 1 for a body with effects.";
            may "by": Slot::Value, "A key that names the elements.";
            may "settle": Slot::Flag, "Whether a failure is a value, not the end.";
            must "body": BODY, "What is done with the element, up to a yield.";
        } CLAUSES];
    "repeat", "a `repeat`", "Rounds with carried state; the value is the list of what is yielded." =>
        [STEP {
            must "state": Slot::Name, "The name of the state in the body.";
            must "initial": Slot::Value, "The first state.";
            may "max": Slot::Value, "The most rounds.";
            must "body": BODY, "Yields a value and gives the next state.";
        } CLAUSES];
    "do", "a `do`", "Several statements as one value." => [STEP {
        must "body": BODY, "Up to a yield.";
    } CLAUSES];
    "match", "a `match`", "A choice between actions." => [STEP {
        must "subject": Slot::Value, "What is looked at.";
        must "arms": Slot::Objects(&MATCH_ARM), "The first that fits is taken.";
    } CLAUSES];
    "race", "a `race`", "The first success wins, the rest are cancelled; reads only." => [STEP {
        must "arms": Slot::Objects(&RACE_ARM), "What runs at the same time.";
    } CLAUSES];
    "ask", "an `ask`", "A request to an agent, which chooses its own tools." =>
        [STEP AGENT PROMPTED CLAUSES];
    "infer", "an `infer`", "A model answers with a value of a type." => [STEP PROMPTED CLAUSES];
    "input", "an `input`", "A person fills in a form; the run waits." => [STEP {
        must "prompt": Slot::Message, "What is asked.";
        may "by": Slot::Value, "The role of who answers.";
        must "fields": Slot::Objects(&INPUT_FIELD), "The form.";
    } CLAUSES];
    "wait", "a `wait`", "Waits for a time." => [STEP {
        must "duration": Slot::Value, "How long, such as 5m.";
    } CLAUSES];
    "wait_until", "a `wait_until`", "Waits for a point in time." => [STEP {
        must "time": Slot::Value, "A timestamp.";
    } CLAUSES];
    "wait_for", "a `wait_for`", "Waits for a condition of steps and tasks, or for a signal." =>
        [STEP {
            must "on": Slot::Value, "The condition.";
            may "payload": Slot::Type, "The type of what a signal brings.";
        } CLAUSES];
    "let", "a `let`", "A pure value." => [DOC {
        must "name": Slot::Name, "Its name.";
        may "type": Slot::Type, "Its type; inferred where it is left out.";
        must "value": Slot::Value, "The value.";
    }];
    "if", "an `if`", "Statements under a condition." => [DOC {
        must "condition": Slot::Value, "A condition.";
        must "then": BODY, "Where it holds.";
        may "else_if": Slot::Objects(&ELSE_IF), "Further conditions, in order.";
        may "else": BODY, "Where none holds.";
    }];
    "parallel", "a `parallel`", "Steps without an order among each other: effects in it run at the same time." =>
        [DOC {
            must "body": BODY, "Steps, lets and ifs; a sequence is a `do`.";
        }];
    "ensure", "an `ensure`", "A promise: where it is broken, the plan fails." => [DOC {
        must "condition": Slot::Value, "What must hold.";
        must "message": Slot::Value, "What is said where it does not.";
    }];
    "fail", "a `fail`", "Ends the plan with an error." => [DOC {
        must "class": Slot::Word(Word::Class), "The error class, such as denied.policy.";
        may "message": Slot::Message, "What is said.";
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
        may "statuses": Slot::Names(Word::Name), "Its statuses, where they are not the usual ones.";
        may "context": Slot::ObjectType, "The type of its context: an object.";
        may "external": Slot::Flag, "Whether others move it.";
    }];
    "set", "a `set`", "Moves a task." => [DOC {
        must "task": Slot::Name, "The task.";
        must "status": Slot::Name, "Its new status.";
        may "context": Slot::Members, "What is merged into its context.";
    } WHEN {
        may "after": Slot::Names(Word::Name), "Also wait for these.";
    }];
    "listener", "a `listener`", "Statements that an event starts." => [DOC {
        must "name": Slot::Name, "Its name.";
        must "on": Slot::Value, "The event.";
        may "payload": Slot::Type, "The type of what a signal brings.";
        may "as": Slot::Name, "The name of the event in the body.";
    } WHEN {
        may "max": Slot::Value, "The most firings.";
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
        must "name": Slot::Name, "What winner(…) calls it.";
        must "then": Slot::Choice(Choice::Action), "What is done.";
    }];
    static ELSE_IF = "else_if", "an `else_if`", "A further condition of an `if`." => [{
        must "condition": Slot::Value, "A condition.";
        must "then": BODY, "Where it is the first that holds.";
    }];
    static INPUT_FIELD = "input_field", "a field", "One field of a form." => [{
        must "name": Slot::Name, "Its name.";
        must "type": Slot::Type, "Its type.";
        may "prefill": Slot::Value, "What stands in it, and may be changed.";
        may "known": Slot::Value,
            "What is known already: unless it is null, the field is not asked for.";
        may "options": Slot::Value, "The list to choose from.";
    }];
}
