"""What raters of the same pair share: agreement, and models of who can be trusted."""
