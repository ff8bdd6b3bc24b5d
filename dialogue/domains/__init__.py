"""What task-oriented corpora share: spellings, databases, states, and replies with placeholders."""
