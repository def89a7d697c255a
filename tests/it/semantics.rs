//! The rules of what a plan means, one test a rule.
