//! SVG, laid out here: no other program is needed to look at a plan.

use std::collections::HashSet;
use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

use super::layout::{Layout, Point, layout};
use super::{Drawing, DrawnNode, EdgeKind, Link, NodeKind};
use crate::diag::render::visible_text;

/// Boxes beyond this are a picture that nobody reads.
const MOST_NODES: usize = 1000;
/// Boxes and crossings of arrows with layers; keeps the layout within a second.
const MOST_PLACES: usize = 20_000;
/// Characters of a line in a box.
const MOST_OF_A_LINE: usize = 60;
/// Lines in a box.
const MOST_LINES: usize = 6;
/// Pixels of a column of the 13 pixel fixed-width letters.
const COLUMN: f64 = 7.9;
/// Pixels from line to line.
const LINE: f64 = 17.0;
/// Pixels between text and border.
const PADDING: f64 = 9.0;

/// The plan is too large for a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{nodes} nodes and {edges} edges are too many for an SVG picture; use `--format dot` and Graphviz instead")]
pub struct TooLarge {
    pub nodes: usize,
    pub edges: usize,
}

/// The drawing as a picture.
///
/// # Errors
/// [`TooLarge`] where nobody could read the picture.
pub fn svg(drawing: &Drawing) -> Result<String, TooLarge> {
    let links = shown_links(drawing);
    let too_large = TooLarge { nodes: drawing.nodes.len(), edges: links.len() };
    if drawing.nodes.len() > MOST_NODES {
        return Err(too_large);
    }
    let texts: Vec<_> = drawing.nodes.iter().map(text_of).collect();
    let sizes: Vec<_> = texts.iter().map(|lines| size_of(lines)).collect();
    let ends: Vec<_> = links.iter().map(|link| (link.from, link.to)).collect();
    let layout = layout(&sizes, &ends, MOST_PLACES).ok_or(too_large)?;
    let mut out = head(&drawing.plan, &layout);
    for (index, link) in links.iter().enumerate() {
        let path = layout.paths.get(index).map_or(&[][..], Vec::as_slice);
        let place = layout.middles.get(link.from).zip(sizes.get(link.from));
        push_arrow(&mut out, link.kind, path, place);
    }
    for (index, node) in drawing.nodes.iter().enumerate() {
        if let (Some(middle), Some(size), Some(lines)) = (layout.middles.get(index), sizes.get(index), texts.get(index))
        {
            push_box(&mut out, node, *middle, *size, lines);
        }
    }
    out.push_str("</svg>\n");
    Ok(out)
}

/// The arrows: where two nodes are tied by more than their order, the order goes without saying.
fn shown_links(drawing: &Drawing) -> Vec<Link> {
    let links = drawing.links();
    let tied: HashSet<_> =
        links.iter().filter(|link| link.kind != EdgeKind::Order).map(|link| (link.from, link.to)).collect();
    links.into_iter().filter(|link| link.kind != EdgeKind::Order || !tied.contains(&(link.from, link.to))).collect()
}

fn head(plan: &str, layout: &Layout) -> String {
    let Point { x, y } = layout.size;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{x:.0}\" height=\"{y:.0}\" viewBox=\"0 0 {x:.0} {y:.0}\">\n\
         <title>{}</title>\n\
         <style>text {{ font: 13px monospace; fill: #1b1f24; text-anchor: middle }} \
         .small {{ font-size: 10px; fill: #57606a }} path {{ fill: none }}</style>\n\
         <defs><marker id=\"tip\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"4\" orient=\"auto\">\
         <path d=\"M0 0 L8 4 L0 8 z\" style=\"fill: #57606a\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        escaped(plan)
    )
}

/// The lines of a box, each with the word of what it is where that is not a step, cut to a bounded size.
fn text_of(node: &DrawnNode) -> Vec<String> {
    let lines = visible_text(&node.label);
    let cut = |line: &str| match line.char_indices().nth(MOST_OF_A_LINE) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or(line)),
        None => line.to_owned(),
    };
    lines.lines().take(MOST_LINES).map(cut).collect()
}

