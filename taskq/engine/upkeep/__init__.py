"""What any worker does for all: what is due, lost, periodic, old enough to go."""
