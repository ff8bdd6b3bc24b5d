"""Systems that are compared two at a time: their strengths, the errors of these, and their ranks."""
