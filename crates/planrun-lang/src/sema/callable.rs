//! The tools and plans that can be called, with their parameters and results.

use std::borrow::Cow;
use std::sync::Arc;

use super::own_plans::OwnPlans;
use super::plan::{Plan, PlanParameter};
use super::shared::{Namespace, Shared};
use crate::syntax::ast;
use crate::types::{Effect, Parameter, Type};

/// The tools and plans that can be called in a plan.
#[derive(Clone, Copy)]
pub(super) struct Callees<'a> {
    pub shared: &'a Shared<'a>,
    pub own: &'a OwnPlans,
}

impl<'a> Callees<'a> {
    /// Returns the contract of a call of this name.
    pub fn find(self, namespace: Option<&str>, name: &str) -> Option<Contract<'a>> {
        let Some(namespace) = namespace else {
            return self
                .own
                .get(name)
                .and_then(Option::as_ref)
                .map(|plan| contract_of_plan(plan));
        };
        self.offer(namespace)?.find(self.shared, name)
    }

    /// Returns the namespace and the name of the tool that is meant by one word: clients that cannot write `desk.close`
    /// call it `desk_close` or `mcp__desk__close`.
    pub fn joined_name<'n>(self, name: &'n str) -> Option<(&'a str, &'n str)> {
        let name = name.strip_prefix("mcp__").unwrap_or(name);
        let used = self.shared.namespaces.keys().map(|namespace| &**namespace);
        let mut namespaces = used.chain(self.shared.tools.namespaces());
        namespaces.find_map(|namespace| {
            let tool = name.strip_prefix(namespace)?.strip_prefix('_')?;
            let tool = tool.strip_prefix('_').unwrap_or(tool);
            self.find(Some(namespace), tool).map(|_| (namespace, tool))
        })
    }

    /// Returns what can be called in a namespace of the file or of the catalog.
    pub fn offer(self, namespace: &str) -> Option<Offer<'a>> {
        match self.shared.namespaces.get(namespace) {
            Some(Namespace::Unresolved) => Some(Offer::Unresolved),
            Some(Namespace::Tools(catalog)) => Some(Offer::Tools(catalog)),
            Some(Namespace::Plans(plans)) => Some(Offer::Plans(plans)),
            None => self
                .shared
                .tools
                .namespaces()
                .find(|known| *known == namespace)
                .map(Offer::Tools),
        }
    }
}

/// The callees of a namespace.
#[derive(Clone, Copy)]
pub(super) enum Offer<'a> {
    /// The tools of a namespace of the catalog.
    Tools(&'a str),
    Plans(&'a [Arc<Plan>]),
    /// Reported at the `use`.
    Unresolved,
}

impl<'a> Offer<'a> {
    pub fn find(self, shared: &'a Shared<'a>, name: &str) -> Option<Contract<'a>> {
        match self {
            Offer::Tools(catalog) => shared.tools.find(catalog, name).map(|tool| Contract {
                parameters: Cow::Borrowed(&tool.parameters),
                extra_arguments: tool.extra_arguments,
                effect: tool.effect,
                returns: &tool.returns,
            }),
            Offer::Plans(plans) => plans
                .iter()
                .find(|plan| &*plan.name == name)
                .map(|plan| contract_of_plan(plan)),
            Offer::Unresolved => None,
        }
    }
}

/// Parameters and result of a call, for places where only values are allowed.
pub(super) struct Contract<'a> {
    parameters: Cow<'a, [Parameter]>,
    extra_arguments: bool,
    pub effect: Effect,
    pub returns: &'a Type,
}

impl Contract<'_> {
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters
            .iter()
            .find(|parameter| &*parameter.name == name)
    }

    /// Returns true if the arguments match the parameters by name.
    pub fn fits(&self, arguments: &[ast::Argument]) -> bool {
        let known = |argument: &ast::Argument| {
            let name = argument.name.as_ref();
            name.is_some_and(|name| self.extra_arguments || self.parameter(&name.text).is_some())
        };
        arguments.iter().all(known)
            && self
                .parameters
                .iter()
                .all(|parameter| !parameter.required || has_argument(arguments, &parameter.name))
    }
}

/// Returns true if there is an argument with this name.
pub(super) fn has_argument(arguments: &[ast::Argument], name: &str) -> bool {
    arguments.iter().any(|argument| {
        argument
            .name
            .as_ref()
            .is_some_and(|given| &*given.text == name)
    })
}

/// Returns the type of the values that a parameter accepts.
pub(super) fn accepted(parameter: &Parameter) -> Type {
    if parameter.required {
        parameter.ty.clone()
    } else {
        // Null for an optional argument omits it.
        Type::union([parameter.ty.clone(), Type::Null])
    }
}

fn contract_of_plan(plan: &Plan) -> Contract<'_> {
    Contract {
        parameters: parameters_of(plan).into(),
        extra_arguments: false,
        effect: plan.does.effect,
        returns: &plan.returns,
    }
}

/// Returns the parameters of a plan as those of a tool.
pub(super) fn parameters_of(plan: &Plan) -> Vec<Parameter> {
    let parameter = |parameter: &PlanParameter| Parameter {
        name: parameter.name.clone(),
        ty: parameter.ty.clone(),
        required: parameter.required,
        description: None,
        schema: None,
        // The called plan applies its own defaults.
        default: None,
    };
    plan.parameters.iter().map(parameter).collect()
}
