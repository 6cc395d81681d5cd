"""`python -m zitter`."""

from zitter.cli import main

main()
