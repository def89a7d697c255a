//! Checks durations and counts that have a lowest value. Only constants can be compared before the run; at run time, a
//! duration below zero counts as zero, and `parallel` below 1 as 1.

use std::fmt;

use super::checker::PlanChecker;
use super::expr::{CheckedExpr, Expectation};
use crate::diag::codes;
use crate::syntax::ast;
use crate::types::Type;
use crate::value::Value;

impl PlanChecker<'_> {
    /// Checks a wait: a duration of zero or more.
    pub(super) fn wait_duration(&mut self, expression: &ast::Expr, what: &str) -> CheckedExpr {
        let code = self.value_of(expression, &Type::Duration, Expectation::of(&what));
        if let Some(Value::Duration(nanos)) = code.constant()
            && *nanos < 0
        {
            let remedy = "write a duration such as `30s`";
            self.report_too_low(expression, what, "a duration of zero or more", remedy);
        }
        code
    }

    /// Checks a time limit or an interval: a duration above zero.
    pub(super) fn time_limit(&mut self, expression: &ast::Expr, what: &str) -> CheckedExpr {
        let code = self.value_of(expression, &Type::Duration, Expectation::of(&what));
        if let Some(Value::Duration(nanos)) = code.constant()
            && *nanos <= 0
        {
            let remedy = "write a duration such as `30s`";
            self.report_too_low(expression, what, "a duration above zero", remedy);
        }
        code
    }

    /// Checks an integer of at least `least`.
    pub(super) fn count_from(
        &mut self,
        least: i64,
        expression: &ast::Expr,
        what: &str,
    ) -> CheckedExpr {
        let code = self.value_of(expression, &Type::Int, Expectation::of(&what));
        if let Some(Value::Int(count)) = code.constant()
            && *count < least
        {
            let expected = format_args!("{least} or more");
            let remedy = if least == 0 {
                "write the maximum number"
            } else {
                "write how many may run at once, or leave it out"
            };
            self.report_too_low(expression, what, expected, remedy);
        }
        code
    }

    fn report_too_low(
        &mut self,
        expression: &ast::Expr,
        what: &str,
        expected: impl fmt::Display,
        remedy: &str,
    ) {
        let written = self.shared.source.slice(expression.span);
        let message = format!("{what} must be {expected}, but this is `{written}`");
        let diagnostic = codes::types::SCHEMA_VIOLATION.at(expression.span, message);
        self.report(diagnostic.help(remedy));
    }
}

#[cfg(test)]
mod tests {
    use crate::sema::{NoFiles, Tools, check_without_rules};
    use crate::source::SourceFile;

    /// Returns the message of every error in a plan with these statements.
    fn errors(statements: &str) -> Vec<String> {
        let text = format!(
            "use kit
            tool kit.find(x: string) -> string read
            tool kit.set(x: string) -> string effect
            plan p(items: string[], limit: duration, count: int) {{
                {statements}
            }}"
        );
        let checked = check_without_rules(
            &SourceFile::new("a.plan", text),
            &Tools::default(),
            &NoFiles,
        );
        let errors = checked.diagnostics.iter().filter(|found| found.is_error());
        errors.map(|found| found.message.clone()).collect()
    }

    #[test]
    fn a_constant_below_its_lowest_value_is_an_error() {
        let limit = "must be a duration above zero, but this is `0s`";
        for (statements, expected) in [
            (
                "step a = kit.find(x: \"a\") timeout 0s",
                format!("`timeout` {limit}"),
            ),
            (
                "step a = kit.find(x: \"a\") within 0s",
                format!("`within` {limit}"),
            ),
            (
                "step a = kit.find(x: \"a\") cache 0s",
                format!("`cache` {limit}"),
            ),
            (
                "step a = kit.find(x: \"a\") until a == \"b\" every 0s within 1m",
                format!("`every` {limit}"),
            ),
            (
                "step a = kit.set(x: \"a\") confirm \"Really?\" expires 0s",
                format!("`expires` {limit}"),
            ),
            (
                "step a = wait -1s",
                "`wait` must be a duration of zero or more, but this is `-1s`".to_owned(),
            ),
            (
                "step a = each item in items max -1 { yield item }",
                "`max` of `each` must be 0 or more, but this is `-1`".to_owned(),
            ),
            (
                "step a = each item in items max 9 parallel 0 { yield item }",
                "`parallel` of `each` must be 1 or more, but this is `0`".to_owned(),
            ),
            (
                "policy { timeout: 0s }",
                "`timeout` expects a duration above zero, such as `30s`".to_owned(),
            ),
            (
                "policy { deadline: 0s }",
                "`deadline` expects a duration above zero, such as `30s`".to_owned(),
            ),
            (
                "policy { budget: { time: 0s } }",
                "`time` expects a duration above zero, such as `30s`".to_owned(),
            ),
        ] {
            assert_eq!(errors(statements), [expected], "{statements}");
        }
        for statements in [
            "step a = kit.find(x: \"a\") timeout limit within limit",
            "step a = wait 0s",
            "step a = each item in items max 0 parallel count { yield item }",
            "policy { retry: { attempts: 2, delay: 0s, max_delay: 0s } }",
        ] {
            assert_eq!(errors(statements), [""; 0], "{statements}");
        }
    }
}
