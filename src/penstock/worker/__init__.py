"""The executor's side: one duty cycle that reads the inbox, runs tasks and flushes what they emitted."""
