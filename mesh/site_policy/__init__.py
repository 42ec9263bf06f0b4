"""What may pass between sites: vocabulary of settings."""
