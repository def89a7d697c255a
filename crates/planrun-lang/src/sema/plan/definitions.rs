//! The definitions of a plan's statements as texts: what is compared when the plan of a run is changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use blake3::{Hash, Hasher};
use foldhash::HashMap;

use super::{BlockId, Call, Node, Plan, StepKind, Target};
use crate::syntax::json::PlanTexts;
use crate::syntax::parse;

/// The name of a called plan, as the caller writes it, and its index in [`Plan::plans`].
type PlanCall<'p> = (&'p str, usize);

impl Plan {
    /// Returns a text for each named statement of the body, by name, including those in a `parallel`; statements with
    /// the same text do the same. The text covers nested statements, the conditions of the `if`s around the statement,
    /// the types that it names, and every plan that it calls, directly or indirectly. Documentation, layout, and the
    /// order of clauses and arguments do not affect it.
    #[must_use]
    pub fn definitions(&self) -> BTreeMap<String, String> {
        let mut digests = Digests::default();
        let mut definitions = digests.texts(self).statements(&self.name);
        for (statement, calls) in self.plan_calls() {
            if let Some(text) = definitions.get_mut(statement) {
                let mut hash = Hasher::new();
                digests.update(&mut hash, self, &calls);
                let _ = write!(text, " calls {}", hash.finalize());
            }
        }
        definitions
    }

    /// Returns a text for each parameter, by name, which covers its type and its default.
    #[must_use]
    pub fn parameter_texts(&self) -> BTreeMap<String, String> {
        Digests::default().texts(self).parameters(&self.name)
    }

    /// Returns the plans that each named statement of the body calls, by the name of the statement.
    fn plan_calls(&self) -> BTreeMap<&str, BTreeSet<PlanCall<'_>>> {
        let mut calls = BTreeMap::<&str, BTreeSet<_>>::new();
        // The statement of the body that contains each block. A block comes after the one around it.
        let mut outermost: Vec<Option<&str>> = vec![None; self.blocks.len()];
        for (block, _, node) in self.sites() {
            let statement = if block == BlockId(0) {
                node.name.as_deref()
            } else {
                outermost.get(block.0 as usize).copied().flatten()
            };
            node.inner(&mut |inner| {
                if let Some(outermost) = outermost.get_mut(inner.0 as usize) {
                    *outermost = statement;
                }
            });
            if let (Some(statement), Some(call)) = (statement, plan_call(node)) {
                calls.entry(statement).or_default().insert(call);
            }
        }
        calls
    }
}

/// Returns the plan that a node calls.
fn plan_call(node: &Node) -> Option<PlanCall<'_>> {
    match &node.step()?.kind {
        StepKind::Call(Call {
            target: Target::Plan(index, name),
            ..
        }) => Some((name, *index)),
        _ => None,
    }
}

/// Digests of plans with everything that they call.
#[derive(Default)]
struct Digests {
    /// By the address of the plan.
    known: HashMap<*const Plan, Hash>,
    /// The plans of each file, by the address of its text.
    files: HashMap<*const u8, PlanTexts>,
}

impl Digests {
    /// Returns the texts of the plans in the file of a plan.
    fn texts(&mut self, plan: &Plan) -> &PlanTexts {
        self.files
            .entry(plan.source.text().as_ptr())
            .or_insert_with(|| PlanTexts::of(&parse(&plan.source).file))
    }

    /// Adds the plans that a statement, or all of a plan, calls.
    fn update(&mut self, hash: &mut Hasher, caller: &Plan, calls: &BTreeSet<PlanCall<'_>>) {
        for (name, index) in calls {
            hash.update(&(name.len() as u64).to_le_bytes());
            hash.update(name.as_bytes());
            if let Some(called) = caller.plans.get(*index) {
                hash.update(self.of(called).as_bytes());
            }
        }
    }

