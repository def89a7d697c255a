//! An index of byte ranges in a file, for overlap and containment queries.

use std::ops::Range;

use super::Span;

/// Ranges of one file, sorted by their start. A query is a binary search.
#[derive(Debug, Default)]
pub struct SpanIndex {
    /// The start of each range, in order.
    starts: Vec<u32>,
    /// The largest end of all ranges up to each.
    ends: Vec<u32>,
    /// Number of ranges visited by queries.
    #[cfg(test)]
    visits: std::sync::atomic::AtomicU64,
}

impl FromIterator<Span> for SpanIndex {
    fn from_iter<T: IntoIterator<Item = Span>>(spans: T) -> Self {
        let mut spans: Vec<Span> = spans.into_iter().collect();
        spans.sort_unstable();
        let furthest = |furthest: &mut u32, span: &Span| {
            *furthest = span.end.max(*furthest);
            Some(*furthest)
        };
        Self {
            starts: spans.iter().map(|span| span.start).collect(),
            ends: spans.iter().scan(0, furthest).collect(),
            #[cfg(test)]
            visits: std::sync::atomic::AtomicU64::default(),
        }
    }
}

impl SpanIndex {
    /// Returns true if there are no ranges.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Returns true if a range starts within `range`.
    #[must_use]
    pub fn any_begins_in(&self, range: Range<u32>) -> bool {
        let first = self.starts.get(self.before(range.start));
        first.is_some_and(|start| *start < range.end)
    }

    /// Returns true if a range overlaps `span`. An empty range overlaps a range that it lies strictly inside.
    #[must_use]
    pub fn any_overlaps(&self, span: Span) -> bool {
        self.furthest_before(span.end)
            .is_some_and(|end| span.start < end)
    }

    /// Returns true if a range contains all of `span`.
    #[must_use]
    pub fn any_contains(&self, span: Span) -> bool {
        self.furthest_before(span.start.saturating_add(1))
            .is_some_and(|end| span.end <= end)
    }

    /// Returns the largest end of the ranges that start before `offset`.
    fn furthest_before(&self, offset: u32) -> Option<u32> {
        let last = self.before(offset).checked_sub(1)?;
        self.ends.get(last).copied()
    }

    /// Returns the number of ranges that start before `offset`.
    fn before(&self, offset: u32) -> usize {
        self.starts.partition_point(|start| {
            #[cfg(test)]
            self.visits
                .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            *start < offset
        })
    }

    /// Returns the number of ranges visited by all queries so far.
    #[cfg(test)]
    pub(crate) fn visits(&self) -> u64 {
        self.visits.load(std::sync::atomic::Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_answers_what_a_look_at_each_would() {
        let all: Vec<Span> = (0..5)
            .flat_map(|start| (start..5).map(move |end| Span::from(start..end)))
            .collect();
        // All combinations of one to three ranges, including nested, adjacent and empty ones.
        for first in &all {
            for second in &all {
                for third in &all {
                    let held = [*first, *second, *third];
                    for spans in [&held[..1], &held[..2], &held[..]] {
                        holds(spans, &all);
                    }
                }
            }
        }
        holds(&[], &all);
    }

    fn holds(spans: &[Span], asked: &[Span]) {
        let index: SpanIndex = spans.iter().copied().collect();
        assert_eq!(index.is_empty(), spans.is_empty());
        for one in asked {
            let begins = |span: &Span| (one.start..one.end).contains(&span.start);
            let overlaps = |span: &Span| span.start < one.end && one.start < span.end;
            assert_eq!(
                [
                    index.any_begins_in(one.start..one.end),
                    index.any_overlaps(*one),
                    index.any_contains(*one),
                ],
                [
                    spans.iter().any(begins),
                    spans.iter().any(overlaps),
                    spans.iter().any(|span| span.contains(*one)),
                ],
                "{one:?} among {spans:?}"
            );
        }
    }
}
