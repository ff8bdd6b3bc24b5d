"""Readers for MultiWOZ and PersonaChat, and a generator of toy corpora in their schema."""
