"""Which system is preferred: `answer` computes it by the ranks of `ranking` and the models of `models`, `showing` says,
draws and asks it."""
