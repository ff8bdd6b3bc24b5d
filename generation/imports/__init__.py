"""Responses from elsewhere."""
