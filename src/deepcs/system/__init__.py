"""The basis of all other layers, independent of curiosity: files, processes, snapshots."""
