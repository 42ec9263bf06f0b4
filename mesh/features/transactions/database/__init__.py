"""The tables of outbox and inbox in a user's database, and the drivers that reach them."""
