"""What has the whole mesh agreed on, whoever said it?"""
