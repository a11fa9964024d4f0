"""Readers and writers of files, of spanplat and of other tools, as typed records, line by line, without a database.

A reader never stops at a bad line and never drops one. It yields a :class:`~spanplat.formats.problem.Problem` instead.
"""
