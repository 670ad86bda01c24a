"""`python -m deepcs` is `deepcs`."""

from deepcs.cli.main import main

main()
