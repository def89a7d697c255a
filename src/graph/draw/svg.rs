//! SVG, drawn by libraries linked in: no other program is needed to look at a plan.

use std::collections::HashSet;

use svg::Document;
use svg::node::element::path::{Data, Parameters};
use svg::node::element::{Definitions, Group, Marker, Path, Rectangle, Style, Text, Title};
use unicode_width::UnicodeWidthStr;

use super::layout::{Layout, Point, layout};
use super::{Drawing, DrawnNode, EdgeKind, Link, NodeKind};
use crate::diag::render::visible_text;

/// Boxes beyond this are a picture that nobody reads.
const MOST_NODES: usize = 1000;
/// Boxes, and crossings of arrows with layers and their middles; keeps the layout within seconds.
const MOST_PLACES: usize = 6000;
/// Characters of a line in a box.
const MOST_OF_A_LINE: usize = 60;
/// Lines in a box.
const MOST_LINES: usize = 6;
/// Pixels of a column of the 13 pixel fixed-width letters.
const COLUMN: f64 = 7.9;
/// Pixels of a column of the 10 pixel letters that name the block of a box.
const SMALL_COLUMN: f64 = 6.1;
/// Pixels that the name of the block takes.
const GROUP_LINE: f64 = 13.0;
/// Height of the row that says what the arrows mean.
const KEY_HEIGHT: f64 = 28.0;
/// Width of an arrow with its word in that row.
const KEY_WIDTH: f64 = 92.0;
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
    let sizes: Vec<_> = texts.iter().map(BoxText::size).collect();
    let ends: Vec<_> = links.iter().map(|link| (link.from, link.to)).collect();
    let layout = layout(&sizes, &ends, MOST_PLACES).ok_or(too_large)?;
    let mut document = page(&drawing.plan, &links, &layout);
    for (link, path) in links.iter().zip(&layout.paths) {
        document = document.add(arrow(link.kind, path, layout.middles[link.from], sizes[link.from]));
    }
    for (index, node) in drawing.nodes.iter().enumerate() {
        document = document.add(boxed(node, layout.middles[index], sizes[index], &texts[index]));
    }
    Ok(format!("{document}\n"))
}

/// The arrows: where two nodes are tied by more than their order, the order goes without saying.
fn shown_links(drawing: &Drawing) -> Vec<Link> {
    let links = drawing.links();
    let tied: HashSet<_> =
        links.iter().filter(|link| link.kind != EdgeKind::Order).map(|link| (link.from, link.to)).collect();
    links.into_iter().filter(|link| link.kind != EdgeKind::Order || !tied.contains(&(link.from, link.to))).collect()
}

fn page(plan: &str, links: &[Link], layout: &Layout) -> Document {
    let kinds: Vec<_> = EdgeKind::ALL.into_iter().filter(|kind| links.iter().any(|link| link.kind == *kind)).collect();
    let marked: Vec<_> = kinds.iter().copied().filter(|kind| !kind.mark().is_empty()).collect();
    let key_height = if marked.is_empty() { 0.0 } else { KEY_HEIGHT };
    let width = layout.size.x.max(pixels(marked.len(), KEY_WIDTH) + PADDING).ceil();
    let height = (layout.size.y + key_height).ceil();
    let style = "text { font: 13px monospace; fill: #1b1f24; text-anchor: middle } \
                 .small { font-size: 10px; fill: #57606a } path { fill: none }";
    let tips = kinds.iter().fold(Definitions::new(), |tips, kind| tips.add(tip(*kind)));
    let mut document = Document::new()
        .set("width", width)
        .set("height", height)
        .set("viewBox", format!("0 0 {width} {height}"))
        .add(Title::new(shown(plan)))
        .add(Style::new(style))
        .add(tips)
        .add(Rectangle::new().set("width", "100%").set("height", "100%").set("fill", "white"));
    for (index, kind) in marked.into_iter().enumerate() {
        let start = Point { x: pixels(index, KEY_WIDTH) + PADDING, y: layout.size.y + KEY_HEIGHT / 2.0 - 4.0 };
        let data = Data::new().move_to(pair(start)).line_to(pair(Point { x: start.x + 34.0, ..start }));
        let word = Text::new(kind.mark()).set("class", "small").set("style", "text-anchor: start");
        document =
            document.add(line(kind, data)).add(word.set("x", tenths(start.x + 40.0)).set("y", tenths(start.y + 3.5)));
    }
    document
}

/// The head of the arrows of a kind, in their colour.
fn tip(kind: EdgeKind) -> Marker {
    let head = Data::new().move_to((0, 0)).line_to((8, 4)).line_to((0, 8)).close();
    Marker::new()
        .set("id", format!("tip-{}", word(kind)))
        .set("markerWidth", 8)
        .set("markerHeight", 8)
        .set("markerUnits", "userSpaceOnUse")
        .set("refX", 7)
        .set("refY", 4)
        .set("orient", "auto")
        .add(Path::new().set("d", head).set("style", format!("fill: {}", stroke(kind).0)))
}

/// What is written in a box.
struct BoxText {
    /// The block it stands in.
    group: Option<String>,
    lines: Vec<String>,
}

