"""The leaf that every package stands on: records, files, seeds, signatures, corpora, jobs. Standard library only."""
