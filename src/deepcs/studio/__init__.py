"""The studio: watch, play and compare in a browser."""
