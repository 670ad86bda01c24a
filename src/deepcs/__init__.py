"""Deep Curiosity Search."""
