//! Many ranges of one file, and whether another one lies among them.

use std::ops::Range;

use super::Span;

/// Ranges of one file in the order of their beginnings. A question is answered by a search, however many there are.
#[derive(Debug, Default)]
pub struct SpanIndex {
    /// Where each begins, in order.
    starts: Vec<u32>,
    /// The furthest end up to each.
    ends: Vec<u32>,
    /// How many of them the questions have touched.
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
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Whether one begins in this range.
    #[must_use]
    pub fn any_begins_in(&self, range: Range<u32>) -> bool {
        let first = self.starts.get(self.before(range.start));
        first.is_some_and(|start| *start < range.end)
    }

    /// Whether one has a byte in common with `span`. An empty range has one where it lies inside of another.
    #[must_use]
    pub fn any_overlaps(&self, span: Span) -> bool {
        self.furthest_before(span.end)
            .is_some_and(|end| span.start < end)
    }

    /// Whether one holds all of `span`.
    #[must_use]
    pub fn any_contains(&self, span: Span) -> bool {
        self.furthest_before(span.start.saturating_add(1))
            .is_some_and(|end| span.end <= end)
    }

    /// The furthest end of those that begin before `offset`.
    fn furthest_before(&self, offset: u32) -> Option<u32> {
        let last = self.before(offset).checked_sub(1)?;
        self.ends.get(last).copied()
    }

    /// How many begin before `offset`.
    fn before(&self, offset: u32) -> usize {
        self.starts.partition_point(|start| {
            #[cfg(test)]
            self.visits
                .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            *start < offset
        })
    }

    /// How many ranges have been touched by all questions so far.
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
        // Every choice of one to three ranges, nested, touching and empty ones among them.
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
