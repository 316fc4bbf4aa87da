"""What operators see of a sale: how it stands now, how it went, and one buyer's story. Decides nothing."""
