"""Trains one architecture under many seeds, samples responses, encodes states, makes pairs."""
