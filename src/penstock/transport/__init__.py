"""How tuples travel: the shared-memory ring between processes of one node."""
