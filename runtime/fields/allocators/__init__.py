"""Who allocates the memory of fields, and with which strides and alignment."""
