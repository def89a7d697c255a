//! Shapes of files and items.

use super::{BODY, Choice, DOC, Shape, Slot, Word};

objects! {
    pub(in crate::syntax::json) static FILE = "file", "a plan file", "A plan file in its JSON form." =>
        [{
            may "$schema": Slot::Text, "Where the JSON Schema of this form is, for editors.";
            may "doc": Slot::Text, "What the file is for.";
            must "items": Slot::Choices(Choice::Item), "In any order.";
        }];
}

pub(super) static ITEMS: &[Shape] = shapes! {
    "use", "a `use`", "Namespaces of tools that the file calls." => [DOC {
        must "namespaces": Slot::Objects(&NAMESPACE), "At least one.";
    }];
    "use_file", "a `use_file`", "The plans of another file, callable as tools." => [DOC {
        must "path": Slot::Text, "Relative to this file, such as ./notify.plan.";
        must "as": Slot::Name, "The namespace that its plans get.";
    }];
    "type", "a `type`", "A name for a type." => [DOC {
        must "name": Slot::Name, "Its name.";
        must "type": Slot::Type, "The type that it names.";
    }];
    "tool", "a `tool`", "The contract of a tool, which overrides the catalog." => [DOC {
        must "tool": Slot::Tool, "namespace.tool";
        may "parameters": Slot::Objects(&PARAMETER), "Its parameters.";
        must "returns": Slot::Type, "The type of its result.";
        may "effect": Slot::Word(Word::Effect), "Its effect class.";
        may "fails": Slot::Names(Word::Class),
            "The names N of the errors tool.N that it may raise.";
        may "key": Slot::Name, "The argument that takes an idempotency key.";
    }];
    "plan", "a `plan`", "A plan." => [DOC {
        must "name": Slot::Name, "Its name.";
        may "parameters": Slot::Objects(&PARAMETER), "Its inputs.";
        may "returns": Slot::Type, "The type of its reply; inferred if omitted.";
        must "body": BODY, "Its statements, in order.";
    }];
    "test", "a `test`", "A test of a plan." => [DOC {
        must "name": Slot::Text, "What it shows.";
        may "namespace": Slot::Name, "The file of the plan, if it is a different one.";
        must "plan": Slot::Name, "The plan that it runs.";
        must "body": Slot::Choices(Choice::TestStatement), "Its lines, in order.";
    }];
};

objects! {
    static NAMESPACE = "namespace", "a namespace", "A namespace of tools." => [{
        must "name": Slot::Name, "Its name in the catalog.";
        may "as": Slot::Name, "Its name in this file.";
    }];
    static PARAMETER = "parameter", "a parameter", "An input of a plan or a tool." => [{
        must "name": Slot::Name, "Its name.";
        must "type": Slot::Type, "Its type, such as string, int[] or { a: string }.";
        may "optional": Slot::Flag, "Whether it may be omitted, and is then null.";
        may "default": Slot::Value, "Its value if omitted.";
    }];
}
