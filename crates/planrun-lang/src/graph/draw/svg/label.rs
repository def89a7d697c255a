//! Lays out and writes the text of boxes and frames.

use svg::node::element::{Group, Text};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{PADDING, Spot, pixels, tenths, xml_text};
use crate::graph::draw::{Drawing, DrawnNode, NodeKind};

/// Maximum number of columns of a name or a detail.
const MAX_LINE_COLUMNS: usize = 48;
/// Maximum number of columns of a clause.
const MAX_MARK_COLUMNS: usize = 56;
/// Maximum number of lines of clauses in a box.
const MAX_MARKS: usize = 8;
/// Width of a column in the 13 pixel monospace font, in pixels.
const COLUMN: f64 = 7.9;
/// Width of a column in the 10 pixel font of clauses, in pixels.
const SMALL_COLUMN: f64 = 6.1;
/// Height of a line, in pixels.
const LINE: f64 = 17.0;
const SMALL_LINE: f64 = 13.0;

/// The text of a box or the heading of a frame.
pub(super) struct Label {
    /// The name, and in a box the detail below it. A frame has the detail in `behind`, next to the name.
    lines: Vec<String>,
    behind: String,
    /// The clauses, wrapped into lines.
    marks: Vec<String>,
    is_frame: bool,
    /// Whether it is the label of an arm, which usually is a condition or a pattern rather than a name.
    is_plain: bool,
}

impl Label {
    /// Creates the text of a node, cut to a limited size.
    pub fn of(node: &DrawnNode, is_frame: bool) -> Self {
        let (name, detail) = (xml_text(&node.label), xml_text(&node.detail));
        let marks: Vec<String> = node.marks.iter().map(|mark| xml_text(mark)).collect();
        let mut lines = vec![cut(&name, MAX_LINE_COLUMNS)];
        let mut behind = String::new();
        if is_frame {
            let room = MAX_LINE_COLUMNS + 12 - lines[0].width().min(MAX_LINE_COLUMNS);
            behind = cut(&detail, room);
        } else if !detail.is_empty() {
            lines.extend(wrapped(&detail, MAX_LINE_COLUMNS, 2));
        }
        let mut marks = if is_frame {
            side_by_side(&marks, MAX_MARK_COLUMNS)
        } else {
            marks
                .iter()
                .flat_map(|mark| wrapped(mark, MAX_MARK_COLUMNS, 3))
                .collect()
        };
        if marks.len() > MAX_MARKS {
            marks.truncate(MAX_MARKS);
            marks.push("…".to_owned());
        }
        Self {
            lines,
            behind,
            marks,
            is_frame,
            is_plain: node.kind == NodeKind::Arm,
        }
    }

    /// Returns the width and height including padding.
    pub fn size(&self) -> (f64, f64) {
        let behind = if self.behind.is_empty() {
            0
        } else {
            1 + self.behind.width()
        };
        let widest = self
            .lines
            .iter()
            .map(|line| line.width())
            .max()
            .unwrap_or(0)
            + behind;
        let width = pixels(widest.max(4), COLUMN).max(marks_width(&self.marks)) + 2.0 * PADDING;
        let text = pixels(self.lines.len(), LINE) + pixels(self.marks.len(), SMALL_LINE);
        let below = if self.is_frame { 0.0 } else { PADDING };
        (width, PADDING + text + below)
    }

    /// Writes the text at the position of the box.
    pub fn write(&self, mut group: Group, Spot { corner, size }: Spot) -> Group {
        let middle = corner.x + size.x / 2.0;
        let x = if self.is_frame {
            corner.x + PADDING
        } else {
            middle
        };
        let mut y = corner.y + PADDING + 12.5;
        let placed = |text: &str, class: &str, x: f64, y: f64| {
            let text = Text::new(text).set("x", tenths(x)).set("y", tenths(y));
            match (self.is_frame, class) {
                (true, "") => text.set("class", "frame"),
                (true, class) => text.set("class", format!("frame {class}")),
                (false, "") => text,
                (false, class) => text.set("class", class),
            }
        };
        if !self.behind.is_empty() {
            let name = self.lines.first().map_or(0, |name| name.width());
            group = group.add(placed(&self.behind, "", x + pixels(name + 1, COLUMN), y));
        }
        for (index, line) in self.lines.iter().enumerate() {
            let class = if index == 0 && !self.is_plain {
                "name"
            } else {
                ""
            };
            group = group.add(placed(line, class, x, y));
            y += LINE;
        }
        y -= 3.0;
        for mark in &self.marks {
            group = group.add(placed(mark, "small", x, y));
            y += SMALL_LINE;
        }
        group
    }
}

