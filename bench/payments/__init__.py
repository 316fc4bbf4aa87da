"""What the second phase does: payments, refunds, deliveries."""
