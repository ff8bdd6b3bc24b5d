"""What the user brings becomes typed columns."""
