//! 599 plans that others wrote, as text, and their mutations.
