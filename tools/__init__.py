"""What do developers run? Nothing of this ships."""
