"""What other tools' tables of judgements mean: which form a table has, and which response every answer stands for."""
