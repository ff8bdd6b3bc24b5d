"""What is fitted to states."""
