"""Keys and storage of results: fingerprints, stores, locks."""