fn size_of(lines: &[String]) -> (f64, f64) {
    let columns = lines.iter().map(|line| line.width()).max().unwrap_or(0);
    (pixels(columns.max(4), COLUMN) + 2.0 * PADDING, pixels(lines.len().max(1), LINE) + 2.0 * PADDING)
}

fn push_box(out: &mut String, node: &DrawnNode, middle: Point, (width, height): (f64, f64), lines: &[String]) {
    let (left, top) = (middle.x - width / 2.0, middle.y - height / 2.0);
    let (fill, border, round) = look(node.kind);
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<g><title>{} {}</title><rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
         rx=\"{round}\" fill=\"{fill}\" stroke=\"{border}\"/>",
        node.kind.name(),
        escaped(&node.id)
    );
    if let Some(group) = &node.group {
        let _ = writeln!(
            out,
            "<text class=\"small\" x=\"{:.1}\" y=\"{:.1}\">in {}</text>",
            middle.x,
            top - 4.0,
            escaped(group)
        );
    }
    for (index, line) in lines.iter().enumerate() {
        let y = top + PADDING + pixels(index, LINE) + 12.5;
        let _ = writeln!(out, "<text x=\"{:.1}\" y=\"{y:.1}\">{}</text>", middle.x, escaped(line));
    }
    out.push_str("</g>\n");
}

fn push_arrow(out: &mut String, kind: EdgeKind, path: &[Point], place: Option<(&Point, &(f64, f64))>) {
    let mut line = String::new();
    if let Some((first, rest)) = path.split_first() {
        let _ = write!(line, "M{:.1} {:.1}", first.x, first.y);
        let mut last = *first;
        for point in rest {
            let half = f64::midpoint(last.y, point.y);
            let _ = write!(line, " C{:.1} {half:.1} {:.1} {half:.1} {:.1} {:.1}", last.x, point.x, point.x, point.y);
            last = *point;
        }
    } else if let Some((middle, (width, _))) = place {
        // From a box to itself: a loop at its right side.
        let right = middle.x + width / 2.0;
        let (up, down, out) = (middle.y - 8.0, middle.y + 8.0, right + 24.0);
        let _ = write!(line, "M{right:.1} {up:.1} C{out:.1} {up:.1} {out:.1} {down:.1} {right:.1} {down:.1}");
    }
    let style = match kind {
        EdgeKind::Data => "stroke=\"#57606a\"",
        EdgeKind::After => "stroke=\"#57606a\" stroke-dasharray=\"9 3\"",
        EdgeKind::Guard => "stroke=\"#9a6700\" stroke-dasharray=\"5 4\"",
        EdgeKind::Listener => "stroke=\"#0969da\" stroke-width=\"2\"",
        EdgeKind::Order => "stroke=\"#8c959f\" stroke-dasharray=\"1 4\"",
    };
    let title = if kind == EdgeKind::Data { "data" } else { kind.mark() };
    let _ = writeln!(out, "<path d=\"{line}\" {style} marker-end=\"url(#tip)\"><title>{title}</title></path>");
}

/// Fill, border and corner radius of a box.
const fn look(kind: NodeKind) -> (&'static str, &'static str, u8) {
    match kind {
        NodeKind::Step => ("#f6f8fa", "#57606a", 4),
        NodeKind::Block => ("#eaeef2", "#24292f", 4),
        NodeKind::Wait => ("#fff8c5", "#9a6700", 4),
        NodeKind::Let => ("#ffffff", "#d0d7de", 12),
        NodeKind::Task | NodeKind::Set => ("#ddf4ff", "#0969da", 4),
        NodeKind::Listener => ("#fbefff", "#8250df", 12),
        NodeKind::Ensure => ("#fff8c5", "#9a6700", 12),
        NodeKind::Fail => ("#ffebe9", "#cf222e", 4),
        NodeKind::Yield | NodeKind::Reply => ("#dafbe1", "#1a7f37", 12),
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in visible_text(text).chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // The two that XML 1.0 forbids beside controls.
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            plain => out.push(plain),
        }
    }
    out
}

#[expect(clippy::cast_precision_loss, reason = "a box has few lines and columns")]
fn pixels(count: usize, each: f64) -> f64 {
    count as f64 * each
}
