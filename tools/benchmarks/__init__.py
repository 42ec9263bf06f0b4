"""What does `tools/bench` measure, and with which programs?"""
