"""The read model: what a sale has come to, counted from the outbox and the ledger. It decides nothing."""
