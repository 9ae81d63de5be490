"""What remembers: fingerprints, stores, locks."""
