"""What the command line tells of predicted seconds, and the costs behind them."""
