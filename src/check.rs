//! Checking plans: the text, what is found in it, and a plan that can be run.
//!
//! [`Planrun::check`](crate::Planrun::check) is the complete check, the same as `planrun check`: syntax, names, types, every rule,
//! and what comments in the text allow. It fails only where the project itself cannot be used; mistakes of the author are findings.
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
//! // The only plan of the file; of several, one is chosen by its name.
//! let plan = right.plan(None)?;
//! assert_eq!(&*plan.plan.name, "sum");
//! # Ok(())
//! # }
//! ```

use planrun_lang::diag::render::{Look, human};

pub use planrun_lang::diag::render::FileReport;
pub use planrun_lang::diag::{Diagnostic, Severity};
pub use planrun_runs::runs::{Checked, CheckedPlan, Choice, PlanText};

/// Findings for people, drawn in the lines that they are about; without colours, and with the control characters of the text
/// as escapes.
#[must_use]
pub fn render(reports: &[FileReport]) -> String {
    human(reports, Look::PLAIN)
}
