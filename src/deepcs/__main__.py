"""`python -m deepcs` is `deepcs`."""

from deepcs.cli import main

main()
