//! The state of one block during its interpretation: its values, and the results of its statements.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use planrun_lang::eval::{Environment, EvalError, evaluate};
use planrun_lang::protocol::StepState;
use planrun_lang::sema::expr::CheckedExpr;
use planrun_lang::sema::{Block, BlockId, Node, OnFailure, Place, Plan};
use planrun_lang::value::Value;

use super::Fault;

pub struct Frame {
    pub plan: Arc<Plan>,
    pub block: BlockId,
    pub outer: Option<Rc<Frame>>,
    pub path: String,
    pub slots: RefCell<Vec<Result<Value, EvalError>>>,
    pub results: RefCell<Vec<StatementResult>>,
}

/// The result of a statement.
#[derive(Clone, Default)]
pub struct StatementResult {
    /// The value of a condition.
    pub truth: Option<Result<bool, EvalError>>,
    /// The reason why it has no value.
    pub failure: Option<Fault>,
}

/// The result of the conditions that guard a statement.
pub enum Guard {
    Holds,
    False,
    Upstream(Fault),
    Failed,
}

impl Frame {
    pub fn new(
        plan: &Arc<Plan>,
        block: BlockId,
        outer: Option<Rc<Self>>,
        path: String,
    ) -> Rc<Self> {
        let content = plan.block(block);
        let path = match &content.label {
            Some(label) => format!("{path}.{label}"),
            None => path,
        };
        let slots = RefCell::new(vec![Ok(Value::Null); content.slots as usize]);
        let results = RefCell::new(vec![StatementResult::default(); content.nodes.len()]);
        Rc::new(Self {
            plan: plan.clone(),
            block,
            outer,
            path,
            slots,
            results,
        })
    }

    pub fn content(&self) -> &Block {
        self.plan.block(self.block)
    }

    pub fn put(&self, slot: u32, value: Value) {
        if let Some(place) = self.slots.borrow_mut().get_mut(slot as usize) {
            *place = Ok(value);
        }
    }

    pub fn path_of(&self, node: &Node) -> String {
        match &node.name {
            Some(name) if self.path.is_empty() => name.to_string(),
            Some(name) => format!("{}.{name}", self.path),
            None => self.path.clone(),
        }
    }

    fn around(&self, up: u16) -> &Self {
        (0..up).fold(self, |frame, _| frame.outer.as_deref().unwrap())
    }

    pub fn evaluate(&self, code: &CheckedExpr) -> Result<Value, EvalError> {
        evaluate(code, self)
    }

    pub fn truth(&self, code: &CheckedExpr) -> Result<bool, EvalError> {
        self.evaluate(code).map(|value| value == Value::Bool(true))
    }

    pub fn settles(&self) -> bool {
        self.plan.policy.on_failure == Some(OnFailure::Settle)
    }
}

impl Environment for Frame {
    fn value(&self, place: Place) -> Result<Value, EvalError> {
        self.around(place.up).slots.borrow()[place.slot as usize].clone()
    }

    fn state(&self, _: Place) -> StepState {
        unreachable!("no generated plan asks for states")
    }

    fn winner(&self, _: Place) -> Option<Arc<str>> {
        unreachable!("no generated plan asks who won")
    }
}

pub fn guard(frame: &Frame, node: &Node) -> Guard {
    let results = frame.results.borrow();
    let mut failed = false;
    let mut holds = true;
    for atom in &node.guard {
        let condition = &results[atom.condition.0 as usize];
        if let Some(fault) = &condition.failure {
            return Guard::Upstream(fault.clone());
        }
        match &condition.truth {
            Some(Ok(truth)) => holds &= *truth != atom.negated,
            Some(Err(_)) => failed = true,
            None => holds = false,
        }
    }
    if let Some(fault) = node
        .after
        .iter()
        .find_map(|after| results[after.node.0 as usize].failure.clone())
    {
        return Guard::Upstream(fault);
    }
    match (failed, holds) {
        (true, _) => Guard::Failed,
        (false, true) => Guard::Holds,
        (false, false) => Guard::False,
    }
}
