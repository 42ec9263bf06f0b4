"""What each part of the page says: facts in, HTML out."""
