"""Pages of background work: computed results and their progress."""
