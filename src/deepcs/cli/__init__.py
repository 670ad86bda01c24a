"""The command line: `deepcs ...`, a file per group of commands."""
