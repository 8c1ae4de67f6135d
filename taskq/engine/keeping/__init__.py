"""Leases kept, cancels and deadlines delivered, contact lost."""
