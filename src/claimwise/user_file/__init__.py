"""``claimwise score``: a metric over a file of a user's own, and what to read of the result."""
