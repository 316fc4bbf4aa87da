"""What is durable: Postgres, the event streams, and the words and wire forms every room shares."""
