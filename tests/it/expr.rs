//! Expressions: typing, narrowing, evaluation, and `planrun eval`.
