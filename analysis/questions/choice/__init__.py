"""How often people and models pick what was really said next."""
