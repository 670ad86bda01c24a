"""Videos of games: what a frame shows, and the MP4 file."""
