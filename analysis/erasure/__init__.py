"""Does the decoder use what the encoder holds?"""
