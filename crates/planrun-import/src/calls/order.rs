//! Sorts calls topologically by their dependencies.

/// The order of calls, and the cycles that were broken for it.
pub struct Order {
    pub order: Vec<usize>,
    /// Each is a path from a call back to itself.
    pub cycles: Vec<Vec<usize>>,
}

/// Sorts the calls so that each comes after those that it needs, and otherwise in document order.
pub fn ordered(needs: &[Vec<usize>]) -> Order {
    let mut state = vec![State::Open; needs.len()];
    let mut found = Order {
        order: Vec::new(),
        cycles: Vec::new(),
    };
    for start in 0..needs.len() {
        visit(start, needs, &mut state, &mut found);
    }
    found
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Open,
    Begun,
    Done,
}

/// Visits a call and the calls that it needs. This is iterative, since chains in documents may be long.
fn visit(start: usize, needs: &[Vec<usize>], state: &mut [State], found: &mut Order) {
    let mut path = vec![(start, 0)];
    while let Some((call, next)) = path.pop() {
        if next == 0 {
            match state.get_mut(call) {
                Some(state) if *state == State::Open => *state = State::Begun,
                _ => continue,
            }
        }
        let needed = needs.get(call).and_then(|needs| needs.get(next)).copied();
        let Some(needed) = needed else {
            if let Some(state) = state.get_mut(call) {
                *state = State::Done;
            }
            found.order.push(call);
            continue;
        };
        path.push((call, next + 1));
        match state.get(needed) {
            Some(State::Open) => path.push((needed, 0)),
            Some(State::Begun) => {
                let begun = path.iter().map(|(call, _)| *call);
                let mut cycle: Vec<usize> = begun.skip_while(|call| *call != needed).collect();
                cycle.push(needed);
                found.cycles.push(cycle);
            }
            Some(State::Done) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_stand_behind_what_they_need_and_circles_are_paths() {
        let straight = ordered(&[vec![2], vec![], vec![1]]);
        assert_eq!((straight.order, straight.cycles.len()), (vec![1, 2, 0], 0));
        let round = ordered(&[vec![1], vec![2], vec![0], vec![3]]);
        assert_eq!(round.cycles, [vec![0, 1, 2, 0], vec![3, 3]]);
        assert_eq!(round.order, [2, 1, 0, 3]);
        let long: Vec<Vec<usize>> = (0..100_000).map(|call| vec![call + 1]).collect();
        assert_eq!(ordered(&long).order.len(), 100_000);
    }
}
