"""How an attempt runs: its slot, its limits, its end."""
