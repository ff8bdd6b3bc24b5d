"""What is on disk: tables, transactions, the event log, and the hashes that stand for people."""
