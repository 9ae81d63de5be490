"""`fieldforge demo`: real terrain, read, smoothed, measured and drawn."""
