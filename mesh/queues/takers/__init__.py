"""Who takes, what does he have, and what is only for him?"""
