"""What the tables of other tools mean: judgements as votes, ratings and rankings; logs of evaluations as scores."""
