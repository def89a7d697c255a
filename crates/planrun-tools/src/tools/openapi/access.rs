//! The credentials of a document's operations: in a header, the query or a cookie.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::tools::http::parameter::Place;

/// The credentials that calls send. Their values are secrets.
#[derive(Clone, Default)]
pub struct Access {
    pub entries: Vec<Credential>,
}

/// One credential and its location in the request.
#[derive(Clone)]
pub struct Credential {
    pub place: Place,
    pub name: String,
    pub value: String,
}

/// The location of an API key in requests, by the name of its security scheme in the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyScheme {
    pub scheme: String,
    pub place: Place,
    pub name: String,
}

impl Access {
    /// Adds `Authorization: Bearer …`.
    pub fn bearer(&mut self, token: &str) {
        self.authorization(format!("Bearer {token}"));
    }

    /// Adds `Authorization: Basic …`. Returns the encoded text that is sent, which is a secret too.
    pub fn basic(&mut self, user: &str, password: &str) -> String {
        let sent = STANDARD.encode(format!("{user}:{password}"));
        self.authorization(format!("Basic {sent}"));
        sent
    }

    /// Adds an API key at the location of its scheme.
    pub fn key(&mut self, scheme: &KeyScheme, value: &str) {
        self.entries.push(Credential {
            place: scheme.place,
            name: scheme.name.clone(),
            value: value.to_owned(),
        });
    }

    fn authorization(&mut self, value: String) {
        self.entries.push(Credential {
            place: Place::Header,
            name: "authorization".to_owned(),
            value,
        });
    }
}

impl std::fmt::Debug for Access {
    /// Leaves out the values.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let entries = self.entries.iter();
        let parameters = entries.map(|one| format!("{} {}", one.place.name(), one.name));
        f.debug_list().entries(parameters).finish()
    }
}
