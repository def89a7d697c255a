//! Renders drawings as SVG with linked libraries, so that no other program is needed.

mod label;

use std::collections::HashSet;

use svg::Document;
use svg::node::element::path::{Data, Parameters};
use svg::node::element::{Definitions, Group, Marker, Path, Rectangle, Style, Text, Title};

use super::layout::Point;
use super::nest::{Nested, Spot, nest};
use super::{Drawing, DrawnEdge, DrawnNode, EdgeKind, NodeKind};
use crate::diag::render::visible_text;
use label::{Heading, Label};

/// Maximum number of boxes; a larger picture is not readable.
const MAX_NODES: usize = 1000;
/// Maximum number of boxes and of crossings of arrows with layers and with the middles between layers. Keeps the layout
/// time within seconds.
const MAX_PLACES: usize = 6000;
/// Height of the legend, in pixels.
const KEY_HEIGHT: f64 = 28.0;
/// Width of an entry in the legend, in pixels.
const KEY_WIDTH: f64 = 92.0;
/// Maximum number of arrows at one side for which a box is widened, and the width per arrow in pixels.
const MAX_ENDS: usize = 20;
const END_WIDTH: f64 = 12.0;
/// Space between text and border, in pixels.
const PADDING: f64 = 9.0;

/// The plan is too large for a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{nodes} nodes and {edges} edges are too many for an SVG picture; use `--format dot` and Graphviz instead"
)]
pub struct TooLarge {
    pub nodes: usize,
    pub edges: usize,
}

/// Renders the drawing as SVG.
///
/// # Errors
/// [`TooLarge`] if the picture would not be readable.
pub fn svg(drawing: &Drawing) -> Result<String, TooLarge> {
    let edges = visible_edges(drawing);
    let too_large = TooLarge {
        nodes: drawing.nodes.len(),
        edges: edges.len(),
    };
    if drawing.nodes.len() > MAX_NODES {
        return Err(too_large);
    }
    let mut inside = drawing.inside();
    inside.pop();
    let labels: Vec<_> = drawing
        .nodes
        .iter()
        .zip(&inside)
        .map(|(node, inside)| Label::of(node, !inside.is_empty()))
        .collect();
    let mut heads: Vec<_> = labels.iter().map(Label::size).collect();
    make_room_for_ends(&edges, &inside, &mut heads);
    let picture = nest(drawing, &edges, &heads, MAX_PLACES).ok_or(too_large)?;
    let heading = Heading::of(drawing);
    let mut document = page(drawing, &heading, &edges, &picture);
    let mut all = Group::new().set(
        "transform",
        format!("translate(0 {})", tenths(heading.height())),
    );
    for (place, node) in drawing
        .nodes
        .iter()
        .enumerate()
        .filter(|(place, _)| !inside[*place].is_empty())
    {
        all = all.add(border(node, picture.spots[place]));
    }
    for (edge, path) in edges
        .iter()
        .zip(&picture.paths)
        .filter(|(_, path)| !path.is_empty())
    {
        all = all.add(arrow(edge.kind, path));
    }
    for (place, node) in drawing.nodes.iter().enumerate() {
        let mut group = Group::new().add(Title::new(xml_text(&format!(
            "{} {}",
            node.kind.name(),
            node.id
        ))));
        if inside[place].is_empty() {
            group = group.add(border(node, picture.spots[place]));
        }
        all = all.add(labels[place].write(group, picture.spots[place]));
    }
    document = document.add(all);
    Ok(format!("{document}\n"))
}

/// Returns the arrows to draw. A guard is left out if the condition reads a node that the statement reads too, and the
/// order is left out if the nodes are connected otherwise.
fn visible_edges(drawing: &Drawing) -> Vec<DrawnEdge> {
    let edges = drawing.edges.iter().copied();
    let kinds: HashSet<_> = edges
        .clone()
        .map(|edge| (edge.from, edge.to, edge.kind))
        .collect();
    let tied = |edge: &DrawnEdge, kinds_before: &[EdgeKind]| {
        kinds_before
            .iter()
            .any(|kind| kinds.contains(&(edge.from, edge.to, *kind)))
    };
    let is_visible = |edge: &DrawnEdge| match edge.kind {
        EdgeKind::Data | EdgeKind::After | EdgeKind::Listener => true,
        EdgeKind::Guard => !tied(edge, &[EdgeKind::Data]),
        EdgeKind::Order => !tied(
            edge,
            &[
                EdgeKind::Data,
                EdgeKind::After,
                EdgeKind::Guard,
                EdgeKind::Listener,
            ],
        ),
    };
    edges.filter(is_visible).collect()
}

