//! Words, names and texts in several scripts.

use super::Dice;

const NAMES: [&str; 22] = [
    "order",
    "customer",
    "invoice",
    "ticket",
    "page",
    "report",
    "user",
    "price",
    "stock",
    "place",
    "客户",
    "订单",
    "发票",
    "größe",
    "заказ",
    "value",
    "item",
    "note",
    "level",
    "state",
    "合同",
    "entry",
];
/// Names that need backquotes.
const QUOTED: [&str; 4] = ["read-file", "two words", "e/mail", "2nd"];
/// Keywords that are allowed as names.
const WORDS: [&str; 8] = [
    "when", "max", "by", "cache", "input", "plan", "retry", "every",
];
const FIELDS: [&str; 24] = [
    "id", "name", "total", "owner", "state", "note", "tags", "price", "count", "email", "created",
    "active", "city", "code", "items", "score", "姓名", "金额", "level", "kind", "parent",
    "weight", "url", "step",
];
const LITERALS: [&str; 14] = [
    "low",
    "high",
    "open",
    "closed",
    "red",
    "green",
    "wait-ing",
    "A",
    "B",
    "已完成",
    "new",
    "paid",
    "L1",
    "L2",
];
const TEXTS: [&str; 14] = [
    "",
    "a",
    "hello",
    "Grüße",
    "你好，世界",
    "a,b,c",
    "  spaced  ",
    "x@example.com",
    "100",
    "-",
    "😀",
    "line\\nbreak",
    "tab\\there",
    "\\u00e9",
];

/// Generates names that are unique in the file.
#[derive(Default)]
pub struct Names {
    given: usize,
}

impl Names {
    /// Returns a new name of a value, as written in a plan.
    pub fn value(&mut self, dice: &mut Dice) -> String {
        self.given += 1;
        match dice.below(24) {
            0 => format!("`{} {}`", dice.pick(&QUOTED), self.given),
            1 => format!("{}{}", dice.pick(&WORDS), self.given),
            _ => format!("{}{}", dice.pick(&NAMES), self.given),
        }
    }

    /// Returns a new name of a type.
    pub fn ty(&mut self, dice: &mut Dice) -> String {
        self.given += 1;
        format!(
            "{}{}",
            dice.pick(&["Level", "Kind", "State", "Kunde", "等级"]),
            self.given
        )
    }

    /// Returns a new name of a plan.
    pub fn plan(&mut self, dice: &mut Dice) -> String {
        self.given += 1;
        format!(
            "{}_{}",
            dice.pick(&["sync", "onboard", "send", "签署", "collect", "check"]),
            self.given
        )
    }
}

/// Returns distinct field names that need no quotes.
pub fn fields(dice: &mut Dice, count: usize) -> Vec<&'static str> {
    let mut all = FIELDS.to_vec();
    (0..count)
        .map(|_| all.swap_remove(dice.below(all.len())))
        .collect()
}

/// Returns distinct values of one enumeration.
pub fn literals(dice: &mut Dice, count: usize) -> Vec<&'static str> {
    let mut all = LITERALS.to_vec();
    (0..count)
        .map(|_| all.swap_remove(dice.below(all.len())))
        .collect()
}

/// Returns the content of a double-quoted string.
pub fn text(dice: &mut Dice) -> &'static str {
    dice.word(&TEXTS)
}

/// Returns a sentence for doc comments and titles.
pub fn sentence(dice: &mut Dice) -> &'static str {
    dice.word(&[
        "Looks at what is there, and says so.",
        "把结果告诉客户。",
        "Nothing here is done twice.",
        "The larger part of the work; see the notes.",
        "Größere Mengen gehen auch.",
    ])
}

/// Returns a duration literal.
pub fn duration(dice: &mut Dice) -> &'static str {
    dice.word(&["200ms", "1s", "10s", "1m30s", "5m", "2h", "1d"])
}
