"""What does `tools/demo` show, and with which programs?"""
