"""A user's own file: read, evaluated, written, and what to read of the result (``claimwise score``)."""
