"""What everything stands on and knows nothing of curiosity: files, processes, snapshots."""
