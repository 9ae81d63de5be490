"""Acts of imperative columns: fewer, in place, and together with nests."""
