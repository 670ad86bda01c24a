"""Games on film: what a frame shows, and the MP4 file."""
