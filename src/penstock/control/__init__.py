"""The driver side: who takes part in a run, what they are told, and how they are reached."""