    /// Returns the digest of a plan. Its own stack keeps the depth of the calls from mattering; plans cannot call
    /// themselves.
    fn of(&mut self, plan: &Plan) -> Hash {
        let mut open = vec![plan];
        while let Some(next) = open.last().copied() {
            if self.known.contains_key(&std::ptr::from_ref(next)) {
                open.pop();
                continue;
            }
            let is_new = |called: &&Plan| !self.known.contains_key(&std::ptr::from_ref(*called));
            let called = next.plans.iter().map(|called| &**called);
            let missing: Vec<&Plan> = called.filter(is_new).collect();
            if missing.is_empty() {
                let digest = self.digest(next);
                self.known.insert(next, digest);
            } else {
                open.extend(missing);
            }
        }
        // The loop ends when the plan itself is known.
        self.known
            .get(&std::ptr::from_ref(plan))
            .copied()
            .unwrap_or_else(|| blake3::hash(plan.digest.as_bytes()))
    }

    /// Computes the digest of a plan from its text and the digests of the plans that it calls.
    fn digest(&mut self, plan: &Plan) -> Hash {
        let text = self.texts(plan).plan(&plan.name);
        // A plan without such a text is compared by its layout.
        let text = text.as_deref().unwrap_or(&plan.digest);
        let mut hash = Hasher::new();
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
        let calls = plan.nodes().filter_map(plan_call).collect();
        self.update(&mut hash, plan, &calls);
        hash.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sema::{Files, Tools, check_without_rules};
    use crate::source::SourceFile;

    /// A project with one other file.
    struct Other(String);

    impl Files for Other {
        fn read(&self, _from: &str, path: &str) -> Result<SourceFile, String> {
            Ok(SourceFile::new(path, &*self.0))
        }
    }

    /// Returns the definitions of the plan `p`.
    fn of(text: &str, other: &str) -> BTreeMap<String, String> {
        let source = SourceFile::new("a.plan", format!("use \"./b.plan\" as b\n{text}"));
        let checked = check_without_rules(&source, &Tools::default(), &Other(other.to_owned()));
        let mut found = checked.diagnostics.iter().filter(|found| found.is_error());
        assert!(found.next().is_none(), "{:#?}", checked.diagnostics);
        let mut plans = checked.plans.iter();
        let plan = plans.find(|plan| &*plan.name == "p");
        plan.unwrap().definitions()
    }

    #[test]
    fn a_definition_covers_the_plans_that_a_statement_calls() {
        let text = "plan p() {
                step direct = one(x: 1)
                step nested = do { step a = b.far(x: 1) yield a }
                parallel { step other = two(x: 1) }
                step both = do { step a = two(x: 1) step c = one(x: a) yield c }
                let plain = 1
                reply [direct, nested, other, both, plain]
            }
            plan one(x: int) -> int { step a = three(x: x) reply a }
            plan two(x: int) -> int { reply x }
            plan three(x: int) -> int { reply x + 1 }";
        let far = "plan far(x: int) -> int { step a = near(x: x) reply a } plan near(x: int) -> int { reply x }";
        let before = of(text, far);
        for (text, far, changed) in [
            (text.to_owned(), far.to_owned(), ""),
            (
                text.replace("reply x + 1", "reply x + 2"),
                far.to_owned(),
                "both direct",
            ),
            (
                text.replace("{ reply x }", "{ reply -x }"),
                far.to_owned(),
                "both other",
            ),
            (
                text.to_owned(),
                far.replace("{ reply x }", "{ reply -x }"),
                "nested",
            ),
            (
                text.replace("plan two", "/// Text.\nplan two")
                    .replace("reply x + 1", "// Text.\n reply x+1"),
                far.replace("step a", "\n  step a"),
                "",
            ),
            (
                text.replace("plan p() {", "plan p() { step new = two(x: 2)"),
                far.to_owned(),
                "new",
            ),
        ] {
            let after = of(&text, &far);
            let differ = after
                .iter()
                .filter(|(name, text)| before.get(*name) != Some(*text));
            let differ: Vec<&str> = differ.map(|(name, _)| name.as_str()).collect();
            assert_eq!(differ.join(" "), changed, "{text}\n{far}");
        }
    }
}
