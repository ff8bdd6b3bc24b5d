"""What it costs a model when users say the same otherwise."""
