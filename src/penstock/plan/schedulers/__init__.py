"""Schedulers, one file each: pure functions from tasks, edges and workers to an assignment."""
