"""The verbs that need more than one package: they run the commands of each."""
