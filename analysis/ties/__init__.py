"""How many ties, and with what certainty."""
