"""Rules for messages between sites, which settings contain and the kernel applies."""
