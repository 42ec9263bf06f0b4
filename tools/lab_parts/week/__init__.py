"""A week in production: nodes with a past, upgraded, backed up, restored, and watched for what grows."""
