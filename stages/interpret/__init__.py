"""The reference interpreter: dataflow run with NumPy, the oracle of every pass."""
