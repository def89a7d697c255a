//! The words around a question, in the languages of the user interface.

use planrun_lang::diag::render::Language;
use planrun_lang::value::counted;

use crate::cli::runs::{relative_time, timestamp};
use planrun_core::journal::Waiting;

/// Age below which a question was asked just now, in nanoseconds.
const JUST_NOW: i128 = 60_000_000_000;

#[derive(Clone, Copy)]
pub(super) struct Words(pub Language);

impl Words {
    /// Returns the heading for a kind of answer.
    pub fn heading(self, kind: Waiting) -> &'static str {
        let (english, chinese) = match kind {
            Waiting::Confirm => ("yes or no", "请确认"),
            Waiting::Approval => ("may this run", "是否允许运行"),
            Waiting::Input => ("a form", "请填写"),
            Waiting::Answer => ("did it happen", "是否已经发生"),
            Waiting::Peer => ("a tool asks", "工具询问"),
            Waiting::Retry
            | Waiting::Poll
            | Waiting::Outcome
            | Waiting::Effects
            | Waiting::Time => ("a wait", "等待"),
        };
        self.either(english, chinese)
    }

    pub fn run_of(self, run: &str, plan: &str) -> String {
        self.either(
            format!("  run {run} of {plan}"),
            format!("  运行 {run}，计划 {plan}"),
        )
    }

    /// Describes when the question was asked, and until when it can be answered.
    pub fn times(self, asked_at: i128, expires: Option<i128>, now: i128) -> String {
        let just_now = now - asked_at < JUST_NOW;
        let asked = match (self.0, just_now) {
            (Language::En, true) => "  asked just now".to_owned(),
            (Language::En, false) => format!("  asked {}", relative_time(asked_at, now, self.0)),
            (Language::Zh, true) => "  刚刚提出".to_owned(),
            (Language::Zh, false) => format!("  {}提出", relative_time(asked_at, now, self.0)),
        };
        let Some(expires) = expires else { return asked };
        let (at, relative) = (timestamp(expires), relative_time(expires, now, self.0));
        match (self.0, expires > now) {
            (Language::En, true) => format!("{asked}, open until {at} ({relative})"),
            (Language::En, false) => format!("{asked}, expired at {at} ({relative})"),
            (Language::Zh, true) => format!("{asked}，截止 {at}（{relative}）"),
            (Language::Zh, false) => format!("{asked}，已于 {at} 过期（{relative}）"),
        }
    }

    pub fn asked_of(self, role: &str) -> String {
        self.either(format!("  for {role}"), format!("  由 {role} 回答"))
    }

    pub fn because(self) -> &'static str {
        self.either("  because", "  原因")
    }

    /// Returns the label of the command that answers.
    pub fn answer(self) -> &'static str {
        self.either("  answer: ", "  回答：")
    }

    /// Returns the label of a call: not sent yet, or possibly sent if the question is whether it happened.
    pub fn call(self, kind: Waiting) -> &'static str {
        match kind {
            Waiting::Answer => self.either("what was sent", "已发送的内容"),
            Waiting::Confirm
            | Waiting::Approval
            | Waiting::Input
            | Waiting::Peer
            | Waiting::Retry
            | Waiting::Poll
            | Waiting::Outcome
            | Waiting::Effects
            | Waiting::Time => self.either("what will be sent", "将要发送的内容"),
        }
    }

    pub fn several_steps(self) -> &'static str {
        self.either("several steps", "多个步骤")
    }

    pub fn known(self) -> &'static str {
        self.either("  already known", "  已知")
    }

    pub fn to_be_filled_in(self) -> &'static str {
        self.either("  to be filled in", "  待填写")
    }

    pub fn if_it_happened(self) -> &'static str {
        self.either("  and if it happened", "  若已发生，还需填写")
    }

    pub fn more_lines(self, count: usize) -> String {
        self.either(
            format!("  and {}", counted(count, "more line")),
            format!("  还有 {count} 行"),
        )
    }

    pub fn more_characters(self, count: usize) -> String {
        self.either(
            format!(" … {} … ", counted(count, "more character")),
            format!(" … 还有 {count} 个字符 … "),
        )
    }

    pub fn more_questions(self, count: usize, command: &str) -> String {
        let english = format!(
            "and {}; `{command}` shows all",
            counted(count, "more question")
        );
        self.either(
            english,
            format!("还有 {count} 个问题；`{command}` 显示全部"),
        )
    }

    pub fn answered_by(self, role: &str) -> String {
        self.either(format!("  by {role}"), format!("  由 {role} 回答"))
    }

    pub fn with_the_note(self) -> &'static str {
        self.either("  with the note", "  备注")
    }

    pub fn one_of(self, options: &str) -> String {
        self.either(format!("one of {options}"), format!("可选：{options}"))
    }

    /// Returns the words before and after the value of a contract rule; `None` if the rule is not described.
    pub fn rule(self, keyword: &str) -> Option<(&'static str, &'static str)> {
        let (english, chinese) = match keyword {
            "enum" => (("one of ", ""), ("可选：", "")),
            "pattern" => (("matches ", ""), ("须匹配 ", "")),
            "format" => (("of the format ", ""), ("格式为 ", "")),
            "minimum" => (("at least ", ""), ("不小于 ", "")),
            "maximum" => (("at most ", ""), ("不大于 ", "")),
            "exclusiveMinimum" => (("more than ", ""), ("大于 ", "")),
            "exclusiveMaximum" => (("less than ", ""), ("小于 ", "")),
            "multipleOf" => (("a multiple of ", ""), ("须为其倍数：", "")),
            "minLength" => (("at least ", " characters"), ("至少 ", " 个字符")),
            "maxLength" => (("at most ", " characters"), ("至多 ", " 个字符")),
            "minItems" => (("at least ", " elements"), ("至少 ", " 项")),
            "maxItems" => (("at most ", " elements"), ("至多 ", " 项")),
            _ => return None,
        };
        Some(self.either(english, chinese))
    }

    fn either<T>(self, english: T, chinese: T) -> T {
        match self.0 {
            Language::En => english,
            Language::Zh => chinese,
        }
    }
}
