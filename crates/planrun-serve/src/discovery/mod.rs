//! What tools and plans there are, told in the few words that a model can afford.
