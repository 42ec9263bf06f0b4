"""Transactions of a user's database: outbox, its senders, and inbox."""