/// Widens boxes at which many arrows end, up to a limit.
fn make_room_for_ends(edges: &[DrawnEdge], inside: &[Vec<usize>], sizes: &mut [(f64, f64)]) {
    let (mut leaving, mut arriving) = (vec![0_usize; sizes.len()], vec![0_usize; sizes.len()]);
    for edge in edges {
        leaving[edge.from] += 1;
        arriving[edge.to] += 1;
    }
    for (place, (width, _)) in sizes
        .iter_mut()
        .enumerate()
        .filter(|(place, _)| inside[*place].is_empty())
    {
        *width = width.max(pixels(
            leaving[place].max(arriving[place]).min(MAX_ENDS),
            END_WIDTH,
        ));
    }
}

fn page(drawing: &Drawing, heading: &Heading, edges: &[DrawnEdge], picture: &Nested) -> Document {
    let kinds: Vec<_> = EdgeKind::ALL
        .into_iter()
        .filter(|kind| edges.iter().any(|edge| edge.kind == *kind))
        .collect();
    let marked: Vec<_> = kinds
        .iter()
        .copied()
        .filter(|kind| !kind.mark().is_empty())
        .collect();
    let key_height = if marked.is_empty() { 0.0 } else { KEY_HEIGHT };
    let width = picture
        .size
        .x
        .max(pixels(marked.len(), KEY_WIDTH) + PADDING)
        .max(heading.width())
        .ceil();
    let bottom = heading.height() + picture.size.y;
    let height = (bottom + key_height).ceil();
    let style = "text { font: 13px monospace; fill: #1b1f24; text-anchor: middle } .name { font-weight: bold } \
                 .small { font-size: 10px; fill: #57606a } .frame { text-anchor: start; paint-order: stroke; \
                 stroke: #ffffff; stroke-width: 4px; stroke-linejoin: round } path { fill: none }";
    let tips = kinds
        .iter()
        .fold(Definitions::new(), |tips, kind| tips.add(tip(*kind)));
    let mut document = Document::new()
        .set("width", width)
        .set("height", height)
        .set("viewBox", format!("0 0 {width} {height}"))
        .add(Title::new(xml_text(&drawing.plan)))
        .add(Style::new(style))
        .add(tips)
        .add(
            Rectangle::new()
                .set("width", "100%")
                .set("height", "100%")
                .set("fill", "white"),
        );
    document = document.add(heading.write());
    for (index, kind) in marked.into_iter().enumerate() {
        let start = Point {
            x: pixels(index, KEY_WIDTH) + PADDING,
            y: bottom + KEY_HEIGHT / 2.0 - 4.0,
        };
        let data = Data::new().move_to(pair(start)).line_to(pair(Point {
            x: start.x + 34.0,
            ..start
        }));
        let word = Text::new(kind.mark())
            .set("class", "small")
            .set("style", "text-anchor: start");
        document = document.add(line(kind, data)).add(
            word.set("x", tenths(start.x + 40.0))
                .set("y", tenths(start.y + 3.5)),
        );
    }
    document
}

/// Creates the arrowhead for a kind of arrow, in its color.
fn tip(kind: EdgeKind) -> Marker {
    let head = Data::new()
        .move_to((0, 0))
        .line_to((8, 4))
        .line_to((0, 8))
        .close();
    Marker::new()
        .set("id", format!("tip-{}", word(kind)))
        .set("markerWidth", 8)
        .set("markerHeight", 8)
        .set("markerUnits", "userSpaceOnUse")
        .set("refX", 7)
        .set("refY", 4)
        .set("orient", "auto")
        .add(
            Path::new()
                .set("d", head)
                .set("style", format!("fill: {}", stroke(kind).0)),
        )
}

fn border(node: &DrawnNode, Spot { corner, size }: Spot) -> Rectangle {
    let (fill, border, round) = box_style(node.kind);
    let frame = Rectangle::new()
        .set("x", tenths(corner.x))
        .set("y", tenths(corner.y))
        .set("width", tenths(size.x))
        .set("height", tenths(size.y))
        .set("rx", round)
        .set("fill", fill)
        .set("stroke", border);
    if matches!(node.kind, NodeKind::Plan) {
        frame.set("stroke-width", 2)
    } else {
        frame
    }
}

