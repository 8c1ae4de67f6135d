"""The tests of taskq."""
