"""Codecs: files of other tools and of spanplat itself, read and written as typed records, line by line, without a database.

A reader never stops at a bad line and never drops one: it yields a :class:`~spanplat.formats.problem.Problem` in its
place.
"""
