//! The coverage report as one self-contained HTML page: the text of each plan file with its coverage by line.

use std::fmt::Write as _;

use planrun_lang::diag::render::visible_line;

use super::lines::{Line, lines};
use super::{Coverage, PlanCoverage, Share};

/// The style sheet of the page; it follows the light or dark color scheme of the reader.
const STYLE: &str = "\
:root{color-scheme:light dark;--hit:#d7f0d9;--part:#fbe9b7;--miss:#f9d0d0}\
@media(prefers-color-scheme:dark){:root{--hit:#173d1d;--part:#4a3c10;--miss:#4d1c1c}}\
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}\
table{border-collapse:collapse}th,td{padding:.15rem .8rem;text-align:right}th:first-child,td:first-child{text-align:left}\
.source{overflow-x:auto;font:13px/1.45 ui-monospace,monospace}.source div{white-space:pre;padding:0 .5rem}\
.source b{font-weight:normal;color:#888;user-select:none}\
.hit{background:var(--hit)}.part{background:var(--part)}.miss{background:var(--miss)}.source .why{padding-left:8em;font-style:italic}";

/// Returns the report as an HTML page.
#[must_use]
pub fn html(coverage: &Coverage<'_>) -> String {
    let total = coverage.share();
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><title>Coverage of plans: {}%</title>\
         <style>{STYLE}</style></head><body>\n<h1>Coverage of plans: {}</h1>\n",
        total.percent(),
        in_words(total)
    );
    page += "<table><tr><th>file</th><th>reached</th><th></th></tr>\n";
    let files = coverage.files();
    for (index, (name, plans)) in files.iter().enumerate() {
        let mut share = Share::default();
        for plan in plans {
            share += plan.share();
        }
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "<tr><td><a href=\"#f{index}\">{}</a></td><td>{}/{}</td><td>{}%</td></tr>",
            escaped(name),
            share.reached,
            share.all,
            share.percent()
        );
    }
    page += "</table>\n";
    for (index, (name, plans)) in files.iter().enumerate() {
        let _ = writeln!(page, "<h2 id=\"f{index}\">{}</h2>", escaped(name));
        for plan in plans {
            let _ = writeln!(
                page,
                "<p>{}: {}</p>",
                escaped(&plan.goals.plan().name),
                in_words(plan.share())
            );
        }
        source(&mut page, plans);
    }
    page += "</body></html>\n";
    page
}

fn in_words(share: Share) -> String {
    format!(
        "{} of {} reached, {}%",
        share.reached,
        share.all,
        share.percent()
    )
}

fn source(page: &mut String, plans: &[&PlanCoverage<'_>]) {
    let Some(first) = plans.first() else { return };
    let lines = lines(plans);
    page.push_str("<div class=\"source\">\n");
    for (number, text) in (1_u32..).zip(first.goals.file().text().lines()) {
        let line = lines.get(&number);
        let (class, count) = line.map_or(("", String::new()), mark);
        let _ = writeln!(
            page,
            "<div class=\"{class}\"><b>{number:>4} {count:>5}</b> {}</div>",
            escaped(text)
        );
        for missing in line.into_iter().flat_map(|line| &line.missing) {
            let _ = writeln!(
                page,
                "<div class=\"why {class}\">{}</div>",
                escaped(missing)
            );
        }
    }
    page.push_str("</div>\n");
}

fn mark(line: &Line<'_>) -> (&'static str, String) {
    let class = match (line.hits() > 0, line.is_complete()) {
        (true, true) => "hit",
        (true, false) => "part",
        (false, _) => "miss",
    };
    (class, format!("{}×", line.hits()))
}

/// Escapes text for HTML, and makes invisible characters visible; tabs are kept.
fn escaped(text: &str) -> String {
    let parts: Vec<_> = text.split('\t').map(visible_line).collect();
    quick_xml::escape::escape(parts.join("\t")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn text_is_neither_markup_nor_hidden() {
        assert_eq!(
            escaped("\tstep <a>\u{202e} \u{1b}[31m"),
            "\tstep &lt;a&gt;\\u{202e} \\u{1b}[31m"
        );
    }
}
