"""The same dialogues told otherwise: user turns with typos, more or fewer words, speech errors, unseen entities."""
