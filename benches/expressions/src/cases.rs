//! Ten typical expressions of plans, in three languages, and the data they read.

use serde_json::{Value as Json, json};

pub struct Case {
    pub name: &'static str,
    pub ours: &'static str,
    pub cel: &'static str,
    pub jaq: &'static str,
}

pub const CASES: [Case; 10] = [
    Case {
        name: "a number compared",
        ours: "order.total > 100.0",
        cel: "order.total > 100.0",
        jaq: ".order.total > 100.0",
    },
    Case {
        name: "two conditions",
        ours: "order.state == 'paid' && user.level in ['gold', 'silver']",
        cel: "order.state == 'paid' && user.level in ['gold', 'silver']",
        jaq: r#".order.state == "paid" and (.user.level == "gold" or .user.level == "silver")"#,
    },
    Case {
        name: "a default",
        ours: "user.nick ?? user.name",
        cel: "has(user.nick) ? user.nick : user.name",
        jaq: ".user.nick // .user.name",
    },
    Case {
        name: "a template",
        ours: r#""Hello ${user.name}, order ${order.id} is ${order.state}.""#,
        cel: "'Hello ' + user.name + ', order ' + string(order.id) + ' is ' + order.state + '.'",
        jaq: r#""Hello \(.user.name), order \(.order.id) is \(.order.state).""#,
    },
    Case {
        name: "how many of 20",
        ours: "size(items.filter(item, item.count > 2))",
        cel: "size(items.filter(item, item.count > 2))",
        jaq: "[.items[] | select(.count > 2)] | length",
    },
    Case {
        name: "a field of 20",
        ours: "items.map(item, item.price)",
        cel: "items.map(item, item.price)",
        jaq: "[.items[].price]",
    },
    Case {
        name: "the last of 20",
        ours: "items.exists(item, item.code == 'code-19')",
        cel: "items.exists(item, item.code == 'code-19')",
        jaq: r#"any(.items[]; .code == "code-19")"#,
    },
    Case {
        name: "one of three",
        ours: "order.total > 1000.0 ? 'large' : order.total > 200.0 ? 'medium' : 'small'",
        cel: "order.total > 1000.0 ? 'large' : order.total > 200.0 ? 'medium' : 'small'",
        jaq: r#"if .order.total > 1000.0 then "large" elif .order.total > 200.0 then "medium" else "small" end"#,
    },
    Case {
        name: "the ends of a text",
        ours: "user.email.startsWith('ada') && user.email.endsWith('.com')",
        cel: "user.email.startsWith('ada') && user.email.endsWith('.com')",
        jaq: r#"(.user.email | startswith("ada")) and (.user.email | endswith(".com"))"#,
    },
    Case {
        name: "an object",
        ours: "{ 'id': order.id, 'who': user.name, 'count': size(items) }",
        cel: "{ 'id': order.id, 'who': user.name, 'count': size(items) }",
        jaq: "{ id: .order.id, who: .user.name, count: (.items | length) }",
    },
];

/// Returns the values of `order`, `user` and `items`.
pub fn data() -> Json {
    let item = |number: i32| json!({ "code": format!("code-{number}"), "count": number % 5, "price": f64::from(number) + 0.5 });
    json!({
        "order": { "id": 4711, "state": "paid", "total": 129.5, "lines": 20 },
        "user": { "name": "Ada", "level": "gold", "email": "ada@example.com" },
        "items": (0..20).map(item).collect::<Vec<_>>(),
    })
}
