//! Derives the names of tools and their arguments from the names of operations, parameters and fields.

use std::collections::BTreeSet;
use std::sync::Arc;

use reqwest::Method;

/// Maximum length of an `operationId` that is used as a name, in characters.
const LONGEST: usize = 128;

/// Returns the name of an operation: its `operationId`, or a name from its method and path.
pub(super) fn tool(id: Option<&str>, method: &Method, path: &str) -> String {
    let usable = |id: &&str| {
        let letters = id.chars().count();
        (1..=LONGEST).contains(&letters) && !id.chars().any(|one| one.is_control() || one == '`')
    };
    id.filter(usable)
        .map_or_else(|| from_path(method, path), str::to_owned)
}

/// Names an operation after its method and path: `GET /orders/{id}/items` becomes `get_orders_id_items`.
pub(super) fn from_path(method: &Method, path: &str) -> String {
    let words = path.split(|letter: char| !letter.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    let mut name = method.as_str().to_ascii_lowercase();
    for word in words {
        name.push('_');
        name.push_str(word);
    }
    name
}

/// The names of one tool's arguments. The first argument with a name gets the plain name.
#[derive(Default)]
pub(super) struct Arguments {
    taken: BTreeSet<String>,
}

impl Arguments {
    /// Returns the argument's name: `name`, or `PLACE_name` if an argument in another location has that already.
    /// Returns an error if both are taken.
    pub(super) fn claim(&mut self, place: &str, name: &str) -> Result<Arc<str>, String> {
        let second = format!("{place}_{name}");
        let free = [name, &second]
            .into_iter()
            .find(|name| !self.taken.contains(*name));
        let free = free
            .ok_or_else(|| format!("`{name}` and `{second}` are both taken by other arguments"))?;
        self.taken.insert(free.to_owned());
        Ok(free.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_have_the_name_of_their_operation_or_of_their_path() {
        let cases = [
            (Some("listOrders"), "listOrders"),
            (Some("orders/list"), "orders/list"),
            (Some(""), "get_orders_id_items"),
            (Some("a`b"), "get_orders_id_items"),
            (Some("a\nb"), "get_orders_id_items"),
            (None, "get_orders_id_items"),
        ];
        for (id, expected) in cases {
            assert_eq!(tool(id, &Method::GET, "/orders/{id}/items"), expected);
        }
        assert_eq!(from_path(&Method::PUT, "/"), "put");
    }

    #[test]
    fn the_first_place_has_the_plain_name() {
        let mut arguments = Arguments::default();
        let mut claim = |place: &str, name: &str| arguments.claim(place, name);
        assert_eq!(claim("path", "id").as_deref(), Ok("id"));
        assert_eq!(claim("query", "id").as_deref(), Ok("query_id"));
        assert_eq!(claim("body", "id").as_deref(), Ok("body_id"));
        assert_eq!(claim("body", "query_id").as_deref(), Ok("body_query_id"));
        assert!(claim("query", "id").is_err());
    }
}
