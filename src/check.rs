//! Checking plans: the text of a plan, its diagnostics, and a checked plan that can be run.
//!
//! [`Planrun::check`](crate::Planrun::check) is the complete check, the same as `planrun check`: syntax, names,
//! types, all rules, and the `allow` comments in the text. It returns an error only if the project itself cannot be
//! used; mistakes in the plan are diagnostics.
//!
//! ```
//! use planrun::Planrun;
//! use planrun::check::{PlanText, Severity, render};
//!
//! # fn main() -> Result<(), planrun::Error> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let folder = folder.path();
//! let planrun = Planrun::open(folder)?;
//!
//! let wrong = planrun.check(PlanText::new("sum.plan", "plan sum(a: int) -> int {\n    reply a + true\n}\n"))?;
//! let reports = wrong.reports();
//! assert_eq!(reports[0].diagnostics[0].severity, Severity::Error);
//! assert!(render(&reports).contains("sum.plan"));
//! // A plan with errors cannot be run.
//! assert!(wrong.plan(None).is_err());
//!
//! let right = planrun.check(PlanText::new("sum.plan", "plan sum(a: int) -> int {\n    reply a + 1\n}\n"))?;
//! assert!(right.reports().is_empty());
//! // The only plan of the file. If a file has several, pass the name of one.
//! let plan = right.plan(None)?;
//! assert_eq!(&*plan.plan.name, "sum");
//! # Ok(())
//! # }
//! ```

use planrun_lang::diag::render::{Appearance, human};

pub use planrun_lang::diag::render::FileReport;
pub use planrun_lang::diag::{Code, Diagnostic, Edit, Severity};
pub use planrun_lang::source::{SourceFile, Span};
pub use planrun_runs::runs::{Checked, CheckedPlan, Choice, PlanText};

/// Renders diagnostics for people, each with the source lines it is about. The output has no colours, and control
/// characters in the source are escaped.
#[must_use]
pub fn render(reports: &[FileReport]) -> String {
    human(reports, Appearance::PLAIN)
}
