//! The house rules that tests can hold: rows, opening sentences, sizes.