/// The name of the plan and the settings that apply to all of it, at the top of the picture.
pub(super) struct Heading {
    name: String,
    marks: Vec<String>,
}

impl Heading {
    pub fn of(drawing: &Drawing) -> Self {
        let name = if drawing.plan.is_empty() {
            String::new()
        } else {
            format!("plan {}", xml_text(&drawing.plan))
        };
        let marks: Vec<String> = drawing.marks.iter().map(|mark| xml_text(mark)).collect();
        Self {
            name: cut(&name, MAX_LINE_COLUMNS),
            marks: side_by_side(&marks, MAX_MARK_COLUMNS),
        }
    }

    pub fn width(&self) -> f64 {
        pixels(self.name.width(), COLUMN).max(marks_width(&self.marks)) + 4.0 * PADDING
    }

    pub fn height(&self) -> f64 {
        let name = if self.name.is_empty() {
            0.0
        } else {
            LINE + PADDING
        };
        name + pixels(self.marks.len(), SMALL_LINE)
    }

    pub fn write(&self) -> Group {
        let text = |text: &str, class: &str, y: f64| {
            let x = tenths(2.0 * PADDING);
            Text::new(text)
                .set("class", class)
                .set("style", "text-anchor: start")
                .set("x", x)
                .set("y", tenths(y))
        };
        let mut group = Group::new();
        if !self.name.is_empty() {
            group = group.add(text(&self.name, "name", PADDING + 12.5));
        }
        for (index, mark) in self.marks.iter().enumerate() {
            group = group.add(text(
                mark,
                "small",
                PADDING + 12.5 + pixels(index + 1, SMALL_LINE),
            ));
        }
        group
    }
}

fn marks_width(marks: &[String]) -> f64 {
    let widths = marks.iter().map(|mark| pixels(mark.width(), SMALL_COLUMN));
    widths.fold(0.0, f64::max)
}

/// Joins short texts into as few lines as possible.
fn side_by_side(texts: &[String], columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for text in texts {
        match lines.last_mut() {
            Some(line) if line.width() + 3 + text.width() <= columns => {
                line.push_str(" · ");
                line.push_str(text);
            }
            _ => lines.extend(wrapped(text, columns, 3)),
        }
    }
    lines
}

/// Wraps a text between words into at most `max` lines; the last line is cut.
fn wrapped(text: &str, columns: usize, max: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        if lines.len() + 1 >= max || rest.width() <= columns {
            lines.push(cut(rest, columns));
            break;
        }
        let mut used = 0;
        let mut fits = |letter: char| {
            used += letter.width().unwrap_or(0);
            used <= columns
        };
        let end = rest
            .char_indices()
            .find(|(_, letter)| !fits(*letter))
            .map_or(rest.len(), |(end, _)| end);
        // A word that fills a line by itself, or a script without spaces, is broken at the end of the line.
        let head = rest.get(..end).unwrap_or(rest);
        let end = head
            .rfind(' ')
            .filter(|space| *space > end / 2)
            .unwrap_or(end);
        let (line, below) = rest.split_at_checked(end).unwrap_or((rest, ""));
        lines.push(line.trim_end().to_owned());
        rest = below.trim_start();
    }
    lines
}

/// Cuts a text to this number of columns; wide characters count as two.
fn cut(text: &str, columns: usize) -> String {
    let text = text.replace('\n', " ");
    if text.width() <= columns {
        return text;
    }
    let mut used = 0;
    let fits = |letter: &char| {
        used += letter.width().unwrap_or(0);
        used < columns
    };
    let kept: String = text.chars().take_while(fits).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d6_wide_letters_count_twice_and_no_line_is_wider_than_it_may_be() {
        let text = "confirm \"发布 ${版本} 到正式环境，通知所有客户，并在公告栏发布更新说明吗？\" by \"发布经理\" expires 2d";
        for columns in [12, 20, 33, 56] {
            let lines = wrapped(text, columns, 3);
            assert!(
                lines.len() <= 3 && lines.iter().all(|line| line.width() <= columns),
                "{columns}: {lines:?}"
            );
        }
        assert_eq!(cut("地区名称", 8), "地区名称");
        assert_eq!(cut("地区名称", 7), "地区名…");
        assert_eq!(
            wrapped(text, 56, 9).concat().replace(' ', ""),
            text.replace(' ', "")
        );
        assert_eq!(wrapped("a bb ccc", 4, 3), ["a bb", "ccc"]);
        assert_eq!(
            side_by_side(&["max 2".into(), "parallel 2".into(), "settle".into()], 18),
            ["max 2 · parallel 2", "settle"]
        );
    }
}
