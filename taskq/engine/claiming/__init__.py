"""What is claimed, how much of it, and what goes back unstarted."""
