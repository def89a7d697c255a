//! `planrun check`: fixtures of every code, rendering, formats.
