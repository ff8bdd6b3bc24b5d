"""One question, one file: what it computes, what it finds, how it is shown, and the function that asks it."""
