"""Rules for messages between sites: settings contain them, and the kernel applies them."""
