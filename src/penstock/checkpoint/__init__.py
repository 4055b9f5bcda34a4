"""Checkpoints: what they consist of, where they are kept, and whether a topology can go on from one."""
