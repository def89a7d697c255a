//! Snapshots of tests: texts that are stored next to the plan and compared, in the format and the folders of `insta`.
//!
//! A snapshot is `snapshots/<plan>__<test>[__<row>]__<kind>.snap` next to its plan file; a pending one has
//! `.snap.new` after its name. `cargo insta review` and `insta::assert_snapshot!` read and write the same files.
//!
//! ```
//! use planrun_tools::host::MemoryHost;
//! use planrun_test::plantest::snapshot::{Mode, Place, Store};
//! use planrun_lang::sema::test::SnapshotOf;
//!
//! let host = MemoryHost::new(0).with_file("plans/hire.plan", "");
//! let store = Store::new(&host, ".".as_ref(), Mode::Accept);
//! // All tests of the file, including those that are not run now: file names depend on all of them.
//! let shelf = store.open("plans/hire.plan".as_ref(), ["hires three", "拒绝申请"])?;
//! let place = Place { test: "拒绝申请", row: None, kind: SnapshotOf::Reply, line: 12 };
//! assert!(shelf.settle(&place, "{\"hired\": false}")?.passes());
//! shelf.finished("拒绝申请");
//! assert!(store.unreferenced()?.is_empty());
//! # Ok::<(), planrun_test::plantest::snapshot::SnapshotError>(())
//! ```

mod error;
mod file;
pub(super) mod folder;
mod metadata;
mod mode;
pub(super) mod name;
mod pending;
mod store;

pub use error::SnapshotError;
pub use metadata::Metadata;
pub use mode::Mode;
pub use pending::{Pending, pending};
pub use store::{FileSnapshots, Kept, LeftBehind, Place, Settled, Store, Verdict, left_behind};
