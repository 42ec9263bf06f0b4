"""Whom may this node ask, and who of several?"""
