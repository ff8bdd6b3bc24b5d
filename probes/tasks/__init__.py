"""The probe tasks, one file a family: what is asked of a representation, as labels read from the corpus."""
