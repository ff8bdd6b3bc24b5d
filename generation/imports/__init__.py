"""Responses from elsewhere, as the same records that our own models give: tables, Hugging Face models, endpoints."""
