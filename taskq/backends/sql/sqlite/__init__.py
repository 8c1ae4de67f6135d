"""SQLite: one writer and one reader thread on one file."""
