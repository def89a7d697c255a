//! What lets the calls of a document's operations in: credentials in a header, the query or a cookie.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::tools::http::parameter::Place;

/// The credentials that calls carry. Their values are secrets.
#[derive(Clone, Default)]
pub struct Access {
    pub entries: Vec<Credential>,
}

/// One credential, and where it goes.
#[derive(Clone)]
pub struct Credential {
    pub place: Place,
    pub name: String,
    pub value: String,
}

/// Where a document wants an API key, by the name of its security scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyScheme {
    pub scheme: String,
    pub place: Place,
    pub name: String,
}

impl Access {
    /// `Authorization: Bearer …`
    pub fn bearer(&mut self, token: &str) {
        self.authorization(format!("Bearer {token}"));
    }

    /// `Authorization: Basic …`. What is sent, which is a secret as well.
    pub fn basic(&mut self, user: &str, password: &str) -> String {
        let sent = STANDARD.encode(format!("{user}:{password}"));
        self.authorization(format!("Basic {sent}"));
        sent
    }

    /// An API key where its scheme wants it.
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
    /// Without the values.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let entries = self.entries.iter();
        let shown = entries.map(|one| format!("{} {}", one.place.name(), one.name));
        f.debug_list().entries(shown).finish()
    }
}
