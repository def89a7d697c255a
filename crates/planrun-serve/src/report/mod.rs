//! What was found in a plan and what became of its run, told in the few words that a model can afford.
