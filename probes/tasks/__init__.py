"""The probe tasks of the papers, one file a family."""
