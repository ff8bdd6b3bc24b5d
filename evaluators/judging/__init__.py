"""A language model as judge of pairs: what it is asked, how its replies are read, whose verdicts come along."""
