"""What machines say of dialogue models, each number beside its baselines: evaluators that need no rater."""
