"""Where raters come from and how they are paid."""
