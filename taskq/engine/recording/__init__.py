"""What is written of attempts: outcomes, counts, progress."""
