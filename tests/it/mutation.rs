//! Single breaking edits over every plan there is: one diagnostic each, near the edit.
