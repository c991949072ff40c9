"""The one base class of the errors that are messages for users, not defects: the command line prints them plainly."""

from __future__ import annotations


class ClaimwiseError(ValueError):
    """Something that a user gave is wrong or missing; the message says what, where, and what to do."""
