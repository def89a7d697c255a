//! `planrun run`: from text to reply.
