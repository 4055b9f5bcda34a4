"""Pure policies of flow: who may send how much, and who waits. Values in, decisions out."""