/// Draws a line through points: straight down if the next point is below, otherwise as a curve with vertical ends.
fn arrow(kind: EdgeKind, path: &[Point]) -> Path {
    let mut data = Data::new();
    if let Some((first, rest)) = path.split_first() {
        data = data.move_to(pair(*first));
        let mut last = *first;
        for point in rest {
            if (last.x - point.x).abs() < 0.05 {
                data = data.line_to(pair(*point));
            } else {
                let half = f64::midpoint(last.y, point.y);
                data = data.cubic_curve_to(curve([
                    Point { y: half, ..last },
                    Point { y: half, ..*point },
                    *point,
                ]));
            }
            last = *point;
        }
    }
    line(kind, data)
}

/// Draws a path in the style of its kind.
fn line(kind: EdgeKind, data: Data) -> Path {
    let (colour, dashes, width) = stroke(kind);
    let mut path = Path::new()
        .set("d", data)
        .set("stroke", colour)
        .set("stroke-width", width);
    if !dashes.is_empty() {
        path = path.set("stroke-dasharray", dashes);
    }
    path.set("marker-end", format!("url(#tip-{})", word(kind)))
        .add(Title::new(word(kind)))
}

/// Returns the word for a kind of arrow.
const fn word(kind: EdgeKind) -> &'static str {
    if matches!(kind, EdgeKind::Data) {
        "data"
    } else {
        kind.mark()
    }
}

/// Returns the color, dashes and width in pixels of an arrow.
const fn stroke(kind: EdgeKind) -> (&'static str, &'static str, f32) {
    match kind {
        EdgeKind::Data => ("#57606a", "", 1.2),
        EdgeKind::After => ("#1a7f37", "9 3", 1.2),
        EdgeKind::Guard => ("#9a6700", "5 4", 1.2),
        EdgeKind::Listener => ("#0969da", "", 2.0),
        EdgeKind::Order => ("#8c959f", "1.5 4", 1.5),
    }
}

/// Returns the fill, border and corner radius of a box.
const fn box_style(kind: NodeKind) -> (&'static str, &'static str, u8) {
    match kind {
        NodeKind::Step => ("#f6f8fa", "#57606a", 4),
        NodeKind::Plan => ("#fbfcfd", "#24292f", 4),
        NodeKind::Do | NodeKind::Each | NodeKind::Repeat => ("#f3f5f7", "#24292f", 6),
        NodeKind::Parallel | NodeKind::Race => ("#f0f6ff", "#218bff", 6),
        NodeKind::If | NodeKind::Match => ("#fffdf0", "#9a6700", 6),
        NodeKind::Arm => ("#ffffff", "#d4a72c", 6),
        NodeKind::Recover | NodeKind::Undo => ("#fff5f4", "#cf222e", 6),
        NodeKind::Ask | NodeKind::Input | NodeKind::Wait | NodeKind::Ensure => {
            ("#fff8c5", "#9a6700", 4)
        }
        NodeKind::Let => ("#ffffff", "#d0d7de", 12),
        NodeKind::Task | NodeKind::Set => ("#ddf4ff", "#0969da", 4),
        NodeKind::Listener => ("#fbefff", "#8250df", 12),
        NodeKind::Fail => ("#ffebe9", "#cf222e", 4),
        NodeKind::Yield | NodeKind::Next | NodeKind::Reply => ("#dafbe1", "#1a7f37", 12),
    }
}

/// Escapes control and invisible characters, some of which XML 1.0 forbids; the library escapes the rest.
fn xml_text(text: &str) -> String {
    visible_text(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

/// Formats a number with one decimal place, to keep files short.
fn tenths(number: f64) -> String {
    format!("{number:.1}")
}

fn pair(point: Point) -> Parameters {
    curve([point])
}

/// Formats coordinates as parameters with one decimal place.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the library takes f32, which is exact enough for pixels"
)]
fn curve<const POINTS: usize>(points: [Point; POINTS]) -> Parameters {
    let numbers = points.iter().flat_map(|point| [point.x, point.y]);
    Parameters::from(
        numbers
            .map(|number| ((number * 10.0).round() / 10.0) as f32)
            .collect::<Vec<_>>(),
    )
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a box has few lines and columns"
)]
fn pixels(count: usize, each: f64) -> f64 {
    count as f64 * each
}
