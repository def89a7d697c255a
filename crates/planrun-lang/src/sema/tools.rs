//! The tools that a plan may call, as signatures.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use crate::types::Signature;

/// A signature that is created when it is first read.
type Later = LazyLock<Arc<Signature>, Box<dyn FnOnce() -> Arc<Signature> + Send>>;

/// Signatures by name.
type Namespace = BTreeMap<Arc<str>, Arc<Later>>;

/// Signatures by namespace and name. The only form in which the checker sees tools.
#[derive(Clone, Debug, Default)]
pub struct Tools {
    /// Each namespace is shared, because every checked file has its own tools in addition to those of the project.
    namespaces: BTreeMap<Arc<str>, Arc<Namespace>>,
    /// Namespaces whose tools are not known, since their contracts have not been locked yet.
    pub unlocked: BTreeSet<Arc<str>>,
}

impl Tools {
    /// Adds or replaces a tool.
    pub fn insert(&mut self, signature: Arc<Signature>) {
        let (namespace, name) = (signature.namespace.clone(), signature.name.clone());
        self.insert_later(namespace, name, || signature);
    }

    /// Adds or replaces a tool whose signature is created when it is first needed.
    pub fn insert_later(
        &mut self,
        namespace: Arc<str>,
        name: Arc<str>,
        make: impl FnOnce() -> Arc<Signature> + Send + 'static,
    ) {
        let namespace = self.namespaces.entry(namespace).or_default();
        let signature = Arc::new(Later::new(Box::new(make)));
        Arc::make_mut(namespace).insert(name, signature);
    }

    /// Returns true if there are tools in this namespace.
    #[must_use]
    pub fn has_namespace(&self, namespace: &str) -> bool {
        self.namespaces.contains_key(namespace)
    }

    /// Returns the tool with this name.
    #[must_use]
    pub fn find(&self, namespace: &str, name: &str) -> Option<&Arc<Signature>> {
        self.namespaces
            .get(namespace)?
            .get(name)
            .map(|signature| &***signature)
    }

    /// Returns every namespace, sorted.
    pub fn namespaces(&self) -> impl Iterator<Item = &str> {
        self.namespaces.keys().map(|name| &**name)
    }

    /// Returns the names of the tools in a namespace, sorted.
    pub fn names(&self, namespace: &str) -> impl Iterator<Item = &str> {
        self.namespaces
            .get(namespace)
            .into_iter()
            .flat_map(|tools| tools.keys())
            .map(|name| &**name)
    }
}

impl FromIterator<Arc<Signature>> for Tools {
    fn from_iter<I: IntoIterator<Item = Arc<Signature>>>(signatures: I) -> Self {
        let mut tools = Self::default();
        for signature in signatures {
            tools.insert(signature);
        }
        tools
    }
}
