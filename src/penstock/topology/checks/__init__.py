"""What can be known to be wrong before the start: one file for each kind of mistake."""
