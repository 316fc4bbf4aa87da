"""What chores keep: when each ran and how it went, which mails are to be sent, what was asked how often."""
