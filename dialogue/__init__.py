"""Records, files, seeds, signatures and corpora: the leaf every other package stands on (standard library only)."""
