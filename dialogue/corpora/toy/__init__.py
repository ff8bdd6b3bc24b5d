"""The built-in corpus: generated dialogues in the form of MultiWOZ and PersonaChat, every word decided by one seed."""
