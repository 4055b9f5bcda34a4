"""Pure planning: a topology's shape becomes tasks and edges, and a scheduler says which worker runs each task."""
