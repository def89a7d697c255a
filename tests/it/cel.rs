//! The conformance cases of the Common Expression Language, read in place.
