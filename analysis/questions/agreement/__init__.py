"""How far raters agree: `answer` computes it, `showing` says, draws and asks it."""
