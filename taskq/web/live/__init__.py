"""The live stream: what happens, as it happens, for everybody who looks at the console.

One ``Broadcast`` for each process and console looks at the store; a ``Ring`` keeps what it found;
each client has a place in it. ``EventStream`` is the response that a client reads.
"""
