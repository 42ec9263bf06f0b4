"""What becomes of a mesh whose nodes are busy, slow, stopped or killed?"""
