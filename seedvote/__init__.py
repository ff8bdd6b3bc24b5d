"""The face of the house: three verbs in front, every command of every package behind them."""
