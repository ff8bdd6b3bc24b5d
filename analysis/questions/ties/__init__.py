"""How many ties, and how sure: `answer` computes it, `showing` says, draws and asks it, `picture` is the papers'."""
