"""Spouts and sinks for real systems, one file each, written against what every user builds with."""