/// The text of a box, cut to a bounded size.
fn text_of(node: &DrawnNode) -> BoxText {
    let cut = |line: &str| match line.char_indices().nth(MOST_OF_A_LINE) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or(line)),
        None => line.to_owned(),
    };
    let lines = shown(&node.label).lines().take(MOST_LINES).map(cut).collect();
    BoxText { group: node.group.as_ref().map(|group| cut(&format!("in {}", shown(group)))), lines }
}

impl BoxText {
    fn size(&self) -> (f64, f64) {
        let widest = self.lines.iter().map(|line| line.width()).max().unwrap_or(0);
        let group = self.group.as_ref().map_or(0.0, |group| pixels(group.width(), SMALL_COLUMN));
        let width = pixels(widest.max(4), COLUMN).max(group) + 2.0 * PADDING;
        (width, self.above() + pixels(self.lines.len().max(1), LINE) + 2.0 * PADDING)
    }

    /// The height of what stands above the lines.
    const fn above(&self) -> f64 {
        if self.group.is_some() { GROUP_LINE } else { 0.0 }
    }
}

fn boxed(node: &DrawnNode, middle: Point, (width, height): (f64, f64), text: &BoxText) -> Group {
    let (left, top) = (middle.x - width / 2.0, middle.y - height / 2.0);
    let (fill, border, round) = look(node.kind);
    let frame = Rectangle::new()
        .set("x", tenths(left))
        .set("y", tenths(top))
        .set("width", tenths(width))
        .set("height", tenths(height))
        .set("rx", round)
        .set("fill", fill)
        .set("stroke", border);
    let mut group = Group::new().add(Title::new(shown(&format!("{} {}", node.kind.name(), node.id)))).add(frame);
    let place = |text: Text, y: f64| text.set("x", tenths(middle.x)).set("y", tenths(y));
    if let Some(name) = &text.group {
        group = group.add(place(Text::new(name).set("class", "small"), top + PADDING + 7.0));
    }
    for (index, line) in text.lines.iter().enumerate() {
        let y = top + PADDING + text.above() + pixels(index, LINE) + 12.5;
        group = group.add(place(Text::new(line), y));
    }
    group
}

fn arrow(kind: EdgeKind, path: &[Point], middle: Point, (width, _): (f64, f64)) -> Path {
    let mut data = Data::new();
    if let Some((first, rest)) = path.split_first() {
        data = data.move_to(pair(*first));
        let mut last = *first;
        for point in rest {
            let half = f64::midpoint(last.y, point.y);
            data = data.cubic_curve_to(curve([Point { y: half, ..last }, Point { y: half, ..*point }, *point]));
            last = *point;
        }
    } else {
        // From a box to itself: a loop at its right side.
        let right = middle.x + width / 2.0;
        let (up, down) = (middle.y - 8.0, middle.y + 8.0);
        let out = right + 24.0;
        data = data.move_to(pair(Point { x: right, y: up })).cubic_curve_to(curve([
            Point { x: out, y: up },
            Point { x: out, y: down },
            Point { x: right, y: down },
        ]));
    }
    line(kind, data)
}

/// A path in the look of its kind.
fn line(kind: EdgeKind, data: Data) -> Path {
    let (colour, dashes, width) = stroke(kind);
    let mut path = Path::new().set("d", data).set("stroke", colour).set("stroke-width", width);
    if !dashes.is_empty() {
        path = path.set("stroke-dasharray", dashes);
    }
    path.set("marker-end", format!("url(#tip-{})", word(kind))).add(Title::new(word(kind)))
}

/// The word for a kind of arrow.
const fn word(kind: EdgeKind) -> &'static str {
    if matches!(kind, EdgeKind::Data) { "data" } else { kind.mark() }
}

/// Colour, dashes and width in pixels of an arrow.
const fn stroke(kind: EdgeKind) -> (&'static str, &'static str, f32) {
    match kind {
        EdgeKind::Data => ("#57606a", "", 1.2),
        EdgeKind::After => ("#1a7f37", "9 3", 1.2),
        EdgeKind::Guard => ("#9a6700", "5 4", 1.2),
        EdgeKind::Listener => ("#0969da", "", 2.0),
        EdgeKind::Order => ("#8c959f", "1.5 4", 1.5),
    }
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

/// Text without what XML 1.0 forbids; the library escapes the rest.
fn shown(text: &str) -> String {
    visible_text(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

/// A number with one decimal place, for short files.
fn tenths(number: f64) -> String {
    format!("{number:.1}")
}

fn pair(point: Point) -> Parameters {
    curve([point])
}

/// Coordinates as parameters, with one decimal place.
#[expect(clippy::cast_possible_truncation, reason = "the library takes f32, which is exact enough for pixels")]
fn curve<const POINTS: usize>(points: [Point; POINTS]) -> Parameters {
    let numbers = points.iter().flat_map(|point| [point.x, point.y]);
    Parameters::from(numbers.map(|number| ((number * 10.0).round() / 10.0) as f32).collect::<Vec<_>>())
}

#[expect(clippy::cast_precision_loss, reason = "a box has few lines and columns")]
fn pixels(count: usize, each: f64) -> f64 {
    count as f64 * each
}
