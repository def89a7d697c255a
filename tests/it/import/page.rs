//! The page about imports, written from what the importer knows.
