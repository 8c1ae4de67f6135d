"""Bulk commands: the same deed done to everything that a filter finds.

A bulk command is an activity itself, on a queue that every worker serves: it is durable, goes on
after a crash where it was, is seen and cancelled like any other. ``action`` says what can be done,
``order`` what was asked for, ``desk`` takes orders and answers how they fare, ``walking`` finds
whom they are about, ``journal`` what of them is done, ``handler`` does it.
"""
