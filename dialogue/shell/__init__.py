"""What every command shares: its face, its words, its line of progress, Ctrl-C, and what the machine lacks."""
