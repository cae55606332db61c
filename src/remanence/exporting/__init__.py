"""A learned network as one file that others can read, checked against the network it came from."""
