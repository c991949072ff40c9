"""Errors that are messages for users, not defects (the command line prints them plainly), and what such messages share."""

from __future__ import annotations


class ClaimwiseError(ValueError):
    """Something that a user gave is wrong or missing; the message says what, where, and what to do."""


def shorten(value: object) -> str:
    """A value as an error shows it, in at most 60 characters.

    >>> shorten(None), shorten("x" * 99)[-5:]
    ('None', 'xx...')
    """
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
