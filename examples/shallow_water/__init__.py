"""Rotating shallow water on the icosahedral C grid by the TRiSK scheme."""
