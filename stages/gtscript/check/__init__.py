"""Check what a stencil means: races, regions, boundaries, least levels."""
