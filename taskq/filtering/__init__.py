"""The filter language: ``status:failed type:send_* age>1h -user:42 "timed out"``.

Text becomes words, words become terms (``terms``), terms become part of a ``snapshot.Filter``
(``reading.narrowed``), which every store answers alike. ``docs/filters.md`` is the user's page.
"""
