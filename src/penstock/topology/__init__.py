"""What the user builds: a graph of spouts and bolts, with streams between them. Knows nothing of the rest."""
