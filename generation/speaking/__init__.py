"""What a model speaks: replies as people gave them, or the turns of an agent that believes, asks and answers."""
