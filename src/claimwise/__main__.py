"""``python -m claimwise`` is the command line."""

from claimwise.cli import main

main()
