"""Next-utterance choice: questions are drawn or brought, and models and simple rules answer them."""
